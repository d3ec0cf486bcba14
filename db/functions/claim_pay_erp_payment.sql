-- Claims a payment for which a document must be written to the ERP: the payment's own document first, then those of its refunds.
-- Skips organizations whose write-back is off or whose ERP account is backing off. Fair between organizations, as in
-- claim_outgoing_mail.
create or replace function claim_pay_erp_payment(new_lease uuid, lease_for interval) returns table (organization_id uuid, payment_id uuid)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare turn uuid;
begin
  perform note_server_timeline();
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
      with free as materialized (
        select own.id from pay_erp_documents due
        join pay_erp_documents own on own.payment_id = due.payment_id and own.kind = 'payment'
        where due.organization_id = turn and due.status = 'PENDING' and due.next_attempt_at <= clock_timestamp()
        and (due.id = own.id or own.status in ('LANDED', 'PARTLY_APPLIED'))
        and (own.lease_until is null or own.lease_until < clock_timestamp())
        order by due.next_attempt_at, due.id limit 1 for update of own skip locked)
      update pay_erp_documents p
      set lease_id = new_lease, lease_until = clock_timestamp() + lease_for
      from free
      where p.id = free.id
      returning p.organization_id, p.payment_id;
    if found then return; end if;
  end loop;
end $$;
