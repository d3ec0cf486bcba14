// What the overview reads of schema public: one statement per part, with the organization in every condition.
import type { Tx } from '../../db/transaction.ts';
import type { RunRow, SyncConfigRow } from '../../sync/index.ts';
import { keyStatus } from '../api-keys/api-keys.store.ts';

type Rows<Row> = { rows: Row[] };
const open = "('queued', 'running', 'waiting', 'publishing')";
const published = "('succeeded', 'partial')";

export type SyncRow = Pick<
  SyncConfigRow,
  'id' | 'name' | 'record_type' | 'enabled' | 'schedule' | 'timezone' | 'paused_reason' | 'freshness_target'
> & {
  run_id: string | null;
  run_status: RunRow['status'] | null;
  run_mode: RunRow['mode'];
  run_started_at: Date | null;
  run_finished_at: Date | null;
  run_percent: number | null;
  is_open: boolean;
  /** Of the newest run that ended without being cancelled, or with no more than requested records read. */
  ended_id: string | null;
  ended_status: 'succeeded' | 'partial' | 'failed' | null;
  ended_error: RunRow['error'];
  published_at: Date | null;
  behind_seconds: number | null;
  /** When the data were found to be older than the freshness target. */
  stale_since: Date | null;
};

/** `behind_seconds` is the lag that the metrics report: see operational_figures. */
export async function listSyncs(tx: Tx, organizationId: string): Promise<SyncRow[]> {
  const runs = 'from sync_runs r where r.organization_id = c.organization_id and r.sync_config_id = c.id';
  const newest = 'order by r.queued_at desc, r.id desc limit 1';
  const { rows } = await tx.raw<Rows<SyncRow>>(
    `select c.id, c.name, c.record_type, c.enabled, c.schedule, c.timezone, c.paused_reason, c.freshness_target, alert.stale_since,
       run.id as run_id, run.status as run_status, run.mode as run_mode, run.started_at as run_started_at, run.finished_at as run_finished_at,
       run.percent as run_percent, coalesce(run.status in ${open}, false) as is_open,
       ended.id as ended_id, ended.status as ended_status, ended.error as ended_error, kept.finished_at as published_at,
       extract(epoch from clock_timestamp() - slot.at)::float8 as behind_seconds
     from sync_configs c
     left join sync_alerts alert on alert.organization_id = c.organization_id and alert.sync_config_id = c.id
     left join lateral (
       select r.id, r.status, r.mode, r.started_at, r.finished_at, (r.progress ->> 'percent')::int as percent ${runs} ${newest}) run on true
     left join lateral (select r.id, r.status, r.error ${runs} and r.status in ('succeeded', 'partial', 'failed')
       and not (r.mode = 'reread' and r.status = 'succeeded') ${newest}) ended on true
     left join lateral (select r.started_at, r.finished_at ${runs} and r.status in ${published} and r.mode <> 'reread' ${newest}) kept on true
     left join lateral (
       select r.scheduled_for as at ${runs} and r.trigger = 'schedule' and r.scheduled_for > coalesce(kept.started_at, '-infinity')
         and c.enabled and c.schedule is not null and c.paused_reason is null
       order by r.scheduled_for limit 1) slot on true
     where c.organization_id = ? order by lower(c.name), c.id`,
    [organizationId],
  );
  return rows;
}

export type VersionRow = {
  id: string;
  version: string;
  name: string;
  status: 'draft' | 'published' | 'deprecated';
  publication: 'running' | 'succeeded' | 'failed' | 'cancelled' | null;
  published_at: Date | null;
  sunset_at: Date | null;
  is_past_sunset: boolean;
  callers: number;
  requests: string;
};
const lastWeek = "day > (now() at time zone 'UTC')::date - 7";

