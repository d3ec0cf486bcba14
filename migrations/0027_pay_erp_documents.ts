// The documents that succeeded payments and refunds need in the ERP, one each, and what became of them there.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;

-- Amounts are on the payment's own document: what is applied to invoices now, and what is neither applied nor refunded. The lease
-- is there too, for all documents of the payment. 'attempts' rises before anything is sent, so that a first attempt is known to be
-- the first; 'failures' counts consecutive ones and sets the wait.
create table pay_erp_documents (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  payment_id uuid not null,
  kind text not null constraint erp_document_kind_is_known check (kind in ('payment', 'refund')),
  refund_id uuid,
  external_id text not null,
  status text not null default 'PENDING' constraint erp_document_status_is_known check (status in ('PENDING', 'LANDED', 'PARTLY_APPLIED', 'FAILED')),
  record_id text,
  applied_minor bigint check (applied_minor >= 0),
  unapplied_minor bigint check (unapplied_minor >= 0),
  landed_at timestamptz,
  attempts integer not null default 0,
  failures integer not null default 0,
  next_attempt_at timestamptz not null default clock_timestamp(),
  holds_account_until timestamptz,
  lease_id uuid,
  lease_until timestamptz,
  problem jsonb,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  constraint erp_external_id_is_unique unique (organization_id, external_id),
  constraint refund_documents_name_a_refund check ((kind = 'refund') = (refund_id is not null)),
  constraint amounts_stand_with_the_payment check (kind = 'payment' or num_nonnulls(applied_minor, unapplied_minor) = 0),
  constraint landed_documents_are_known check (status not in ('LANDED', 'PARTLY_APPLIED') or num_nulls(record_id, landed_at) = 0),
  constraint erp_document_of_payment foreign key (organization_id, payment_id) references pay_payments (organization_id, id) on delete cascade,
  constraint erp_document_of_refund foreign key (organization_id, refund_id) references pay_refunds (organization_id, id) on delete cascade
);
create unique index one_erp_document_per_payment on pay_erp_documents (payment_id) where kind = 'payment';
create unique index one_erp_document_per_refund on pay_erp_documents (refund_id) where kind = 'refund';
create index on pay_erp_documents (organization_id, payment_id);
create index pay_erp_documents_by_turn on pay_erp_documents (organization_id, next_attempt_at) where status = 'PENDING';
create index on pay_erp_documents (organization_id) where holds_account_until is not null;
create index pay_erp_documents_in_hand on pay_erp_documents (organization_id, lease_until) where lease_id is not null;

alter table pay_erp_documents enable row level security;
alter table pay_erp_documents force row level security;
create policy own_organization on pay_erp_documents using (organization_id = (select current_organization()));
create policy owner_sees_all on pay_erp_documents to portal_owner using (true);
grant select, insert, update, delete on pay_erp_documents to portal_service;

create function claim_pay_erp_payment(new_lease uuid, lease_for interval) returns table (organization_id uuid, payment_id uuid)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare turn uuid;
begin
  for turn in
    with recursive waiting (organization_id) as (
      (select q.organization_id from pay_erp_documents q where q.status = 'PENDING' order by q.organization_id limit 1)
      union all
      select (select q.organization_id from pay_erp_documents q where q.status = 'PENDING' and q.organization_id > w.organization_id
              order by q.organization_id limit 1)
      from waiting w where w.organization_id is not null)
    select w.organization_id from waiting w
    join pay_configs c on c.organization_id = w.organization_id and c.write_back <> 'false'
    cross join lateral (
      select min(q.next_attempt_at) as at from pay_erp_documents q where q.status = 'PENDING' and q.organization_id = w.organization_id) first
    cross join lateral (
      select count(*) as payments from pay_erp_documents l
      where l.lease_id is not null and l.organization_id = w.organization_id and l.lease_until >= clock_timestamp()) in_hand
    where first.at <= clock_timestamp()
      and not exists (
        select from pay_erp_documents h where h.organization_id = w.organization_id and h.holds_account_until > clock_timestamp())
    order by in_hand.payments, first.at
  loop
    return query
      update pay_erp_documents p set lease_id = new_lease, lease_until = clock_timestamp() + lease_for
      from (
        select own.id from pay_erp_documents due
        join pay_erp_documents own on own.payment_id = due.payment_id and own.kind = 'payment'
        where due.organization_id = turn and due.status = 'PENDING' and due.next_attempt_at <= clock_timestamp()
          and (due.id = own.id or own.status in ('LANDED', 'PARTLY_APPLIED'))
          and (own.lease_until is null or own.lease_until < clock_timestamp())
        order by due.next_attempt_at, due.id limit 1 for update of own skip locked) free
      where p.id = free.id
      returning p.organization_id, p.payment_id;
    if found then return; end if;
  end loop;
end $$;
revoke all on function claim_pay_erp_payment from public;
grant execute on function claim_pay_erp_payment to portal_service;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
