// One answer for a console's first screen: each part that the caller may read. Nothing here calls the ERP.
import { netsuiteName } from '../../connectors/secret-binding.ts';
import type { RequestCtx } from '../../core/ctx.ts';
import type { Permission } from '../../core/permissions.ts';
import { formatAmount } from '../../core/text/money.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { listHeldDeletions, readFieldGaps, readStoredRecords } from '../../sync/index.ts';
import { countRejections } from '../../warehouse/rejections.ts';
import { type ConnectionRow, listCertificates, listConnections } from '../connections/connections.store.ts';
import { signsWithCertificate } from '../connections/netsuite-form.ts';
import type {
  KeysOverview,
  Overview,
  OverviewProblem,
  PaymentsOverview,
  SyncOverview,
  VersionOverview,
} from './overview.schemas.ts';
import * as store from './overview.store.ts';
import {
  type ConnectionState,
  connectionProblems,
  domainProblems,
  keyProblems,
  paymentProblems,
  summarizeProblems,
  syncProblems,
  versionProblems,
  webhookProblems,
} from './problems.ts';
import { byState, countStates, describeSync, type TypeFigures } from './sync-state.ts';

const maxSyncs = 50;
const maxVersions = 20;
const dayMs = 86_400_000;

/** A part and what is wrong in it. */
type Part<T> = { readonly view: T; readonly problems: readonly OverviewProblem[] };

type Connection = NonNullable<Overview['connection']>;

const noConnection: Connection = {
  configured: false,
  kind: null,
  accountId: null,
  status: null,
  lastTestedAt: null,
  lastError: null,
  certificate: null,
};

async function viewConnection(
  tx: Tx,
  { organizationId, clock }: RequestCtx,
  row: ConnectionRow,
): Promise<Connection> {
  const certificates = signsWithCertificate(row) ? await listCertificates(tx, organizationId, row.name) : [];
  const active = certificates.find((one) => one.active);
  return {
    configured: true,
    kind: row.kind,
    accountId: row.account_id,
    status: row.status,
    lastTestedAt: instantOrNull(row.last_tested_at),
    lastError: row.status === 'failed' ? row.last_error : null,
    certificate: active
      ? {
          slot: active.slot,
          notAfter: instant(active.not_after),
          daysLeft: Math.floor((active.not_after.getTime() - clock.now().getTime()) / dayMs),
        }
      : null,
  };
}

/** Those that the caller may read, and the first of them all, null without permission. */
async function readConnections(tx: Tx, ctx: RequestCtx) {
  const { permissions } = ctx.principal;
  const connections: ConnectionState[] = [];
  if (!permissions.has('netsuite:read') && !permissions.has('connection:read'))
    return { connections, connection: null };
  for (const row of await listConnections(tx, ctx.organizationId)) {
    if (row.name !== netsuiteName && !permissions.has('connection:read')) continue;
    connections.push({ name: row.is_first ? null : row.name, view: await viewConnection(tx, ctx, row) });
  }
  const first = connections.find(({ name }) => name === null);
  return { connections, connection: first?.view ?? noConnection };
}

type FiguresOf = (recordType: string) => TypeFigures;

/** What the warehouse has, by record type. */
async function readFigures(ctx: RequestCtx): Promise<FiguresOf> {
  const [held, gaps, getStoredRecords, rejected] = await Promise.all([
    listHeldDeletions(ctx),
    readFieldGaps(ctx),
    readStoredRecords(ctx),
    countRejections(ctx),
  ]);
  return (recordType) => {
    const { records, syncedAt } = getStoredRecords(recordType);
    const waiting = held.get(recordType);
    return {
      records,
      syncedAt,
      rejectedRecords: rejected.get(recordType) ?? 0,
      staleFields: Object.keys(gaps.get(recordType)?.stale ?? {}).sort(),
      heldDeletions: waiting === undefined ? null : { proposalId: waiting.proposalId, count: waiting.count },
    };
  };
}

async function readSyncs(
  tx: Tx,
  ctx: RequestCtx,
  getFigures: FiguresOf,
  connections: readonly ConnectionState[],
) {
  const rows = await store.listSyncs(tx, ctx.organizationId);
  const syncs: SyncOverview[] = rows.map((row) =>
    describeSync(row, getFigures(row.record_type), ctx.clock.now()),
  );
  const view: NonNullable<Overview['syncs']> = {
    total: rows.length,
    openRuns: rows.filter((row) => row.is_open).length,
    counts: countStates(syncs),
    configs: syncs.toSorted(byState).slice(0, maxSyncs),
  };
  return {
    view,
    ...syncProblems(rows, syncs, connections),
    hasSucceeded: rows.some((row) => row.published_at !== null),
  };
}

