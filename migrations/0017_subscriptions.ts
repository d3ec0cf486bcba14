// Subscriptions to views: recipients and schedule, due slots, one delivery per recipient and slot, and unsubscribe links.
// A large attachment is stored once for all mails of a slot.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;

create table mail_attachments (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  filename text not null,
  content_type text not null,
  -- Compressed and encrypted, like a mail's body.
  content text not null,
  created_at timestamptz not null default now()
);
create index on mail_attachments (organization_id);
alter table outgoing_mails add column attachment_id uuid references mail_attachments on delete set null;
create index on outgoing_mails (attachment_id) where attachment_id is not null;

create table subscriptions (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  -- Null once the view was deleted, or once its owner left.
  view_id uuid,
  owner_id uuid,
  schedule text not null,
  timezone text not null,
  format text not null constraint subscription_format_is_known check (format in ('html', 'csv')),
  -- A template of the organization; 0020 adds the foreign key.
  template_id uuid constraint template_is_for_html check (template_id is null or format = 'html'),
  enabled boolean not null default true,
  disabled_reason text constraint disabled_reason_is_known check (disabled_reason in ('view_deleted', 'view_hidden', 'owner_left')),
  scheduled_since timestamptz not null default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint subscription_of_organization unique (organization_id, id),
  constraint subscription_of_view foreign key (organization_id, view_id) references views (organization_id, id) on delete set null (view_id),
  constraint subscription_owner_is_a_member foreign key (organization_id, owner_id) references memberships (organization_id, user_id)
    on delete set null (owner_id),
  constraint only_a_disabled_subscription_has_a_reason check (disabled_reason is null or not enabled),
  constraint enabled_subscription_has_view_and_owner check (not enabled or (view_id is not null and owner_id is not null))
);
create index on subscriptions (organization_id, created_at desc, id desc);
create index on subscriptions (organization_id, view_id);
create index on subscriptions (organization_id, owner_id);
create trigger schedule_changes before update on subscriptions for each row execute function note_schedule_change();

create function disable_without_view_or_owner() returns trigger language plpgsql as $$
begin
  if new.enabled and (new.view_id is null or new.owner_id is null) then
    new.enabled := false;
    new.disabled_reason := case when new.view_id is null then 'view_deleted' else 'owner_left' end;
  end if;
  return new;
end $$;
-- Its name makes this trigger run first, so that the other one sees the change.
create trigger disable_without_view_or_owner before update on subscriptions for each row execute function disable_without_view_or_owner();

-- A removed address stays, so that adding it again does not undo its unsubscription.
create table subscription_recipients (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  subscription_id uuid not null,
  email text not null constraint recipient_email_is_lower_case check (email = lower(email)),
  added_at timestamptz not null default clock_timestamp(),
  removed_at timestamptz,
  unsubscribed_at timestamptz,
  constraint recipient_of_subscription foreign key (organization_id, subscription_id) references subscriptions (organization_id, id) on delete cascade,
  constraint one_recipient_per_address unique (subscription_id, email)
);
create index on subscription_recipients (organization_id, subscription_id);

-- Due times, processed under a lease and completed in one transaction with their mails.
create table subscription_slots (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  subscription_id uuid not null,
  trigger text not null constraint slot_trigger_is_known check (trigger in ('schedule', 'manual')),
  slot timestamptz not null,
  status text not null default 'waiting' constraint slot_status_is_known check (status in ('waiting', 'done', 'failed')),
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default clock_timestamp(),
  lease_id uuid,
  lease_until timestamptz,
  error text,
  created_at timestamptz not null default clock_timestamp(),
  constraint slot_of_subscription foreign key (organization_id, subscription_id) references subscriptions (organization_id, id) on delete cascade
);
create unique index one_subscription_slot_per_time on subscription_slots (subscription_id, slot) where trigger = 'schedule';
create index on subscription_slots (organization_id, subscription_id, created_at desc);
create index on subscription_slots (next_attempt_at, id) where status = 'waiting';
create index on subscription_slots (created_at);

