// Domains. Several organizations may add a hostname; only proof of control of its DNS assigns it, to one of them.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;

create table domains (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  hostname text not null,
  status text not null default 'pending',
  verification_value text not null,
  is_primary boolean not null default false,
  verified_at timestamptz,
  last_checked_at timestamptz,
  last_error text,
  next_check_at timestamptz,
  created_at timestamptz not null default now(),
  constraint hostname_is_unique_in_organization unique (organization_id, hostname),
  constraint hostname_is_legal check (hostname ~ '^[a-z0-9.-]{3,235}$'),
  constraint domain_status_is_known check (status in ('pending', 'verified', 'failed')),
  constraint verified_domain_says_since_when check ((status = 'verified') = (verified_at is not null)),
  constraint pending_domain_is_checked_again check ((status = 'pending') = (next_check_at is not null)),
  constraint primary_domain_is_verified check (status = 'verified' or not is_primary)
);
create unique index verified_hostname_has_one_organization on domains (hostname) where status = 'verified';
create unique index organization_has_one_primary_domain on domains (organization_id) where is_primary;
create index on domains (organization_id, created_at desc, id desc);
create index on domains (next_check_at) where status = 'pending';

alter table domains enable row level security;
alter table domains force row level security;
create policy own_organization on domains using (organization_id = (select current_organization()));
create policy owner_sees_all on domains to portal_owner using (true);
grant select, insert, update, delete on domains to portal_service;

create function claim_due_domains(most integer, lease interval) returns table (organization_id uuid, id uuid)
language sql security definer set search_path = public, pg_temp as $$
  with due as (
    select d.id from domains d where d.status = 'pending' and d.next_check_at <= clock_timestamp()
    order by d.next_check_at limit most for update skip locked
  )
  update domains d set next_check_at = clock_timestamp() + lease from due where d.id = due.id
  returning d.organization_id, d.id $$;
revoke all on function claim_due_domains from public;
grant execute on function claim_due_domains to portal_service;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
