-- For processes of the version before: see adopt_older_work.
create or replace function claim_pay_erp_payment(new_lease uuid, lease_for interval) returns table (organization_id uuid, payment_id uuid)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare job record;
begin
  select * into job from take_older_job('pay_erp_documents');
  return query update pay_erp_documents p set lease_id = new_lease, lease_until = clock_timestamp() + lease_for
    where p.payment_id = job.key::uuid and p.kind = 'payment'
      and exists (select from pay_configs c where c.organization_id = p.organization_id and c.write_back <> 'false')
      and not exists (
        select from pay_erp_documents h where h.organization_id = p.organization_id and h.holds_account_until > clock_timestamp())
    returning p.organization_id, p.payment_id;
end $$;