create table subscription_deliveries (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  subscription_id uuid not null,
  slot_id uuid not null references subscription_slots on delete cascade,
  recipient_id uuid not null references subscription_recipients on delete cascade,
  message_id text not null constraint delivery_message_id_is_unique unique,
  -- Once a mail is queued, the mail's own row has the outcome.
  status text not null constraint delivery_status_is_known check (status in ('queued', 'failed', 'skipped')),
  mail_id uuid references outgoing_mails on delete set null,
  records bigint,
  error text,
  created_at timestamptz not null default clock_timestamp(),
  constraint delivery_of_subscription foreign key (organization_id, subscription_id) references subscriptions (organization_id, id) on delete cascade,
  constraint one_delivery_per_slot_and_recipient unique (slot_id, recipient_id)
);
create index on subscription_deliveries (organization_id, subscription_id, created_at desc, id desc);
create index on subscription_deliveries (created_at);
create index on subscription_deliveries (recipient_id);
create index on subscription_deliveries (mail_id) where mail_id is not null;

-- The token of an unsubscribe link is in one mail; stored are its hash and the title of the mail.
create table subscription_links (
  token_hash bytea primary key,
  organization_id uuid not null references organizations on delete cascade,
  recipient_id uuid not null references subscription_recipients on delete cascade,
  title text not null,
  created_at timestamptz not null default clock_timestamp()
);
create index on subscription_links (organization_id, recipient_id);
create index on subscription_links (recipient_id);
create index on subscription_links (created_at);

do $$
declare t text;
begin
  foreach t in array array['mail_attachments', 'subscriptions', 'subscription_recipients', 'subscription_slots', 'subscription_deliveries',
      'subscription_links'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy own_organization on %I using (organization_id = (select current_organization()))', t);
    execute format('create policy owner_sees_all on %I to portal_owner using (true)', t);
    execute format('grant select, insert, update, delete on %I to portal_service', t);
  end loop;
end $$;

create function scheduled_subscriptions() returns table (organization_id uuid, id uuid, schedule text, timezone text, last_slot timestamptz, since timestamptz)
language sql stable security definer set search_path = public, pg_temp as $$
  select s.organization_id, s.id, s.schedule, s.timezone,
         (select max(l.slot) from subscription_slots l where l.subscription_id = s.id and l.trigger = 'schedule'), s.scheduled_since
  from subscriptions s where s.enabled $$;

create function claim_subscription_slot(new_lease uuid, lease_for interval) returns table (organization_id uuid, id uuid)
language sql security definer set search_path = public, pg_temp as $$
  update subscription_slots s
  set attempts = s.attempts + 1, lease_id = new_lease, lease_until = clock_timestamp() + lease_for
  from (
    select c.id from subscription_slots c
    where c.status = 'waiting' and c.next_attempt_at <= clock_timestamp() and (c.lease_until is null or c.lease_until < clock_timestamp())
    order by c.next_attempt_at, c.id limit 1 for update skip locked) due
  where s.id = due.id
  returning s.organization_id, s.id $$;

create function find_subscription_link(hash bytea) returns table (organization_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
  select l.organization_id from subscription_links l where l.token_hash = hash $$;

create function prune_subscriptions() returns void language sql security definer set search_path = public, pg_temp as $$
  delete from subscription_deliveries where created_at < now() - interval '90 days';
  delete from subscription_slots s where s.created_at < now() - interval '90 days'
    and (s.trigger = 'manual' or exists (
      select from subscription_slots newer where newer.subscription_id = s.subscription_id and newer.trigger = 'schedule' and newer.slot > s.slot));
  delete from subscription_links where created_at < now() - interval '2 years';
  delete from subscription_recipients where removed_at < now() - interval '2 years' and unsubscribed_at is null $$;

create or replace function prune_mails() returns void language sql security definer set search_path = public, pg_temp as $$
  delete from outgoing_mails where status in ('sent', 'failed', 'unknown') and created_at < now() - interval '90 days';
  delete from mail_attachments a where not exists (select from outgoing_mails m where m.attachment_id = a.id and m.body is not null) $$;

do $$
declare f text;
begin
  foreach f in array array['scheduled_subscriptions', 'claim_subscription_slot', 'find_subscription_link', 'prune_subscriptions'] loop
    execute format('revoke all on function %I from public', f);
    execute format('grant execute on function %I to portal_service', f);
  end loop;
end $$;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
