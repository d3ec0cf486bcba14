// Payments: accounts at providers, checkouts, payments, refunds, payouts, the inbox of providers' events, and the queue of
// requests to make to a provider. Amounts are integers in minor units. No column can hold a card number.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;

-- The id is the end of the account's webhook address. An account remains when the configuration moves to another provider.
create table pay_accounts (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  provider text not null,
  secrets text,
  secret_hint text check (length(secret_hint) <= 4),
  -- Changes at the provider before this time have been fetched.
  looked_until timestamptz not null default clock_timestamp(),
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  constraint pay_account_of_organization unique (organization_id, id),
  constraint one_pay_account_per_provider unique (organization_id, provider)
);

-- A lock on this row serializes the checkouts of an organization.
create table pay_configs (
  organization_id uuid primary key references organizations on delete cascade,
  account_id uuid not null,
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  enabled boolean not null,
  invoices jsonb not null,
  write_back jsonb not null default 'false',
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  constraint pay_config_uses_an_account foreign key (organization_id, account_id) references pay_accounts (organization_id, id)
);

-- A decision about the money of a payment requires a lock on its row.
create table pay_payments (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  account_id uuid not null,
  status text not null default 'PENDING' constraint payment_status_is_known
    check (status in ('PENDING', 'PROCESSING', 'FAILED', 'CANCELED', 'SUCCEEDED', 'PARTIALLY_REFUNDED', 'REFUNDED')),
  customer_id text not null,
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  amount_minor bigint not null check (amount_minor > 0),
  received_minor bigint not null default 0 check (received_minor >= 0),
  refunded_minor bigint not null default 0,
  session_id text,
  provider_payment_id text,
  method_type text,
  method_last4 text check (length(method_last4) <= 4),
  failure_code text,
  failure_message text,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  succeeded_at timestamptz,
  constraint pay_payment_of_organization unique (organization_id, id),
  constraint pay_payment_at_an_account foreign key (organization_id, account_id) references pay_accounts (organization_id, id),
  constraint one_payment_per_session unique (account_id, session_id),
  constraint one_payment_per_provider_payment unique (account_id, provider_payment_id),
  constraint no_more_refunded_than_received check (refunded_minor between 0 and received_minor),
  constraint money_came_with_success
    check ((succeeded_at is not null) = (status in ('SUCCEEDED', 'PARTIALLY_REFUNDED', 'REFUNDED')) and (succeeded_at is not null) = (received_minor > 0))
);
create index on pay_payments (organization_id, created_at desc, id desc);
create index on pay_payments (organization_id, status, created_at desc, id desc);
create index on pay_payments (organization_id, customer_id, created_at desc, id desc);

-- The input of each checkout, so that its session can be requested again unchanged.
create table pay_checkouts (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  payment_id uuid not null,
  title text not null,
  success_url text not null,
  cancel_url text not null,
  url text,
  expires_at timestamptz not null,
  created_at timestamptz not null default clock_timestamp(),
  constraint one_checkout_per_payment unique (organization_id, payment_id),
  constraint checkout_of_payment foreign key (organization_id, payment_id) references pay_payments (organization_id, id) on delete cascade
);

-- 'due_minor': the amount that the ERP showed as open at the checkout, read at 'read_at' or later.
create table pay_payment_invoices (
  organization_id uuid not null references organizations on delete cascade,
  payment_id uuid not null,
  position integer not null,
  record_id text not null,
  number text not null,
  amount_minor bigint not null check (amount_minor > 0),
  due_minor bigint not null check (due_minor > 0),
  read_at timestamptz not null,
  primary key (payment_id, record_id),
  constraint invoice_of_payment foreign key (organization_id, payment_id) references pay_payments (organization_id, id) on delete cascade
);
create index on pay_payment_invoices (organization_id, record_id);

-- Includes refunds made at the provider's dashboard. 'provider_refund_id' is null until the provider has answered.
create table pay_refunds (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  payment_id uuid not null,
  status text not null default 'PENDING' constraint refund_status_is_known check (status in ('PENDING', 'SUCCEEDED', 'FAILED', 'CANCELED')),
  amount_minor bigint not null check (amount_minor > 0),
  reason text,
  provider_refund_id text,
  failure_code text,
  failure_message text,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  constraint pay_refund_of_organization unique (organization_id, id),
  constraint refund_of_payment foreign key (organization_id, payment_id) references pay_payments (organization_id, id) on delete cascade,
  constraint one_refund_per_provider_refund unique (payment_id, provider_refund_id)
);

create table pay_payouts (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  account_id uuid not null,
  provider_payout_id text not null,
  status text not null constraint payout_status_is_known check (status in ('PENDING', 'IN_TRANSIT', 'PAID', 'FAILED', 'CANCELED')),
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  amount_minor bigint not null,
  arrival_date date not null,
  failure_code text,
  failure_message text,
  created_at timestamptz not null,
  seen_at timestamptz not null default clock_timestamp(),
  constraint pay_payout_of_organization unique (organization_id, id),
  constraint pay_payout_at_an_account foreign key (organization_id, account_id) references pay_accounts (organization_id, id),
  constraint one_payout_per_provider_payout unique (account_id, provider_payout_id)
);
create index on pay_payouts (organization_id, created_at desc, id desc);
create index on pay_payouts (account_id, seen_at) where status in ('PENDING', 'IN_TRANSIT');