/** All but retired ones, newest first; the quota of versions bounds them. */
export async function listVersions(tx: Tx, organizationId: string): Promise<VersionRow[]> {
  const { rows } = await tx.raw<Rows<VersionRow>>(
    `select s.id, s.version, s.name, s.status, s.publication ->> 'status' as publication, s.published_at, s.sunset_at,
       coalesce(s.sunset_at < now(), false) as is_past_sunset, u.callers, u.requests
     from api_schemas s cross join lateral (
       select count(distinct api_key_id)::int as callers, coalesce(sum(succeeded + not_modified), 0)::text as requests from api_key_usage
       where organization_id = s.organization_id and version = s.version and ${lastWeek} and succeeded + not_modified > 0) u
     where s.organization_id = ? and s.version like 'v%' and s.status <> 'retired' order by substr(s.version, 2)::int desc`,
    [organizationId],
  );
  return rows;
}

export type ExpiringKeyRow = { id: string; name: string; days_left: number };
export type KeysRow = { active: number; expiring: ExpiringKeyRow[]; expiring_total: number; unused: number };

/** `expiring` has the first twenty. */
export async function readKeys(tx: Tx, organizationId: string): Promise<KeysRow | undefined> {
  const { rows } = await tx.raw<Rows<KeysRow>>(
    `with active as (
       select k.id, k.name, least(k.expires_at, k.secret_ends_at) as ends_at,
         k.created_at < now() - interval '30 days' and coalesce(k.last_used_at < now() - interval '30 days', true) as is_unused
       from api_keys k where k.organization_id = ? and ${keyStatus} = 'active'),
     expiring as (
       select id, name, floor(extract(epoch from ends_at - now()) / 86400)::int as days_left, ends_at from active
       where ends_at < now() + interval '14 days')
     select (select count(*) from active)::int as active, (select count(*) from expiring)::int as expiring_total,
       (select count(*) from active where is_unused)::int as unused,
       (select coalesce(jsonb_agg(jsonb_build_object('id', e.id, 'name', e.name, 'days_left', e.days_left) order by e.ends_at), '[]')
        from (select * from expiring order by ends_at limit 20) e) as expiring`,
    [organizationId],
  );
  return rows[0];
}

export type UsageRow = { today: string; week: string; refused: string; failed: string };

export async function readUsage(tx: Tx, organizationId: string): Promise<UsageRow | undefined> {
  const all = 'succeeded + not_modified + refused + failed';
  const sum = (what: string, filter = ''): string => `coalesce(sum(${what}) ${filter}, 0)::text`;
  const { rows } = await tx.raw<Rows<UsageRow>>(
    `select ${sum(all, "filter (where day = (now() at time zone 'UTC')::date)")} as today, ${sum(all)} as week, ${sum('refused')} as refused,
       ${sum('failed')} as failed
     from api_key_usage where organization_id = ? and ${lastWeek}`,
    [organizationId],
  );
  return rows[0];
}

export type UsageDayRow = { day: string; requests: string; unanswered: string };

/** The last 30 days, each with a row, oldest first. */
export async function listUsageDays(tx: Tx, organizationId: string): Promise<UsageDayRow[]> {
  const today = "(now() at time zone 'UTC')::date";
  const { rows } = await tx.raw<Rows<UsageDayRow>>(
    `select to_char(d.day, 'YYYY-MM-DD') as day, coalesce(u.requests, 0)::text as requests, coalesce(u.unanswered, 0)::text as unanswered
     from generate_series(${today} - interval '29 days', ${today}, interval '1 day') as d (day)
     left join (
       select day, sum(succeeded + not_modified + refused + failed) as requests, sum(refused + failed) as unanswered
       from api_key_usage where organization_id = ? and day > ${today} - 30 group by day) u on u.day = d.day::date
     order by d.day`,
    [organizationId],
  );
  return rows;
}

/** Numbers of payments; `…_id` is the payment when there is one. */
export type PaymentsRow = { enabled: boolean } & Record<
  'failed' | 'unapplied' | 'waiting' | 'unsettled',
  number
> &
  Record<'failed_id' | 'unapplied_id' | 'waiting_id' | 'unsettled_id', string | null>;

