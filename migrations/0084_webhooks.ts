// Webhooks: endpoints of other systems, the messages for them, and the log of what was sent.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
create table webhook_endpoints (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  url text not null,
  description text not null,
  events text[] not null,
  version text,
  resources text[] not null,
  api_key_id uuid not null references api_keys on delete cascade,
  include text not null constraint known_include check (include in ('none', 'records')),
  signature text not null constraint known_signature check (signature in ('v1', 'v1a')),
  secret text not null,
  previous_secret text,
  previous_secret_ends_at timestamptz,
  enabled boolean not null,
  disabled_reason text constraint known_reason check (disabled_reason in ('failing', 'gone', 'key_ended')),
  failures integer not null default 0,
  failing_since timestamptz,
  waits_until timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique (organization_id, id)
);
comment on table webhook_endpoints is 'Where events are sent. An enabled one has a job of the kind webhooks while there is something to send, or always when it follows records. failures: attempts in a row that failed; until waits_until nothing is sent. secret: encrypted, a symmetric secret or a private key.';
create index on webhook_endpoints (api_key_id);
create table webhook_positions (
  organization_id uuid not null,
  endpoint_id uuid not null,
  resource text not null,
  since text,
  primary key (endpoint_id, resource),
  foreign key (organization_id, endpoint_id) references webhook_endpoints (organization_id, id) on delete cascade
);
comment on table webhook_positions is 'What an endpoint knows of a resource: since is the token of the change feed after which nothing was delivered. Null: nothing was.';
create table webhook_messages (
  id uuid primary key,
  organization_id uuid not null,
  endpoint_id uuid not null,
  type text not null,
  data jsonb not null,
  resource text,
  since text,
  next_since text,
  status text not null constraint known_status check (status in ('waiting', 'delivered', 'failed', 'superseded')),
  attempts integer not null default 0,
  due_at timestamptz not null,
  created_at timestamptz not null,
  ended_at timestamptz,
  foreign key (organization_id, endpoint_id) references webhook_endpoints (organization_id, id) on delete cascade,
  unique (organization_id, id)
);
comment on table webhook_messages is 'Events for one endpoint; the id is what receivers know a message by. Of changed records, resource is set, since is where the message begins, and next_since what the endpoint knows once it is delivered.';
create unique index one_waiting_per_resource on webhook_messages (endpoint_id, resource) where status = 'waiting' and resource is not null;
create index on webhook_messages (endpoint_id, due_at) where status = 'waiting';
create index on webhook_messages (organization_id, endpoint_id, created_at, id);
create index on webhook_messages (created_at);
create table webhook_attempts (
  id uuid primary key,
  organization_id uuid not null,
  message_id uuid not null,
  number integer not null,
  reason text not null constraint known_reason check (reason in ('event', 'retry', 'replay', 'test')),
  started_at timestamptz not null,
  duration_ms integer not null,
  status smallint,
  error text,
  response text,
  foreign key (organization_id, message_id) references webhook_messages (organization_id, id) on delete cascade
);
comment on table webhook_attempts is 'Each attempt to send a message: the status and the beginning of the answer, or why there was none.';
create index on webhook_attempts (message_id, number);
${['webhook_endpoints', 'webhook_positions', 'webhook_messages', 'webhook_attempts']
  .map(
    (table) => `
alter table ${table} enable row level security;
alter table ${table} force row level security;
create policy own_organization on ${table} using (organization_id = (select current_organization()));
create policy owner_sees_all on ${table} to portal_owner using (true);
grant select, insert, update, delete on ${table} to portal_service;`,
  )
  .join('')}
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
