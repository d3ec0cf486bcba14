// Agents, conversations, and the messages being answered. Spent credits stay in agent_credit_entries (0008) when an agent or a
// conversation is deleted.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;

-- 'epoch' rises with every state change: a check records its result only for the epoch that it started with.
create table agents (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  name text not null,
  description text not null default '',
  instructions text not null default '',
  model text not null,
  api_version text not null,
  status text not null default 'provisioning'
    constraint agent_status_is_known check (status in ('provisioning', 'running', 'stopped', 'restarting', 'failed')),
  status_reason text,
  epoch integer not null default 1,
  lease_until timestamptz,
  last_started_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  constraint agent_of_organization unique (organization_id, id),
  constraint agent_reads_a_version foreign key (organization_id, api_version) references api_schemas (organization_id, version),
  constraint only_failed_agents_have_a_reason check ((status = 'failed') = (status_reason is not null))
);
create unique index agent_name_is_unique on agents (organization_id, lower(name));
create index on agents (organization_id, created_at desc, id desc);
create index on agents (organization_id, api_version);
create index on agents (updated_at) where status in ('provisioning', 'restarting');

-- A conversation belongs to the member who started it and is deleted with the membership.
create table conversations (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  agent_id uuid not null,
  owner_id uuid not null,
  title text not null default '',
  created_at timestamptz not null default clock_timestamp(),
  last_message_at timestamptz,
  constraint conversation_of_organization unique (organization_id, id),
  constraint conversation_of_agent foreign key (organization_id, agent_id) references agents (organization_id, id) on delete cascade,
  constraint conversation_owner_is_a_member foreign key (organization_id, owner_id)
    references memberships (organization_id, user_id) on delete cascade
);
create index on conversations (organization_id, owner_id, created_at desc, id desc);
create index on conversations (organization_id, agent_id);

create table conversation_messages (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  conversation_id uuid not null,
  role text not null check (role in ('user', 'assistant')),
  content text not null,
  tool_calls jsonb not null default '[]',
  status text not null constraint message_status_is_known check (status in ('running', 'complete', 'failed', 'canceled')),
  error jsonb,
  input_tokens integer not null default 0,
  output_tokens integer not null default 0,
  credits integer not null default 0,
  created_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  constraint message_of_conversation foreign key (organization_id, conversation_id)
    references conversations (organization_id, id) on delete cascade
);
create index on conversation_messages (organization_id, conversation_id, created_at, id);

-- One row while a message is being answered: the lease of the process and the credits held. It refers to no conversation, so that
-- deleting one releases no credits that are still being spent.
create table running_answers (
  message_id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  conversation_id uuid not null constraint one_answer_at_a_time unique,
  agent_id uuid not null,
  month date not null,
  credits integer not null check (credits > 0),
  lease_until timestamptz not null
);
create index on running_answers (organization_id, month);
create index on running_answers (lease_until);

alter table agent_credit_entries add column agent_id uuid, add column input_tokens integer not null default 0,
  add column output_tokens integer not null default 0;
create unique index credits_of_message on agent_credit_entries (message_id);
create index on agent_credit_entries (organization_id, agent_id, month);

do $$
declare t text;
begin
  foreach t in array array['agents', 'conversations', 'conversation_messages', 'running_answers'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy own_organization on %I using (organization_id = (select current_organization()))', t);
    execute format('create policy owner_sees_all on %I to portal_owner using (true)', t);
    execute format('grant select, insert, update, delete on %I to portal_service', t);
  end loop;
end $$;

create function claim_agent_checks(most integer, lease interval) returns table (organization_id uuid, id uuid, epoch integer)
language sql security definer set search_path = public, pg_temp as $$
  update agents a set lease_until = clock_timestamp() + lease
  from (select due.id from agents due
        where due.status in ('provisioning', 'restarting') and (due.lease_until is null or due.lease_until < clock_timestamp())
        order by due.updated_at, due.id limit most for update skip locked) as chosen
  where a.id = chosen.id
  returning a.organization_id, a.id, a.epoch $$;

create function end_lost_answers() returns integer
language sql security definer set search_path = public, pg_temp as $$
  with lost as (
    delete from running_answers r where r.lease_until < clock_timestamp() returning r.*
  ), told as (
    update conversation_messages m set status = 'failed', finished_at = clock_timestamp(),
      error = '{"code": "interrupted", "message": "The service was interrupted while it answered; ask again"}'
    from lost where m.id = lost.message_id
  ), entered as (
    insert into agent_credit_entries (id, organization_id, month, credits, kind, message_id, agent_id)
    select gen_random_uuid(), lost.organization_id, lost.month, 0, 'message', lost.message_id, lost.agent_id from lost
    on conflict (message_id) do nothing
  )
  select count(*)::integer from lost $$;

revoke all on function claim_agent_checks, end_lost_answers from public;
grant execute on function claim_agent_checks, end_lost_answers to portal_service;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
