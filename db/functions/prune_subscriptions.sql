-- Deletes deliveries and their slots after 90 days, keeping each subscription's last scheduled slot, which records how far it was
-- served. Links work for two years; a removed recipient is remembered as long, an unsubscribed one for good.
create or replace function prune_subscriptions() returns void language sql security definer set search_path = public, pg_temp as $$
  delete from subscription_deliveries where created_at < now() - interval '90 days';
  delete from subscription_slots s where s.created_at < now() - interval '90 days'
    and (s.trigger = 'manual' or exists (
      select from subscription_slots newer where newer.subscription_id = s.subscription_id and newer.trigger = 'schedule' and newer.slot > s.slot));
  delete from subscription_links where created_at < now() - interval '2 years';
  delete from subscription_recipients where removed_at < now() - interval '2 years' and unsubscribed_at is null $$;
