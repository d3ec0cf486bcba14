// An in-memory ERP that the engine reads like any other, and whose responses a test can manipulate: for
// situations that a real account can't produce at a chosen moment. And an organization that syncs from it,
// driven claim by claim.
import { randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import { expect, inject } from 'vitest';
import {
  type Connector,
  ErpError,
  type ErpErrorKind,
  type FieldMetadata,
  type FieldType,
  type LineReader,
  type PageRequest,
  type RecordPage,
  type RecordTypeMetadata,
} from '../../src/connectors/connector.ts';
import type { RecordRejection, SourceLine, SourceRecord } from '../../src/connectors/source-records.ts';
import type { Ctx, TenantCtx } from '../../src/core/ctx.ts';
import { createId } from '../../src/core/id.ts';
import type { Settings } from '../../src/core/settings.ts';
import { openKnex } from '../../src/db/connect.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { isFinal } from '../../src/sync/queue/run-state.ts';
import {
  claimRun,
  findRun,
  findSyncConfig,
  insertRun,
  type Lease,
  type RunRow,
} from '../../src/sync/queue/runs.store.ts';
import { workOnRun } from '../../src/sync/run/worker.ts';
import { readRecordState } from '../../src/warehouse/record-state.ts';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import type { TestDatabase } from '../setup/database.ts';
import { endLeases } from '../setup/jobs.ts';
import { makeOrganization } from '../setup/organization.ts';

export const field = (
  name: string,
  type: FieldType = 'text',
  fields?: readonly FieldMetadata[],
): FieldMetadata => ({
  name,
  label: name,
  type,
  custom: false,
  syncable: true,
  volatile: false,
  reason: null,
  ...(fields !== undefined && { fields }),
});

export type Operation =
  | 'now'
  | 'metadata'
  | 'count'
  | 'readPage'
  | 'readByIds'
  | 'listIds'
  | 'scan'
  | 'deletedSince'
  | 'today'
  | 'lineTotals'
  | 'lineChanges';
export type Call = { readonly operation: Operation; readonly afterId: string | null };
type Work = (request: { signal: AbortSignal } | null) => unknown;
type Values = Record<string, string | null>;
export type MemoryErp = {
  readonly connector: Connector;
  readonly calls: Call[];
  fields: FieldMetadata[];
  readonly records: Map<string, SourceRecord>;
  /** Records that can be read and not stored. */
  readonly rejects: Map<string, RecordRejection>;
  /** Ids that are listed and counted, but never returned when they are read. */
  readonly locked: Set<string>;
  /** Fields that the metadata has and queries reject. */
  readonly refusedFields: Set<string>;
  /** The ERP's clock; the real one when null. */
  at: Date | null;
  /** The ERP's calendar day; that of its clock in UTC when null. */
  today: string | null;
  /** Its deletion feed, with times; null when this role may not read it. */
  deleted: Map<string, string> | null;
  openWhen: RecordTypeMetadata['openWhen'];
  /** Pages are in an order that the engine doesn't know. */
  keyOrder: RecordTypeMetadata['keyOrder'];
  shownAs: RecordTypeMetadata['shownAs'];
  /** Removes a record, and lists it as deleted. */
  drop(id: number | string): void;
  /** Changes values without touching the modification time. */
  shift(id: number | string, values: Values, labels?: Record<string, string>): void;
  /** Runs before each response; may change the records, wait, or throw. */
  onCall: (call: Call, request: { signal: AbortSignal } | null) => void | Promise<void>;
  /** Changes lines without touching the modification time. */
  setLines(id: number | string, lines: readonly SourceLine[]): void;
  /** Sets `onCall`: does this before each response to such a request, or to the one for the page after that id. */
  before(operation: Operation, work: Work, afterId?: string | null): void;
  /** The same before the next such response only. */
  once(operation: Operation, work: Work, afterId?: string | null): void;
  /** Sets `onCall`: answers such requests with an error. */
  fail(operation: Operation, error: Error, afterId?: string | null): void;
  failOnce(operation: Operation, error: Error, afterId?: string | null): void;
  /** Sets `onCall`: answers all requests with an error, which by default says that the test expects none. */
  failAll(error?: Error): void;
  /** Manipulates the page that is about to be returned. */
  bendPage: ((page: RecordPage, request: PageRequest) => RecordPage) | null;
  /** Sets `bendPage`: returns this instead of each record. */
  bendRecords(bend: (record: SourceRecord) => SourceRecord | readonly SourceRecord[]): void;
  /** The count that the ERP reports; the true one when null. */
  claimedCount: (() => number) | null;
  put(id: number | string, values?: Values, more?: Partial<SourceRecord>): void;
  /** Puts records 1 to `count`. */
  fill(count: number, create?: CreateRecord): void;
};
/** The values of a record by its id, as `put` takes them. */
export type CreateRecord = (id: number) => [values?: Values, more?: Partial<SourceRecord>];
export const erpError = (kind: ErpErrorKind, code: string, retryAfterMs?: number): ErpError =>
  new ErpError(kind, code, `the ERP says ${code}`, {
    fix: 'Do something about it.',
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });

const byId = (a: string, b: string): number => Number(BigInt(a) - BigInt(b));
const isBehind = (id: string, afterId: string | null | undefined, order = byId): boolean =>
  afterId === null || afterId === undefined || order(afterId, id) < 0;
const reversed = (id: string): string => [...id].toReversed().join('');
/** An order of ids that differs from that of numbers and texts: by their digits from the last one. */
const byServer = (a: string, b: string): number => (reversed(a) < reversed(b) ? -1 : Number(a !== b));
const toIsoSeconds = (at: Date): string => at.toISOString().replace(/\.\d+Z$/, 'Z');

/** The line field with the line's own modification time, where the lines have one. */
export const lineModified = 'linemodified';

/** Records of this type have a modification time, so that incremental runs are possible. */
export const datedFields = [field('name'), field('total', 'number'), field('modified', 'time')];
const emptyRecord = { modifiedAt: null, values: {}, labels: {}, lines: null };

export function memoryErp(
  fields: readonly FieldMetadata[] = [field('name'), field('total', 'number')],
): MemoryErp {
  const isDated = (): boolean => erp.fields.some(({ name }) => name === 'modified');
  const edit = (id: number | string, change: (held: SourceRecord) => Partial<SourceRecord>): void => {
    const held = erp.records.get(String(id));
    if (held === undefined) throw new Error('no such record');
    erp.records.set(held.id, { ...held, ...change(held) });
  };
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
    at: null,
    deleted: null,
    today: null,
    openWhen: null,
    keyOrder: undefined,
    shownAs: { number: null, name: 'name', date: null, amount: null },
    setLines: (id, lines) => edit(id, () => ({ lines })),
    before(operation, work, afterId) {
      erp.onCall = async (call, request) => {
        if (call.operation === operation && (afterId === undefined || call.afterId === afterId))
          await work(request);
      };
    },
    once(operation, work, afterId) {
      const workOnce: Work = (request) => {
        erp.onCall = () => undefined;
        return work(request);
      };
      erp.before(operation, workOnce, afterId);
    },
    fail: (operation, error, afterId) => erp.before(operation, () => Promise.reject(error), afterId),
    failOnce: (operation, error, afterId) => erp.once(operation, () => Promise.reject(error), afterId),
    bendRecords(bend) {
      erp.bendPage = (page) => ({ ...page, records: page.records.flatMap(bend) });
    },
    fill(count, create = () => []) {
      for (let id = 1; id <= count; id += 1) erp.put(id, ...create(id));
    },
    failAll(error = new Error('the ERP must not be asked')) {
      erp.onCall = () => Promise.reject(error);
    },
    drop(id) {
      erp.records.delete(String(id));
      erp.deleted?.set(String(id), toIsoSeconds(erp.at ?? new Date()));
    },
    shift: (id, values, labels = {}) =>
      edit(id, (held) => ({
        values: { ...held.values, ...values },
        labels: { ...held.labels, ...labels },
      })),
    put(id, values = {}, more = {}) {
      const key = String(id);
      const modifiedAt = isDated() ? (more.modifiedAt ?? toIsoSeconds(erp.at ?? new Date())) : null;
      erp.records.set(key, {
        id: key,
        modifiedAt,
        values: {
          name: `name ${key}`,
          total: `${key}.50`,
          ...(modifiedAt !== null && { modified: modifiedAt }),
          ...values,
        },
        labels: {},
        lines: null,
        ...more,
      });
    },
    connector: undefined as unknown as Connector,
  };
  const called = async (
    operation: Operation,
    afterId: string | null,
    request: { signal: AbortSignal } | null,
  ) => {
    request?.signal.throwIfAborted();
    const call = { operation, afterId };
    erp.calls.push(call);
    await erp.onCall(call, request);
    request?.signal.throwIfAborted();
  };
  const inOrder = (a: string, b: string): number => (erp.keyOrder === 'server' ? byServer : byId)(a, b);
  /** A filter compares the value of `subsidiary`. */
  const ids = ({ filter }: Pick<RecordTypeMetadata, 'filter'>): string[] =>
    [...new Set([...erp.records.keys(), ...erp.rejects.keys(), ...erp.locked])]
      .filter(
        (id) =>
          filter === undefined ||
          filter.subsidiaries.includes(erp.records.get(id)?.values['subsidiary'] ?? ''),
      )
      .sort(inOrder);
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
  const lineFields = (): readonly FieldMetadata[] =>
    erp.fields.find(({ type, syncable }) => type === 'lines' && syncable)?.fields ?? [];
  const recordType = (): RecordTypeMetadata => ({
    name: 'thing',
    label: 'Thing',
    table: 'thing',
    source: 'test',
    idType: 'integer',
    ...(erp.keyOrder !== undefined && { keyOrder: erp.keyOrder }),
    fields: [field('id', 'integer'), ...erp.fields],
    openWhen: erp.openWhen,
    modifiedField: isDated() ? 'modified' : null,
    linesModifiedField: lineFields().some(({ name }) => name === lineModified) ? lineModified : null,
    shownAs: erp.shownAs,
  });
  const connector: Connector = {
    test: async () => ({ ok: true, latencyMs: 0, account: 'test', problems: [] }),
    now: async (signal) => {
      await called('now', null, { signal });
      return erp.at ?? new Date();
    },
    today: async (signal) => {
      await called('today', null, { signal });
      return erp.today ?? toIsoSeconds(erp.at ?? new Date()).slice(0, 10);
    },
    metadata: async (signal) => {
      await called('metadata', null, { signal });
      return [recordType()];
    },
    count: async (type, signal, { afterId, upTo } = { afterId: null, upTo: null }) => {
      await called('count', afterId, { signal });
      const inRange = (id: string): boolean =>
        isBehind(id, afterId, inOrder) && (upTo === null || inOrder(upTo, id) >= 0);
      return erp.claimedCount?.() ?? ids(type).filter(inRange).length;
    },
    readPage: async (request) => {
      await called('readPage', request.afterId, request);
      const since = request.changedSince === null ? null : toIsoSeconds(request.changedSince);
      const changed = (id: string): boolean =>
        since === null || (erp.records.get(id)?.modifiedAt ?? since) >= since;
      const after = ids(request.recordType).filter(
        (id) => changed(id) && isBehind(id, request.afterId, inOrder),
      );
      const page = take(after.slice(0, request.limit), request.fields, after.length > request.limit);
      return erp.bendPage === null ? page : erp.bendPage(page, request);
    },
    readByIds: async (request) => {
      await called('readByIds', null, request);
      const known = new Set(ids(request.recordType));
      return take(request.ids.filter((id) => known.has(id)).sort(inOrder), request.fields, false);
    },
    listIds: async (request) => {
      await called('listIds', request.afterId, request);
      const { afterId, changedSince = null } = request;
      const since = changedSince === null ? '' : toIsoSeconds(changedSince);
      const after = ids(request.recordType).filter(
        (id) => (erp.records.get(id)?.modifiedAt ?? since) >= since && isBehind(id, afterId, inOrder),
      );
      const modifiedAt = (id: string) =>
        changedSince === null ? null : (erp.records.get(id)?.modifiedAt ?? null);
      const listed = after.slice(0, request.limit).map((id) => ({ id, modifiedAt: modifiedAt(id) }));
      return { listed, hasMore: after.length > request.limit };
    },
    scan: async ({ ids: wanted, ...request }) => {
      await called('scan', request.afterId ?? null, request);
      const known = ids(request.recordType);
      const after = known.filter((id) =>
        wanted === undefined ? isBehind(id, request.afterId, inOrder) : wanted.includes(id),
      );
      const limit = 'limit' in request ? (request.limit ?? after.length) : after.length;
      const shown = after.slice(0, limit);
      return {
        records: shown.flatMap((id) => {
          const { lines: _, ...held } = erp.records.get(id) ?? { ...emptyRecord, id };
          return erp.rejects.has(id) ? [] : [held];
        }),
        rejected: shown.flatMap((id) => erp.rejects.get(id) ?? []),
        lastId: shown.at(-1) ?? null,
        hasMore: after.length > shown.length,
      };
    },
    deletedSince: async ({ since, signal }) => {
      await called('deletedSince', null, { signal });
      if (erp.deleted === null)
        return { available: false, reason: 'not for this role', fix: 'Grant the permission.' };
      const from = toIsoSeconds(since);
      return {
        available: true,
        deleted: [...erp.deleted]
          .filter(([, at]) => at >= from)
          .map(([id, deletedAt]) => ({ id, deletedAt })),
      };
    },
  };
  return Object.assign(erp, { connector: { ...connector, lines: memoryLines(erp, called, lineFields) } });
}

