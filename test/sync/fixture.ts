// An ERP in this process that the engine reads as it reads any other, and whose answers a test may bend: for what a real account
// can't be made to do at a chosen moment. And an organization that syncs from it, driven claim by claim.
import { randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import {
  type Connector,
  ErpError,
  type ErpErrorKind,
  type FieldMetadata,
  type FieldType,
  type PageRequest,
  type RecordTypeMetadata,
  type RejectedRecord,
  type SourceRecord,
} from '../../src/connectors/connector.ts';
import type { Ctx, TenantCtx } from '../../src/core/ctx.ts';
import { newId } from '../../src/core/id.ts';
import { openKnex } from '../../src/db/connect.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { isFinal } from '../../src/sync/run-state.ts';
import { claimRun, findRun, insertRun, type Lease, type RunRow } from '../../src/sync/runs.store.ts';
import { workOn } from '../../src/sync/worker.ts';
import { readState } from '../../src/warehouse/generation.ts';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import type { TestDatabase } from '../setup/database.ts';
import { makeOrganization } from '../setup/organization.ts';

export const field = (name: string, type: FieldType = 'text', fields?: readonly FieldMetadata[]): FieldMetadata => ({
  name,
  label: name,
  type,
  custom: false,
  syncable: true,
  volatile: false,
  reason: null,
  ...(fields !== undefined && { fields }),
});

export type Operation = 'now' | 'metadata' | 'count' | 'readPage' | 'readByIds' | 'listIds';
export type Call = { readonly operation: Operation; readonly afterId: string | null };
export type MemoryErp = {
  readonly connector: Connector;
  readonly calls: Call[];
  fields: FieldMetadata[];
  readonly records: Map<string, SourceRecord>;
  /** Records that can be read and not stored. */
  readonly rejects: Map<string, RejectedRecord>;
  /** Ids that are listed and counted, and never come when they are read. */
  readonly locked: Set<string>;
  /** Fields that the metadata shows and a query refuses. */
  readonly refusedFields: Set<string>;
  /** Runs before each answer; may change the records, wait, or throw. */
  onCall: (call: Call, request: { signal: AbortSignal } | null) => void | Promise<void>;
  /** Bends the page that is about to be given. */
  bendPage: ((page: Awaited<ReturnType<Connector['readPage']>>, request: PageRequest) => Awaited<ReturnType<Connector['readPage']>>) | null;
  /** What the ERP says when asked how many there are; the truth when null. */
  claimedCount: (() => number) | null;
  put(id: number | string, values?: Record<string, string | null>, more?: Partial<SourceRecord>): void;
};

export const erpError = (kind: ErpErrorKind, code: string, retryAfterMs?: number): ErpError =>
  new ErpError(kind, code, `the ERP says ${code}`, { fix: 'Do something about it.', ...(retryAfterMs !== undefined && { retryAfterMs }) });

const byId = (a: string, b: string): number => (BigInt(a) < BigInt(b) ? -1 : 1);

export function memoryErp(fields: readonly FieldMetadata[] = [field('name'), field('total', 'number')]): MemoryErp {
  const erp: MemoryErp = {
    calls: [],
    fields: [...fields],
    records: new Map(),
    rejects: new Map(),
    locked: new Set(),
    refusedFields: new Set(),
    onCall: () => undefined,
    bendPage: null,
    claimedCount: null,
    put(id, values = {}, more = {}) {
      const key = String(id);
      erp.records.set(key, {
        id: key,
        modifiedAt: null,
        values: { name: `name ${key}`, total: `${key}.50`, ...values },
        labels: {},
        lines: null,
        ...more,
      });
    },
    connector: undefined as unknown as Connector,
  };
  const called = async (operation: Operation, afterId: string | null, request: { signal: AbortSignal } | null) => {
    request?.signal.throwIfAborted();
    const call = { operation, afterId };
    erp.calls.push(call);
    await erp.onCall(call, request);
    request?.signal.throwIfAborted();
  };
  const ids = (): string[] => [...new Set([...erp.records.keys(), ...erp.rejects.keys(), ...erp.locked])].sort(byId);
  const take = (wanted: readonly string[], asked: readonly string[], hasMore: boolean) => {
    const refused = asked.find((name) => erp.refusedFields.has(name));
    if (refused !== undefined) throw erpError('query', 'COLUMN_UNKNOWN');
    const open = wanted.filter((id) => !erp.locked.has(id));
    return {
      records: open.flatMap((id) => (erp.rejects.has(id) ? [] : (erp.records.get(id) ?? []))),
      rejected: open.flatMap((id) => erp.rejects.get(id) ?? []),
      lastId: open.at(-1) ?? null,
      hasMore,
    };
  };
  const recordType = (): RecordTypeMetadata => ({
    name: 'thing',
    label: 'Thing',
    table: 'thing',
    source: 'test',
    idType: 'integer',
    fields: [field('id', 'integer'), ...erp.fields],
    openWhen: null,
  });
  const connector: Connector = {
    test: async () => ({ ok: true, latencyMs: 0, account: 'test', problems: [] }),
    now: async (signal) => {
      await called('now', null, { signal });
      return new Date();
    },
    metadata: async (signal) => {
      await called('metadata', null, { signal });
      return [recordType()];
    },
    count: async (_type, signal) => {
      await called('count', null, { signal });
      return erp.claimedCount?.() ?? ids().length;
    },
    readPage: async (request) => {
      await called('readPage', request.afterId, request);
      const after = ids().filter((id) => request.afterId === null || byId(request.afterId, id) < 0);
      const page = take(after.slice(0, request.limit), request.fields, after.length > request.limit);
      return erp.bendPage === null ? page : erp.bendPage(page, request);
    },
    readByIds: async (request) => {
      await called('readByIds', null, request);
      const known = new Set(ids());
      return take(request.ids.filter((id) => known.has(id)).sort(byId), request.fields, false);
    },
    listIds: async (request) => {
      await called('listIds', request.afterId, request);
      const { afterId } = request;
      const after = ids().filter((id) => afterId === null || byId(afterId, id) < 0);
      return { ids: after.slice(0, request.limit), hasMore: after.length > request.limit };
    },
    scan: async () => ({ records: [], rejected: [], lastId: null, hasMore: false }),
    deletedSince: async () => ({ available: false, reason: 'not in this ERP', fix: 'Nothing.' }),
  };
  return Object.assign(erp, { connector });
}

export type ConfigOptions = {
  recordType?: string;
  fields?: readonly string[] | null;
  deletions?: 'feed' | 'reconcile' | 'none';
  maxDeleteShare?: number;
  schedule?: string | null;
  timezone?: string;
};

export type SyncWorld = {
  readonly ctx: Ctx;
  readonly tenant: TenantCtx;
  readonly organizationId: string;
  readonly schema: string;
  readonly configId: string;
  readonly erp: MemoryErp;
  queue(): Promise<string>;
  claim(leaseMs?: number): Promise<Lease>;
  work(lease: Lease, signal?: AbortSignal, ctx?: Ctx): Promise<void>;
  /** Works on whatever can be claimed until the run is in a final state, or in `until`. */
  drive(runId: string, until?: RunRow['status']): Promise<RunRow>;
  /** A whole run, from the queue to its end. */
  sync(): Promise<RunRow>;
  row(runId: string): Promise<RunRow>;
  /** What readers see, by id. */
  rows(): Promise<Record<string, unknown>[]>;
  state(): ReturnType<typeof readState>;
  events(runId: string): Promise<string[]>;
  query<T extends Record<string, unknown>>(sql: string, values?: unknown[]): Promise<T[]>;
  changeConfig(change: Record<string, unknown>): Promise<void>;
  staged(): Promise<number>;
};

/** As the cluster's superuser, who sees what the service may not. */
export async function asAdmin<T>({ address }: TestDatabase, work: (admin: Knex) => Promise<T>): Promise<T> {
  const admin = openKnex(address, null, 1);
  try {
    return await work(admin);
  } finally {
    await admin.destroy();
  }
}

/** So that no test claims what another one left. */
export const endOpenRuns = (database: TestDatabase): Promise<number> =>
  asAdmin(database, (admin) =>
    admin('sync_runs').whereIn('status', ['queued', 'running', 'waiting', 'publishing']).update({ status: 'cancelled', staged: false }),
  );

export const noSignal = new AbortController().signal;
const pollMs = 10;
const patienceMs = 15_000;

/** Ends after `patienceMs` with an error instead of a test that hangs. */
export async function until<T>(look: () => Promise<T | undefined | false>, what = 'it'): Promise<T> {
  const end = performance.now() + patienceMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > end) throw new Error(`${what} did not happen`);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

export async function addConfig(ctx: Ctx, organizationId: string, options: ConfigOptions = {}): Promise<string> {
  const id = newId();
  await inTransaction({ db: ctx.db, organizationId }, (tx) =>
    tx('sync_configs').insert({
      id,
      organization_id: organizationId,
      name: 'Things',
      record_type: options.recordType ?? 'thing',
      mode: 'full',
      schedule: options.schedule ?? null,
      timezone: options.timezone ?? 'UTC',
      fields: options.fields ?? null,
      deletions: options.deletions ?? 'reconcile',
      max_delete_share: options.maxDeleteShare ?? 0.02,
    }),
  );
  return id;
}

export async function syncWorld(ctx: Ctx, erp: MemoryErp = memoryErp(), options: ConfigOptions = {}): Promise<SyncWorld> {
  const { id: organizationId } = await makeOrganization(ctx, { name: `Company ${randomBytes(4).toString('hex')}` });
  const configId = await addConfig(ctx, organizationId, options);
  const tenant: TenantCtx = { ...ctx, organizationId };
  const schema = tenantSchema(organizationId);
  const world: SyncWorld = {
    ctx,
    tenant,
    organizationId,
    schema,
    configId,
    erp,
    async queue() {
      const made = await inTransaction(tenant, (tx) =>
        insertRun(tx, organizationId, {
          sync_config_id: configId,
          record_type: options.recordType ?? 'thing',
          mode: 'full',
          trigger: 'manual',
        }),
      );
      if (made === undefined) throw new Error('a run is queued already');
      return made.id;
    },
    async claim(leaseMs = ctx.settings.sync.leaseMs) {
      return until(async () => claimRun(ctx, 'test', leaseMs), 'a claim');
    },
    work: (lease, signal = noSignal, own = ctx) => workOn(own, lease, signal, async () => erp.connector),
    async drive(runId, wanted) {
      return until(async () => {
        const before = await world.row(runId);
        if (isFinal(before.status) || before.status === wanted) return before;
        const lease = await claimRun(ctx, 'test', ctx.settings.sync.leaseMs);
        if (lease !== undefined) await world.work(lease);
        const after = await world.row(runId);
        return isFinal(after.status) || after.status === wanted ? after : undefined;
      }, `the end of the run`);
    },
    sync: async () => world.drive(await world.queue()),
    async row(runId) {
      const found = await inTransaction(tenant, (tx) => findRun(tx, organizationId, runId));
      if (found === undefined) throw new Error('the run is gone');
      return found;
    },
    async rows() {
      const state = await world.state();
      if (state === undefined || state.activeTable === null) return [];
      return world.query(`select * from ${schema}."${state.activeTable}" order by id`);
    },
    state: () => readState(ctx.db.data, schema, options.recordType ?? 'thing'),
    events: async (runId) =>
      inTransaction(tenant, async (tx) =>
        (await tx('sync_run_events').where({ run_id: runId }).orderBy('id').select<{ message: string }[]>('message')).map(
          ({ message }) => message,
        ),
      ),
    query: async <T extends Record<string, unknown>>(sql: string, values: unknown[] = []) => (await ctx.db.data.query<T>(sql, values)).rows,
    changeConfig: async (change) => {
      await inTransaction(tenant, (tx) => tx('sync_configs').where({ id: configId }).update(change));
    },
    staged: async () => {
      const [row] = await world.query<{ n: string }>(`select count(*) as n from ${schema}."staging_${options.recordType ?? 'thing'}"`);
      return Number(row?.n ?? 0);
    },
  };
  return world;
}
