-- Organizations for which the passing of time alone changes something in the payment sandbox at the given time.
create or replace function due_in_sandbox(at timestamptz) returns table (organization_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
  select p.organization_id from sandbox_payments p where p.due_at <= at
  union select r.organization_id from sandbox_refunds r where r.due_at <= at
  union select o.organization_id from sandbox_payouts o where o.due_at <= at $$;