/**
 * Aggregates over the lines of the true records, whatever the pages show. Number fields of a line are summed.
 */
function memoryLines(
  erp: MemoryErp,
  called: (operation: Operation, afterId: string | null, request: { signal: AbortSignal }) => Promise<void>,
  lineFields: () => readonly FieldMetadata[],
): LineReader {
  const listLines = (id: string): readonly SourceLine[] => erp.records.get(id)?.lines ?? [];
  const findLatest = (id: string): string | null =>
    listLines(id)
      .map((line) => line[lineModified] ?? null)
      .toSorted()
      .findLast((at) => at !== null) ?? null;
  const assertLines = (): void => {
    if (!erp.fields.some(({ type }) => type === 'lines')) throw new RangeError('thing has no lines');
  };
  return {
    totals: async ({ ids, signal }) => {
      await called('lineTotals', null, { signal });
      assertLines();
      if (ids.length > 1_000) throw new RangeError('at most 1,000 ids');
      const sums = lineFields().filter(({ type, syncable }) => type === 'number' && syncable);
      return [...new Set(ids)]
        .filter((id) => listLines(id).length > 0 && !erp.locked.has(id))
        .sort(byId)
        .map((id) => ({
          id,
          lines: listLines(id).length,
          sums: Object.fromEntries(
            sums.map(({ name }) => [name, sumDecimals(listLines(id).map((line) => line[name] ?? '0'))]),
          ),
          modifiedAt: findLatest(id),
        }));
    },
    listChanged: async ({ since, afterId, limit, signal }) => {
      await called('lineChanges', afterId, { signal });
      assertLines();
      if (!lineFields().some(({ name }) => name === lineModified))
        throw erpError('query', 'FIELD_NOT_SYNCABLE');
      const from = toIsoSeconds(since);
      const after = [...erp.records.keys()]
        .sort(byId)
        .filter((id) => isBehind(id, afterId) && (findLatest(id) ?? '') >= from);
      return { ids: after.slice(0, limit), hasMore: after.length > limit };
    },
  };
}

