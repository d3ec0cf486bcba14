// The mail queue, and invitations. A mail's body may contain a token, so it is encrypted, and erased once the mail was sent or
// failed for good. Of an invitation's token only the SHA-256 is stored.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;

create table outgoing_mails (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  kind text not null,
  recipient text not null,
  message_id text not null constraint mail_message_id_is_unique unique,
  subject text not null,
  body text,
  status text not null default 'queued' constraint mail_status_is_known check (status in ('queued', 'sending', 'sent', 'failed', 'unknown')),
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default clock_timestamp(),
  -- Set before the first byte of the message is sent: from then on the mail may have arrived.
  data_begun_at timestamptz,
  lease_id uuid,
  lease_until timestamptz,
  last_error text,
  created_at timestamptz not null default now(),
  sent_at timestamptz,
  constraint mail_keeps_its_body_until_it_is_done check ((body is null) = (status in ('sent', 'failed', 'unknown'))),
  constraint mail_is_sent_under_a_lease check (status <> 'sending' or (lease_id is not null and lease_until is not null))
);
create index on outgoing_mails (organization_id, created_at desc, id desc);
create index on outgoing_mails (next_attempt_at, id) where status in ('queued', 'sending');
create index on outgoing_mails (created_at);

create table invitations (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  email text not null constraint invitation_email_is_lower_case check (email = lower(email)),
  role_id uuid not null,
  role_name text not null,
  token_hash bytea not null constraint invitation_token_is_unique unique,
  status text not null default 'pending' constraint invitation_status_is_known check (status in ('pending', 'accepted', 'revoked')),
  invited_by uuid not null references users,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  accepted_at timestamptz,
  accepted_by uuid references users,
  mail_id uuid references outgoing_mails on delete set null,
  -- A role that a pending invitation would grant can't be deleted; a closed invitation only keeps its name.
  open_role_id uuid generated always as (case when status = 'pending' then role_id end) stored
    constraint open_invitation_uses_role references roles,
  constraint acceptance_has_time_and_person check ((status = 'accepted') = (accepted_at is not null and accepted_by is not null))
);
create unique index one_open_invitation_per_address on invitations (organization_id, lower(email)) where status = 'pending';
create index on invitations (organization_id, created_at desc, id desc);
create index on invitations (lower(email)) where status = 'pending';
create index on invitations (invited_by);
create index on invitations (open_role_id);
create index on invitations (mail_id);

do $$
declare t text;
begin
  foreach t in array array['outgoing_mails', 'invitations'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy own_organization on %I using (organization_id = (select current_organization()))', t);
    execute format('create policy owner_sees_all on %I to portal_owner using (true)', t);
    execute format('grant select, insert, update, delete on %I to portal_service', t);
  end loop;
end $$;
-- The inviting user stays visible to the organization, also after leaving it.
create policy inviters on users for select using (exists (select from invitations i where i.invited_by = users.id));

create function claim_outgoing_mail(new_lease uuid, lease_for interval) returns table (organization_id uuid, id uuid)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
begin
  update outgoing_mails m set status = 'unknown', body = null, last_error = 'The process that sent it ended before the server answered'
  where m.id in (
    select lost.id from outgoing_mails lost
    where lost.status = 'sending' and lost.lease_until < clock_timestamp() and lost.data_begun_at is not null for update skip locked);
  return query
    update outgoing_mails m
    set status = 'sending', attempts = m.attempts + 1, lease_id = new_lease, lease_until = clock_timestamp() + lease_for
    from (
      select c.id from outgoing_mails c
      where (c.status = 'queued' and c.next_attempt_at <= clock_timestamp())
         or (c.status = 'sending' and c.lease_until < clock_timestamp() and c.data_begun_at is null)
      order by c.next_attempt_at, c.id limit 1 for update skip locked) due
    where m.id = due.id
    returning m.organization_id, m.id;
end $$;

create function prune_mails() returns void language sql security definer set search_path = public, pg_temp as $$
  delete from outgoing_mails where status in ('sent', 'failed', 'unknown') and created_at < now() - interval '90 days' $$;

create function find_invitation(hash bytea) returns table (id uuid, organization_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
  select i.id, i.organization_id from invitations i where i.token_hash = hash $$;

create function invited(wanted_email text) returns boolean
language sql stable security definer set search_path = public, pg_temp as $$
  select exists (
    select from invitations i
    where lower(i.email) = lower(wanted_email) and i.status = 'pending' and i.expires_at > clock_timestamp()) $$;

do $$
declare f text;
begin
  foreach f in array array['claim_outgoing_mail', 'prune_mails', 'find_invitation', 'invited'] loop
    execute format('revoke all on function %I from public', f);
    execute format('grant execute on function %I to portal_service', f);
  end loop;
end $$;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
