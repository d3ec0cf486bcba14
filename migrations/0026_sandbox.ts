// The ledger of the sandbox, the built-in payment provider. It plays another company's system, so the rest of the service reads it
// through the provider interface only, and no foreign key refers to it.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;

-- A checkout session with its payment. 'received' is the amount once it SUCCEEDED. 'due_at': when time alone changes the row
-- next (expiry, a delayed outcome, the next payout). 'token' is encrypted; lookups use its hash.
create table sandbox_payments (
  id text primary key,
  organization_id uuid not null references organizations on delete cascade,
  account_id uuid not null,
  checkout_id text not null,
  payment_id text not null,
  token_hash bytea not null constraint sandbox_token_is_unique unique,
  token text not null,
  title text not null,
  items jsonb not null,
  amount_minor bigint not null check (amount_minor > 0),
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  success_url text not null,
  cancel_url text not null,
  state text not null default 'OPEN'
    constraint sandbox_payment_state_is_known check (state in ('OPEN', 'PROCESSING', 'SUCCEEDED', 'FAILED', 'CANCELED')),
  card text,
  failure jsonb,
  provider_payment_id text constraint sandbox_charge_is_unique unique,
  payout_id text,
  expires_at timestamptz not null,
  due_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  changed_at timestamptz not null default clock_timestamp(),
  constraint one_session_per_checkout unique (organization_id, account_id, checkout_id),
  constraint money_moves_by_a_charge check (state not in ('PROCESSING', 'SUCCEEDED') or (provider_payment_id is not null and card is not null))
);
create index on sandbox_payments (organization_id, account_id, changed_at, id);
create index on sandbox_payments (payout_id) where payout_id is not null;
create index on sandbox_payments (due_at) where due_at is not null;

-- 'refund_id' is the caller's; null for refunds that the provider made itself.
create table sandbox_refunds (
  id text primary key,
  organization_id uuid not null references organizations on delete cascade,
  session_id text not null references sandbox_payments on delete cascade,
  refund_id text,
  amount_minor bigint not null check (amount_minor > 0),
  reason text,
  state text not null constraint sandbox_refund_state_is_known check (state in ('PENDING', 'SUCCEEDED', 'FAILED')),
  failure jsonb,
  payout_id text,
  due_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  constraint one_refund_per_order unique (organization_id, refund_id)
);
create index on sandbox_refunds (session_id);
create index on sandbox_refunds (payout_id) where payout_id is not null;
create index on sandbox_refunds (due_at) where due_at is not null;

create table sandbox_payouts (
  id text primary key,
  organization_id uuid not null references organizations on delete cascade,
  account_id uuid not null,
  amount_minor bigint not null check (amount_minor > 0),
  currency text not null,
  state text not null default 'PENDING' constraint sandbox_payout_state_is_known check (state in ('PENDING', 'IN_TRANSIT', 'PAID')),
  arrival_date date not null,
  due_at timestamptz,
  created_at timestamptz not null,
  changed_at timestamptz not null default clock_timestamp()
);
create index on sandbox_payouts (organization_id, account_id, changed_at, id);
create index on sandbox_payouts (due_at) where due_at is not null;

-- Webhook events and their delivery attempts. 'body' is sent byte for byte.
create table sandbox_events (
  id text primary key,
  organization_id uuid not null references organizations on delete cascade,
  account_id uuid not null,
  body text not null,
  attempts integer not null default 0,
  next_attempt_at timestamptz default clock_timestamp(),
  answer text,
  delivered_at timestamptz,
  created_at timestamptz not null default clock_timestamp()
);
create index on sandbox_events (organization_id, created_at);
create index on sandbox_events (next_attempt_at) where next_attempt_at is not null;

do $$
declare t text;
begin
  foreach t in array array['sandbox_payments', 'sandbox_refunds', 'sandbox_payouts', 'sandbox_events'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy own_organization on %I using (organization_id = (select current_organization()))', t);
    execute format('create policy owner_sees_all on %I to portal_owner using (true)', t);
    execute format('grant select, insert, update, delete on %I to portal_service', t);
  end loop;
end $$;

create function find_sandbox_payment(hash bytea) returns table (organization_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
  select p.organization_id from sandbox_payments p where p.token_hash = hash $$;

create function due_in_sandbox(at timestamptz) returns table (organization_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
  select p.organization_id from sandbox_payments p where p.due_at <= at
  union select r.organization_id from sandbox_refunds r where r.due_at <= at
  union select o.organization_id from sandbox_payouts o where o.due_at <= at $$;

create function claim_sandbox_event(lease interval) returns table (organization_id uuid, id text, attempts integer)
language sql security definer set search_path = public, pg_temp as $$
  update sandbox_events e set attempts = e.attempts + 1, next_attempt_at = clock_timestamp() + lease
  from (select due.id from sandbox_events due where due.next_attempt_at <= clock_timestamp()
        order by due.next_attempt_at, due.id limit 1 for update skip locked) as chosen
  where e.id = chosen.id
  returning e.organization_id, e.id, e.attempts $$;

do $$
declare f text;
begin
  foreach f in array array['find_sandbox_payment', 'due_in_sandbox', 'claim_sandbox_event'] loop
    execute format('revoke all on function %I from public', f);
    execute format('grant execute on function %I to portal_service', f);
  end loop;
end $$;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