async function readVersions(
  tx: Tx,
  { organizationId, principal }: RequestCtx,
): Promise<Part<VersionOverview[]>> {
  const rows = await store.listVersions(tx, organizationId);
  const seesCallers = principal.permissions.has('api-key:read');
  const view = rows.map((row) => ({
    id: row.id,
    version: row.version,
    name: row.name,
    status: row.status,
    publication: row.publication,
    publishedAt: instantOrNull(row.published_at),
    sunsetAt: instantOrNull(row.sunset_at),
    callers7Days: seesCallers ? row.callers : null,
    requests7Days: seesCallers ? Number(row.requests) : null,
  }));
  return { view: view.slice(0, maxVersions), problems: versionProblems(rows, view) };
}

async function readKeys(tx: Tx, { organizationId }: RequestCtx): Promise<Part<KeysOverview>> {
  const keys = (await store.readKeys(tx, organizationId)) ?? {
    active: 0,
    expiring: [],
    expiring_total: 0,
    unused: 0,
  };
  const usage = await store.readUsage(tx, organizationId);
  const view = {
    active: keys.active,
    expiringIn14Days: keys.expiring_total,
    unusedFor30Days: keys.unused,
    requestsToday: Number(usage?.today ?? 0),
    requests7Days: Number(usage?.week ?? 0),
    refused7Days: Number(usage?.refused ?? 0),
    failed7Days: Number(usage?.failed ?? 0),
    days: (await store.listUsageDays(tx, organizationId)).map(({ day, requests, unanswered }) => ({
      day,
      requests: Number(requests),
      unanswered: Number(unanswered),
    })),
  };
  return { view, problems: keyProblems(keys) };
}

async function readPayments(tx: Tx, { organizationId }: RequestCtx): Promise<Part<PaymentsOverview | null>> {
  const row = await store.readPayments(tx, organizationId);
  if (row === undefined) return { view: null, problems: [] };
  const { enabled, failed, unapplied, waiting, unsettled } = row;
  const view = {
    enabled,
    failedWriteBacks: failed,
    unappliedWriteBacks: unapplied,
    waitingWriteBacks: waiting,
    unsettled,
  };
  return { view, problems: paymentProblems(row) };
}

async function readPortal(
  tx: Tx,
  { organizationId }: RequestCtx,
  mayReadPayments: boolean,
): Promise<NonNullable<Overview['portal']>> {
  const row = await store.readPortal(tx, organizationId);
  const paid = row?.paid ?? [];
  return {
    monthlyActiveVisitors: Number(row?.visitors ?? 0),
    signIns7Days: Number(row?.succeeded ?? 0),
    refusedSignIns7Days: Number(row?.refused ?? 0),
    failedSignIns7Days: Number(row?.failed ?? 0),
    mails7Days: Number(row?.mails ?? 0),
    statements7Days: Number(row?.statements ?? 0),
    paid7Days: mayReadPayments
      ? paid.map(({ currency, payments, minor }) => ({
          ...{ currency, payments },
          amount: formatAmount({ amountMinor: BigInt(minor), currency }),
        }))
      : null,
  };
}

/** Null, or no problems, for parts that the caller may not read. Rejects with database errors. */
export async function readOverview(ctx: RequestCtx): Promise<Overview> {
  const may = (permission: Permission): boolean => ctx.principal.permissions.has(permission);
  const getFigures = may('sync:read') ? await readFigures(ctx) : null;
  return inTransaction(ctx, async (tx) => {
    const { connection, connections } = await readConnections(tx, ctx);
    const syncs = getFigures && (await readSyncs(tx, ctx, getFigures, connections));
    const versions = may('api-schema:read') ? await readVersions(tx, ctx) : null;
    const keys = may('api-key:read') ? await readKeys(tx, ctx) : null;
    const payments = may('payment:read') ? await readPayments(tx, ctx) : null;
    const domains = may('domain:read')
      ? domainProblems(await store.listFailedDomains(tx, ctx.organizationId))
      : [];
    const webhooks = may('webhook:read')
      ? webhookProblems(await store.listFailingWebhooks(tx, ctx.organizationId))
      : [];
    const portal = may('portal:read') ? await readPortal(tx, ctx, payments !== null) : null;
    const steps = await store.readSteps(tx, ctx.organizationId);
    const parts = [syncs, versions, keys, payments];
    const ofConnections = connections.flatMap((one) =>
      connectionProblems(one, syncs?.stopped.get(one.name) ?? 0),
    );
    return {
      generatedAt: instant(ctx.clock.now()),
      ...summarizeProblems([
        ...ofConnections,
        ...parts.flatMap((part) => part?.problems ?? []),
        ...domains,
        ...webhooks,
      ]),
      setUp: {
        connectionTested: connection && connection.status === 'connected',
        firstSync: syncs && syncs.view.total > 0,
        firstSucceededSync: syncs?.hasSucceeded ?? null,
        publishedVersion: versions && steps.published,
        apiKeyUsed: keys && steps.key_used,
      },
      connection,
      syncs: syncs?.view ?? null,
      versions: versions?.view ?? null,
      keys: keys?.view ?? null,
      payments: payments?.view ?? null,
      portal,
    };
  });
}