create table pay_payout_entries (
  organization_id uuid not null references organizations on delete cascade,
  payout_id uuid not null,
  position integer not null,
  kind text not null check (kind in ('payment', 'refund', 'fee', 'other')),
  payment_id uuid,
  provider_refund_id text,
  amount_minor bigint not null,
  primary key (payout_id, position),
  constraint entry_of_payout foreign key (organization_id, payout_id) references pay_payouts (organization_id, id) on delete cascade,
  constraint entry_for_payment foreign key (organization_id, payment_id) references pay_payments (organization_id, id)
);
create index on pay_payout_entries (organization_id, payment_id);

-- Each event of a provider once. 'outcome' is null until the object that it names was fetched.
create table pay_events (
  organization_id uuid not null references organizations on delete cascade,
  account_id uuid not null,
  event_id text not null,
  type text not null,
  subject text,
  outcome text constraint event_outcome_is_known check (outcome in ('merged', 'ignored', 'unknown')),
  received_at timestamptz not null default clock_timestamp(),
  primary key (account_id, event_id),
  constraint event_of_account foreign key (organization_id, account_id) references pay_accounts (organization_id, id) on delete cascade
);
create index on pay_events (account_id, subject) where outcome is null;
create index on pay_events (received_at);

-- Requests to make to a provider, one row per subject. 'payment': ours, by id. 'object': the provider's, as <kind>:<id>.
-- 'account': all changes since the last request. 'wakes' counts triggers, so that one that arrives meanwhile is not lost.
create table pay_tasks (
  organization_id uuid not null references organizations on delete cascade,
  account_id uuid not null,
  kind text not null check (kind in ('payment', 'object', 'account')),
  subject text not null,
  due_at timestamptz not null default clock_timestamp(),
  wakes integer not null default 0,
  attempts integer not null default 0,
  lease_id uuid,
  lease_until timestamptz,
  error text,
  primary key (account_id, kind, subject),
  constraint task_of_account foreign key (organization_id, account_id) references pay_accounts (organization_id, id) on delete cascade
);
create index pay_tasks_by_turn on pay_tasks (organization_id, due_at);
create index pay_tasks_in_hand on pay_tasks (organization_id, lease_until) where lease_id is not null;

do $$
declare t text;
begin
  foreach t in array array['pay_accounts', 'pay_configs', 'pay_payments', 'pay_checkouts', 'pay_payment_invoices', 'pay_refunds', 'pay_payouts',
                           'pay_payout_entries', 'pay_events', 'pay_tasks'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy own_organization on %I using (organization_id = (select current_organization()))', t);
    execute format('create policy owner_sees_all on %I to portal_owner using (true)', t);
    execute format('grant select, insert, update, delete on %I to portal_service', t);
  end loop;
end $$;

create function find_pay_account(endpoint uuid) returns table (organization_id uuid, provider text)
language sql stable security definer set search_path = public, pg_temp as $$
  select a.organization_id, a.provider from pay_accounts a where a.id = endpoint $$;

create function claim_pay_task(new_lease uuid, lease_for interval)
returns table (organization_id uuid, account_id uuid, kind text, subject text, wakes integer, attempts integer)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare turn uuid;
begin
  for turn in
    with recursive waiting (organization_id) as (
      (select q.organization_id from pay_tasks q order by q.organization_id limit 1)
      union all
      select (select q.organization_id from pay_tasks q where q.organization_id > w.organization_id order by q.organization_id limit 1)
      from waiting w where w.organization_id is not null)
    select w.organization_id from waiting w
    cross join lateral (
      select q.due_at as at from pay_tasks q
      where q.organization_id = w.organization_id and q.due_at <= clock_timestamp()
        and (q.lease_until is null or q.lease_until < clock_timestamp())
      order by q.due_at limit 1) first
    cross join lateral (
      select count(*) as tasks from pay_tasks l
      where l.organization_id = w.organization_id and l.lease_id is not null and l.lease_until >= clock_timestamp()) in_hand
    order by in_hand.tasks, first.at
  loop
    return query
      update pay_tasks t
      set attempts = t.attempts + 1, lease_id = new_lease, lease_until = clock_timestamp() + lease_for
      from (
        select c.account_id, c.kind, c.subject from pay_tasks c
        where c.organization_id = turn and c.due_at <= clock_timestamp() and (c.lease_until is null or c.lease_until < clock_timestamp())
        order by c.due_at limit 1 for update skip locked) due
      where t.account_id = due.account_id and t.kind = due.kind and t.subject = due.subject
      returning t.organization_id, t.account_id, t.kind, t.subject, t.wakes, t.attempts;
    if found then return; end if;
  end loop;
end $$;

create function prune_pay_events() returns integer
language sql security definer set search_path = public, pg_temp as $$
  with gone as (delete from pay_events where received_at < clock_timestamp() - interval '90 days' returning 1)
  select count(*)::integer from gone $$;

revoke all on function find_pay_account, claim_pay_task, prune_pay_events from public;
grant execute on function find_pay_account, claim_pay_task, prune_pay_events to portal_service;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
