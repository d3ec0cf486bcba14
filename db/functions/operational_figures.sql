-- Values of the metrics that come from the database, each with its label. Every process calls this every few seconds: each part reads
-- a small index.
create or replace function operational_figures() returns table (figure text, label text, value double precision)
language sql stable security definer set search_path = public, pg_temp as $$
  select 'sync_runs', r.status, count(*)::float8 from sync_runs r
  where r.status in ('queued', 'running', 'waiting', 'publishing') group by r.status
  union all
  select 'sync_runs_ended', r.status, count(*)::float8 from sync_runs r
  where r.finished_at > clock_timestamp() - interval '1 hour' group by r.status
  union all
  select 'sync_runs_left', '', count(*)::float8 from sync_runs r
  join jobs j on j.kind = 'sync_runs' and j.organization_id = r.organization_id and j.key = r.sync_config_id::text
  where r.status in ('running', 'publishing') and j.due_at < clock_timestamp()
  union all
  select q.figure, q.label, q.value from (
    select 'sync_runs' as queue, count(*) as waiting, min(r.queued_at) as since from sync_runs r where r.status = 'queued'
    union all
    select k.kind, count(j.due_at), min(j.due_at)
    from unnest(array['mails', 'subscription_slots', 'agent_checks', 'pay_tasks', 'pay_erp_documents']) k (kind)
    left join jobs j on j.kind = k.kind and j.due_at <= clock_timestamp() group by k.kind
    union all
    select 'pay_events', count(*), min(e.received_at) from pay_events e where e.outcome is null
    union all
    select 'retried_mails', count(*), null from jobs j where j.kind = 'mails' and j.lease_id is null and j.due_at > clock_timestamp()
  ) waits
  cross join lateral (values
    ('queue_waiting', waits.queue, waits.waiting::float8),
    ('queue_oldest_seconds', waits.queue, coalesce(extract(epoch from clock_timestamp() - waits.since), 0)::float8)
  ) q (figure, label, value)
  union all
  select 'tables_pending', p.kind, p.waiting::float8 from tables_pending() p
  union all
  select 'syncs_stale', '', count(*)::float8 from sync_alerts a where a.stale_since is not null
  union all
  select 'agent_answers', '', count(*)::float8 from running_answers
  union all
  select 'visitors', '', count(distinct (s.organization_id, s.email))::float8 from portal_sessions s
  where s.last_seen_at > clock_timestamp() - interval '1 hour' and s.viewer_id is null
  union all
  select 'unknown_mails', '', count(*)::float8 from outgoing_mails m where m.status = 'unknown' and m.body is not null
  union all
  select w.figure, w.label, w.value from (
    select case d.status when 'FAILED' then 'failed' when 'PARTLY_APPLIED' then 'unapplied' else
        case when c.write_back <> 'false' then 'waiting' else 'off' end end as state,
      count(*)::float8 as documents, extract(epoch from clock_timestamp() - min(d.created_at))::float8 as seconds
    from pay_erp_documents d join pay_configs c on c.organization_id = d.organization_id
    where d.status <> 'LANDED' group by 1
  ) unsettled
  cross join lateral (values
    ('pay_write_backs', unsettled.state, unsettled.documents), ('pay_write_back_oldest_seconds', unsettled.state, unsettled.seconds)
  ) w (figure, label, value)
  union all
  select l.figure, l.label, l.value from (
    -- A slot is served when a run that started after it succeeded. The oldest slot not served tells how far behind a sync is.
    with behind as materialized (
      select c.id, extract(epoch from clock_timestamp() - slot.at)::float8 as seconds
      from sync_configs c
      left join lateral (
        select s.started_at from sync_runs s where s.sync_config_id = c.id and s.status in ('succeeded', 'partial') and s.mode <> 'reread'
        order by s.queued_at desc, s.id desc limit 1) kept on true
      cross join lateral (
        select r.scheduled_for as at from sync_runs r
        where r.sync_config_id = c.id and r.trigger = 'schedule' and r.scheduled_for > coalesce(kept.started_at, '-infinity')
        order by r.scheduled_for limit 1) slot
      where c.enabled and c.schedule is not null
    )
    select 'syncs_behind' as figure, over.seconds::text as label, (select count(*) from behind b where b.seconds > over.seconds)::float8 as value
    from (values (60), (900), (3600), (86400)) as over (seconds)
    union all
    (select 'sync_lag_seconds', b.id::text, b.seconds from behind b where b.seconds > 60 order by b.seconds desc, b.id limit 20)
  ) l $$;