/** Exact, for decimals with at most ten places; the sum has all ten. */
function sumDecimals(texts: readonly string[]): string {
  const places = 10;
  const scaled = (text: string): bigint => {
    const [whole = '0', fraction = ''] = text.replace('-', '').split('.');
    return BigInt(`${text.startsWith('-') ? '-' : ''}${whole}${fraction.padEnd(places, '0')}`);
  };
  const sum = texts.reduce((total, text) => total + scaled(text), 0n);
  const digits = String(sum < 0n ? -sum : sum).padStart(places + 1, '0');
  return `${sum < 0n ? '-' : ''}${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

export type ConfigOptions = {
  recordType?: string;
  fields?: readonly string[] | null;
  deletions?: 'feed' | 'reconcile' | 'none';
  maxDeleteShare?: number;
  schedule?: string | null;
  timezone?: string;
};

type Mode = 'incremental' | 'full';
type Counts = Readonly<Partial<NonNullable<RunRow['counts']>>>;

export type SyncFixture = {
  readonly ctx: Ctx;
  readonly tenant: TenantCtx;
  readonly organizationId: string;
  readonly schema: string;
  readonly configId: string;
  readonly erp: MemoryErp;
  queue(mode?: Mode): Promise<string>;
  claim(leaseMs?: number): Promise<Lease>;
  work(lease: Lease, signal?: AbortSignal, ctx?: Ctx): Promise<void>;
  /**
   * A worker claims the run and stops for good at the nth of these requests, or of all; its lease expires. Wake it
   * with the result, which then waits for its end.
   */
  loseWorker(runId: string, n: number, operations?: readonly Operation[]): Promise<() => Promise<void>>;
  /** Works on claimable runs until the run is in a final state, or in `until`. */
  drive(runId: string, until?: RunRow['status']): Promise<RunRow>;
  /** A whole run, from the queue to its end. */
  sync(mode?: Mode): Promise<RunRow>;
  /** A whole run that must succeed, with these counts among others. */
  expectSuccess(mode: Mode, counts?: Counts, more?: object): Promise<RunRow>;
  /** A whole run that must end as partial, for this reason. */
  expectPartial(mode: Mode, code: string, counts?: Counts, more?: object): Promise<RunRow>;
  /** A whole run that must fail, for this reason. */
  expectFailure(mode: Mode, code: string, more?: object): Promise<RunRow>;
  /** Drives a run to its end, which must be this one. */
  expectEnd(runId: string, status: RunRow['status'], counts: Counts, more?: object): Promise<RunRow>;
  row(runId: string): Promise<RunRow>;
  /** What readers see, by id. */
  rows(): Promise<Record<string, unknown>[]>;
  /** The ids that readers see, in order. */
  ids(): Promise<string[]>;
  /** The open rejections, by id. */
  rejections(): Promise<{ id: string; code: string; message: string }[]>;
  /** The names of the tables that hold the records of this type. */
  tables(): Promise<string[]>;
  state(): ReturnType<typeof readRecordState>;
  events(runId: string): Promise<string[]>;
  query<T extends Record<string, unknown>>(sql: string, values?: unknown[]): Promise<T[]>;
  changeConfig(change: Record<string, unknown>): Promise<void>;
  changeRun(runId: string, change: Record<string, unknown>): Promise<void>;
  /** Why the configuration is paused. */
  pausedReason(): Promise<unknown>;
  /** Expires the lease of the run's worker now, so that no test waits for it or depends on its own speed. */
  expire(runId: string): Promise<void>;
  /** Rows that runs staged, and records that they found unchanged. */
  staged(): Promise<number>;
};

/** The service with other settings of syncs. */
export const withSync = (ctx: Ctx, sync: Partial<Settings['sync']>): Ctx => ({
  ...ctx,
  settings: { ...ctx.settings, sync: { ...ctx.settings.sync, ...sync } },
});

/** As the cluster's superuser, who sees what the service may not. */
export async function asAdmin<T>({ address }: TestDatabase, work: (admin: Knex) => Promise<T>): Promise<T> {
  const admin = openKnex(address, null, 1);
  try {
    return await work(admin);
  } finally {
    await admin.destroy();
  }
}

const waiting = `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like ?`;
/**
 * The backends at the coordinator of statements that wait on a node. The global pid is 10^10 times the node's
 * id plus the pid.
 */
const waitingOnNodes =
  'select (waiting_gpid % 10000000000)::int as pid from citus_lock_waits where blocked_statement like ?';

/**
 * The backends of the test's own database that wait for a lock on that table. Other test files share the
 * server.
 */
export const waitingFor = async (admin: Knex, table: string): Promise<number[]> => {
  const { rows } = await admin.raw<{ rows: { pid: number }[] }>(
    inject('nodes').length > 1 ? waitingOnNodes : waiting,
    [`%${table}%`],
  );
  return rows.map(({ pid }) => pid);
};

/** Keeps a test from claiming runs that another one left. */
export const endOpenRuns = (database: TestDatabase): Promise<number> =>
  asAdmin(database, (admin) =>
    admin('sync_runs')
      .whereIn('status', ['queued', 'running', 'waiting', 'publishing'])
      .update({ status: 'cancelled', staged: false }),
  );

/** When the fixtures' records were changed, by the ERP's clock. */
export const start = new Date('2026-05-01T08:00:00Z');
/** Time passes in the ERP. */
export const wait = ({ erp }: Pick<SyncFixture, 'erp'>, hours: number): void => {
  erp.at = new Date((erp.at ?? start).getTime() + hours * 3_600_000);
};
/** What the ERP was asked, in order. */
export const operations = ({ erp }: SyncFixture): Operation[] => erp.calls.map(({ operation }) => operation);
export const countCalls = (fixture: SyncFixture, operation: Operation): number =>
  operations(fixture).filter((each) => each === operation).length;
/** After which ids pages were read. */
export const pagesRead = ({ erp }: SyncFixture): (string | null)[] =>
  erp.calls.filter(({ operation }) => operation === 'readPage').map(({ afterId }) => afterId);
export const findCheck = ({ proof }: Pick<RunRow, 'proof'>, name: string) =>
  proof.find(({ check }) => check === name);

export const noSignal = new AbortController().signal;
const pollMs = 10;
const patienceMs = 90_000;

/** Ends after `withinMs` with an error instead of a test that hangs. */
export async function until<T>(
  look: () => Promise<T | undefined | false>,
  what = 'it',
  withinMs = patienceMs,
): Promise<T> {
  const end = performance.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > end) throw new Error(`${what} did not happen`);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

export async function addConfig(
  ctx: Ctx,
  organizationId: string,
  options: ConfigOptions = {},
): Promise<string> {
  const id = createId();
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

export async function syncFixture(
  ctx: Ctx,
  erp: MemoryErp = memoryErp(),
  options: ConfigOptions = {},
): Promise<SyncFixture> {
  const { id: organizationId } = await makeOrganization(ctx, {
    name: `Company ${randomBytes(4).toString('hex')}`,
  });
  const configId = await addConfig(ctx, organizationId, options);
  const tenant: TenantCtx = { ...ctx, organizationId };
  const schema = tenantSchema(organizationId);
  const fixture: SyncFixture = {
    ctx,
    tenant,
    organizationId,
    schema,
    configId,
    erp,
    async queue(mode = 'full') {
      const made = await inTransaction(tenant, (tx) =>
        insertRun(tx, organizationId, {
          sync_config_id: configId,
          record_type: options.recordType ?? 'thing',
          mode,
          trigger: 'manual',
        }),
      );
      if (made === undefined) throw new Error('a run is queued already');
      return made.id;
    },
    async claim(leaseMs = ctx.settings.sync.leaseMs) {
      return until(async () => claimRun(ctx, 'test', leaseMs), 'a claim');
    },
    work: (lease, signal = noSignal, own = ctx) => workOnRun(own, lease, signal, async () => erp.connector),
    async loseWorker(runId, n, operations) {
      let left = n;
      const [reached, woken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      erp.onCall = async ({ operation }) => {
        if (operations?.includes(operation) === false || left-- > 0) return;
        reached.resolve();
        await woken.promise;
      };
      const lost = fixture.work(await fixture.claim());
      await reached.promise;
      await fixture.expire(runId);
      erp.onCall = () => undefined;
      return () => {
        woken.resolve();
        return lost;
      };
    },
    async drive(runId, wanted) {
      return until(async () => {
        const before = await fixture.row(runId);
        if (isFinal(before.status) || before.status === wanted) return before;
        const lease = await claimRun(ctx, 'test', ctx.settings.sync.leaseMs);
        if (lease !== undefined) await fixture.work(lease);
        const after = await fixture.row(runId);
        return isFinal(after.status) || after.status === wanted ? after : undefined;
      }, `the end of the run`);
    },
    sync: async (mode) => fixture.drive(await fixture.queue(mode)),
    async expectSuccess(mode, counts = {}, more = {}) {
      const run = await fixture.sync(mode);
      expect(run).toMatchObject({ status: 'succeeded', error: null, counts, ...more });
      return run;
    },
    async expectPartial(mode, code, counts = {}, more = {}) {
      const run = await fixture.sync(mode);
      expect({ ...run, code: run.error?.code }).toMatchObject({ status: 'partial', code, counts, ...more });
      return run;
    },
    async expectFailure(mode, code, more = {}) {
      const run = await fixture.sync(mode);
      expect({ ...run, code: run.error?.code }).toMatchObject({ status: 'failed', code, ...more });
      return run;
    },
    async expectEnd(runId, status, counts, more = {}) {
      const run = await fixture.drive(runId);
      expect(run).toMatchObject({ status, counts, ...more });
      return run;
    },
    async row(runId) {
      const found = await inTransaction(tenant, (tx) => findRun(tx, organizationId, runId));
      if (found === undefined) throw new Error('the run is gone');
      return found;
    },
    async rows() {
      const state = await fixture.state();
      if (state === undefined || state.activeTable === null) return [];
      return fixture.query(`select * from ${schema}."${state.activeTable}" order by id`);
    },
    ids: async () => (await fixture.rows()).map(({ id }) => String(id)),
    rejections: () => fixture.query(`select id, code, message from ${schema}.rejections order by id`),
    tables: async () => {
      const like = `${options.recordType ?? 'thing'}%`;
      const sql =
        'select tablename as t from pg_tables where schemaname = $1 and tablename like $2 order by 1';
      return (await fixture.query<{ t: string }>(sql, [schema, like])).map(({ t }) => t);
    },
    state: () => readRecordState(ctx.db.data, schema, options.recordType ?? 'thing'),
    events: (runId) =>
      inTransaction(tenant, (tx) =>
        tx('sync_run_events').where({ run_id: runId }).orderBy('id').pluck<string[]>('message'),
      ),
    query: async <T extends Record<string, unknown>>(sql: string, values: unknown[] = []) =>
      (await ctx.db.data.query<T>(sql, values)).rows,
    changeConfig: async (change) => {
      await inTransaction(tenant, (tx) => tx('sync_configs').where({ id: configId }).update(change));
    },
    pausedReason: async () =>
      (await inTransaction(tenant, (tx) => findSyncConfig(tx, organizationId, configId)))?.paused_reason,
    changeRun: async (id, change) => {
      await inTransaction(tenant, (tx) => tx('sync_runs').where({ id }).update(change));
    },
    expire: async () => {
      await inTransaction(tenant, (tx) => endLeases(tx, 'sync_runs'));
    },
    staged: async () => {
      const [row] = await fixture.query<{ n: string }>(
        `select (select count(*) from ${schema}."staging_${options.recordType ?? 'thing'}")
           + (select coalesce(sum(cardinality(ids)), 0) from ${schema}.staged_unchanged) as n`,
      );
      return Number(row?.n ?? 0);
    },
  };
  return fixture;
}
