-- Deletes expired rows: rate-limit windows, stored responses after 24 hours, finished sign-ins after one hour, sessions after 12 idle
-- hours or 7 days, those of visitors at their end or after 7 idle days, run events and conversations of visitors after 30 days, and runs after one year except the last one of each configuration. What concerns tokens, which
-- live for one hour: revocations after two hours, replaced signing keys after one day. Messages to webhooks and their attempts after 90 days. Links to views 30 days after
-- their end, and those of keys that were revoked or got other secrets.
create or replace function prune_expired() returns void language sql security definer set search_path = public, pg_temp as $$
  delete from rate_limits where resets_at < clock_timestamp() - interval '1 minute';
  delete from idempotency_keys where created_at < now() - interval '24 hours';
  delete from used_sign_ins where used_at < now() - interval '1 hour';
  delete from sessions where last_seen_at < now() - interval '12 hours' or created_at < now() - interval '7 days';
  delete from portal_sessions where ends_at < now() or last_seen_at < now() - interval '7 days';
  delete from token_revocations where revoked_at < now() - interval '2 hours';
  delete from token_signing_keys where replaced_at < now() - interval '1 day';
  delete from conversation_messages m using conversations c
  where c.visitor is not null and c.organization_id = m.organization_id and c.id = m.conversation_id and m.created_at < now() - interval '30 days';
  delete from conversations where visitor is not null and last_message_at < now() - interval '30 days';
  delete from webhook_messages where created_at < now() - interval '90 days' and status <> 'waiting';
  delete from view_links where expires_at < now() - interval '30 days';
  delete from view_links l using api_keys k
  where k.id = l.api_key_id and (k.revoked_at is not null or l.secret_mark not in (sha256(k.secret_hash), coalesce(sha256(k.previous_secret_hash), '')));
  delete from sync_run_events where at < now() - interval '30 days';
  delete from sync_runs r where r.finished_at < now() - interval '1 year'
    and exists (select from sync_runs newer where newer.sync_config_id = r.sync_config_id and newer.queued_at > r.queued_at);
$$;