export async function readPayments(tx: Tx, organizationId: string): Promise<PaymentsRow | undefined> {
  const found = (name: string, filter: string): string =>
    `count(distinct d.payment_id) filter (where ${filter})::int as ${name}, min(d.payment_id::text) filter (where ${filter}) as ${name}_id`;
  const { rows } = await tx.raw<Rows<PaymentsRow>>(
    `select coalesce((select c.enabled from pay_configs c where c.organization_id = :organizationId), false) as enabled, documents.*, payments.*
     from (
       select ${found('failed', "d.status = 'FAILED'")}, ${found('unapplied', "d.status = 'PARTLY_APPLIED'")},
         ${found('waiting', "d.status = 'PENDING' and d.created_at < now() - interval '1 hour'")}
       from pay_erp_documents d where d.organization_id = :organizationId and d.status <> 'LANDED') documents
     cross join (
       select count(*)::int as unsettled, min(p.id::text) as unsettled_id
       from pay_payments p join pay_checkouts o on o.organization_id = p.organization_id and o.payment_id = p.id
       where p.organization_id = :organizationId and p.status in ('PENDING', 'PROCESSING')
         and ((p.status = 'PENDING' and o.expires_at < now() - interval '1 hour')
           or (p.status = 'PROCESSING' and p.updated_at < now() - interval '7 days'))) payments`,
    { organizationId },
  );
  return rows[0];
}

export type PortalRow = Record<
  'visitors' | 'succeeded' | 'refused' | 'failed' | 'mails' | 'statements',
  string
> & { paid: { currency: string; payments: number; minor: string }[] };

/** Visitors of the month; sign-ins, mails and payments of the last seven days. */
export async function readPortal(tx: Tx, organizationId: string): Promise<PortalRow | undefined> {
  const sum = (kind: string): string => `coalesce(sum(${kind}), 0)::text as ${kind}`;
  const { rows } = await tx.raw<Rows<PortalRow>>(
    `select ${['succeeded', 'refused', 'failed'].map(sum).join(', ')},
       (select count(*) from portal_activity a
        where a.organization_id = :organizationId and a.month = date_trunc('month', now() at time zone 'UTC')::date) as visitors,
       (select count(distinct (m.order_id, m.kind, m.noted_at)) from portal_mailed m
        where m.organization_id = :organizationId and m.is_mailed and m.noted_at > now() - interval '7 days') as mails,
       (select count(*) from portal_mailed m where m.organization_id = :organizationId and m.is_mailed
          and m.kind = 'statement' and m.noted_at > now() - interval '7 days') as statements,
       (select coalesce(jsonb_agg(to_jsonb(p) order by p.currency), '[]') from (
          select currency, count(*)::int as payments, sum(amount_minor)::text as minor from pay_payments
          where organization_id = :organizationId and visitor is not null and succeeded_at > now() - interval '7 days' group by 1) p) as paid
     from portal_usage where organization_id = :organizationId and ${lastWeek} and record_type = ''`,
    { organizationId },
  );
  return rows[0];
}

export type DomainRow = { id: string; hostname: string };
/** Domains whose verification failed. */
export const listFailedDomains = (tx: Tx, organizationId: string): Promise<DomainRow[]> =>
  tx('domains')
    .where({ organization_id: organizationId, status: 'failed' })
    .orderBy('hostname')
    .limit(20)
    .select<DomainRow[]>('id', 'hostname');

export type WebhookRow = { id: string; url: string; enabled: boolean };
/** Those that the service disabled, or whose attempts have failed for an hour. */
export const listFailingWebhooks = (tx: Tx, organizationId: string): Promise<WebhookRow[]> =>
  tx('webhook_endpoints')
    .where({ organization_id: organizationId })
    .whereRaw("(disabled_reason is not null or enabled and failing_since < now() - interval '1 hour')")
    .orderBy('url')
    .limit(20)
    .select<WebhookRow[]>('id', 'url', 'enabled');

export type StepsRow = { published: boolean; key_used: boolean };
export async function readSteps(tx: Tx, organizationId: string): Promise<StepsRow> {
  const { rows } = await tx.raw<Rows<StepsRow>>(
    `select exists (select from api_schemas s where s.organization_id = :organizationId and s.version like 'v%' and s.status <> 'draft') as published,
       exists (select from api_key_usage u where u.organization_id = :organizationId) as key_used`,
    { organizationId },
  );
  return rows[0] ?? { published: false, key_used: false };
}
