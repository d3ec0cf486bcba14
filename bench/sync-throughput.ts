// The engine compared with COPY of the same rows into the same indexed table, on one server, in alternating
// order. The engine's time runs from the moment the connector returns the first page until the worker has
// finished the run: encoding, staging, checkpoints, progress, proof, indexes, ANALYZE, publish, outcome,
// cleanup. COPY's time runs from its first byte, out of a file with encoded rows.
import { createReadStream, createWriteStream } from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Pool } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { RecordPage } from '../src/connectors/connector.ts';
import type { LineTotals, SourceRecord } from '../src/connectors/source-records.ts';
import type { Ctx } from '../src/core/ctx.ts';
import { planColumns, type RecordColumn } from '../src/warehouse/columns.ts';
import { emptyCell, encodeRecord, rowColumns } from '../src/warehouse/encode.ts';
import { buildIndexes } from '../src/warehouse/indexes.ts';
import { createRecordTable } from '../src/warehouse/table.ts';
import { type Cpu, measureCpu } from './sync-cpu.ts';
import { createSyncOrganization, type SyncOrganization, threeIndexes } from './sync-organization.ts';
import {
  createBenchConnector,
  createLineTotals,
  createRecord,
  createRecordInterner,
  type RecordSource,
  recordType,
} from './sync-records.ts';
import { watchConnections } from './watch-connections.ts';

export type Bench = {
  readonly ctx: Ctx;
  /** Connects as the cluster's superuser, for queries that the service's role may not run. */
  readonly admin: Pool;
  readonly folder: string;
  readonly records: number;
};

function createRecords(from: number, count: number): SourceRecord[] {
  const pooled = createRecordInterner();
  return Array.from({ length: count }, (_, index) => pooled(createRecord(from + index, 0)));
}

/** Like the records, made before the time is measured: an ERP's answer costs the engine nothing. */
const createTotals = (from: number, count: number): LineTotals[] =>
  Array.from({ length: count }, (_, index) => createLineTotals(from + index));

function getRecord(record: SourceRecord | undefined): SourceRecord {
  if (record === undefined) throw new Error('The record does not exist');
  return record;
}

const copyTable = `bench.${recordType.name}`;
const names = (columns: readonly RecordColumn[]): string =>
  ['id', 'generation', 'content_hash', ...rowColumns(columns).map((column) => `"${column}"`)].join(', ');

async function writeCopyFile({ ctx, file, columns }: Step, records: Iterable<SourceRecord>): Promise<void> {
  function* lines() {
    for (const record of records) {
      const encoded = encodeRecord(record, columns, ctx.settings.sync);
      if (encoded instanceof Promise || !('row' in encoded)) throw new Error(JSON.stringify(encoded));
      yield `${encoded.id}\t1\t\\\\x${encoded.hash}\t${encoded.row}\n`;
    }
  }
  await pipeline(lines, createWriteStream(file));
}

async function copyFile(
  pool: Pool,
  table: string,
  columns: readonly RecordColumn[],
  file: string,
): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("begin; set local statement_timeout = '15min'");
    await pipeline(
      createReadStream(file, { highWaterMark: 1 << 16 }),
      client.query(copyFrom(`copy ${table} (${names(columns)}) from stdin (null ${emptyCell})`)),
    );
    await client.query('commit');
  } finally {
    client.release();
  }
}

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const startMs = performance.now();
  await work();
  return (performance.now() - startMs) / 1000;
};

/** Records how long connections of the data pool are held while `during()` is true. */
function watchTransactions(ctx: Ctx, during: () => boolean): { ctx: Ctx; durationsMs: number[] } {
  const durationsMs: number[] = [];
  const watched = watchConnections(ctx, () => {
    const counts = during();
    return (heldMs) => {
      if (counts && during()) durationsMs.push(heldMs);
    };
  });
  return { ctx: watched, durationsMs };
}

type Timing = { readonly seconds: number; readonly commitsMs: readonly number[] };

async function runEngine(
  { ctx }: Bench,
  organization: SyncOrganization,
  mode: 'full' | 'incremental',
  source: RecordSource,
  changes: number,
): Promise<Timing> {
  let startMs = 0;
  let reading = false;
  const onPage = (page: RecordPage): void => {
    if (startMs === 0) startMs = performance.now();
    reading = page.hasMore;
  };
  const watched = watchTransactions(ctx, () => reading);
  const row = await organization.runToEnd(
    mode,
    createBenchConnector(() => source, { onPage }),
    watched.ctx,
  );
  const seconds = (performance.now() - startMs) / 1000;
  const { inserted = 0, updated = 0 } = row.counts ?? {};
  if (inserted + updated !== changes || row.mode !== mode)
    throw new Error(
      `Expected a ${mode} run with ${changes} changes, got ${row.mode} with ${JSON.stringify(row.counts)}`,
    );
  return { seconds, commitsMs: watched.durationsMs };
}

async function measureWal(admin: Pool, work: () => Promise<unknown>): Promise<number> {
  const position = async () =>
    (await admin.query<{ lsn: string }>('select pg_current_wal_insert_lsn()::text as lsn')).rows[0]?.lsn;
  const before = await position();
  await work();
  const { rows } = await admin.query<{ bytes: string }>('select pg_wal_lsn_diff($1, $2) as bytes', [
    await position(),
    before,
  ]);
  return Number(rows[0]?.bytes);
}

/**
 * The usual merge: COPY into an unlogged table, then one INSERT … ON CONFLICT that writes the rows that
 * differ.
 */
async function mergeByConflict(
  { admin }: Bench,
  columns: readonly RecordColumn[],
  file: string,
): Promise<void> {
  await admin.query(
    `drop table if exists bench.incoming; create unlogged table bench.incoming (like ${copyTable} including defaults)`,
  );
  await copyFile(admin, 'bench.incoming', columns, file);
  const list = names(columns);
  const sets = list.split(', ').slice(1);
  await admin.query(
    `insert into ${copyTable} as held (${list}) select ${list} from bench.incoming
     on conflict (id) do update set ${sets.map((name) => `${name} = excluded.${name}`).join(', ')}
     where held.content_hash is distinct from excluded.content_hash`,
  );
}

export type Round = {
  readonly seconds: Readonly<
    Record<'copyFirstLoad' | 'firstLoad' | 'resync' | 'merge' | 'copyNewRows' | 'newRows', number>
  >;
  readonly walBytes: Readonly<Record<'resync' | 'merge', number>>;
  readonly commitsMs: readonly number[];
  readonly cpu: Readonly<Record<'copyFirstLoad' | 'firstLoad' | 'resync' | 'copyNewRows' | 'newRows', Cpu>>;
};

async function prepareCopyTable({ ctx, admin }: Bench): Promise<RecordColumn[]> {
  const columns = [
    ...planColumns(
      [],
      recordType.fields.filter(({ name }) => name !== 'id'),
    ).added,
  ];
  await admin.query(
    'drop schema if exists bench cascade; create schema bench; grant all on schema bench to portal_service',
  );
  const client = await ctx.db.data.connect();
  try {
    await createRecordTable(client, 'bench', recordType.name, 'integer', columns);
  } finally {
    client.release();
  }
  await buildIndexes(ctx.db.control, 'bench', recordType.name, threeIndexes, false);
  return columns;
}

const changesEvery = 100;
const noCpu: Cpu = { node: Number.NaN, postgres: Number.NaN };

type Sides = { readonly seconds: number; readonly cpu: Cpu };
type Step = Bench & {
  readonly organization: SyncOrganization;
  readonly columns: readonly RecordColumn[];
  readonly file: string;
};

/** Loads the same rows by COPY and by the engine, each after a checkpoint. */
async function compareWithCopy(
  step: Step,
  rows: RecordSource,
  mode: 'full' | 'incremental',
  copyGoesFirst: boolean,
) {
  const { admin, columns, file, organization, records } = step;
  const sides: { copy: Sides; engine: Sides } = {
    copy: { seconds: 0, cpu: noCpu },
    engine: { seconds: 0, cpu: noCpu },
  };
  let commitsMs: readonly number[] = [];
  const copy = async () => {
    let seconds = 0;
    const cpu = await measureCpu(admin, async () => {
      seconds = await timed(() => copyFile(admin, copyTable, columns, file));
    });
    sides.copy = { seconds, cpu };
  };
  const engine = async () => {
    let seconds = 0;
    const cpu = await measureCpu(admin, async () => {
      ({ seconds, commitsMs } = await runEngine(step, organization, mode, rows, records));
    });
    sides.engine = { seconds, cpu };
  };
  for (const side of copyGoesFirst ? [copy, engine] : [engine, copy]) {
    await admin.query('checkpoint');
    await side();
  }
  return { ...sides, commitsMs };
}

/** A full run over records of which 1 % changed, and an ON CONFLICT merge of the same rows. */
async function resync(step: Step, rows: RecordSource) {
  const { admin, columns, file, organization, records } = step;
  // Vacuum first, so that autovacuum doesn't add to one side's time and WAL.
  await admin.query(`vacuum analyze ${await organization.activeTable()}`);
  await admin.query(`vacuum analyze ${copyTable}`);
  await admin.query('checkpoint');
  let seconds = 0;
  let cpu = noCpu;
  const resyncBytes = await measureWal(admin, async () => {
    cpu = await measureCpu(admin, async () => {
      ({ seconds } = await runEngine(step, organization, 'full', rows, Math.floor(records / changesEvery)));
    });
  });
  await admin.query('checkpoint');
  let merge = 0;
  const mergeBytes = await measureWal(admin, async () => {
    merge = await timed(() => mergeByConflict(step, columns, file));
  });
  return { seconds, cpu, merge, walBytes: { resync: resyncBytes, merge: mergeBytes } };
}

/** One round. The side that goes first alternates from round to round. */
export async function runRound(bench: Bench, round: number): Promise<Round> {
  const { ctx, admin, folder, records } = bench;
  const organization = await createSyncOrganization(ctx);
  const columns = await prepareCopyTable(bench);
  const step: Step = { ...bench, organization, columns, file: path.join(folder, 'rows.copy') };
  const copyGoesFirst = round % 2 === 0;

  let ready = createRecords(1, records);
  let totals = createTotals(1, records);
  const createRows = (
    count: number,
    changedRecently: RecordSource['changedRecently'],
    before = 0,
  ): RecordSource => ({
    count,
    record: (n) => getRecord(ready[n - 1 - before]),
    changedRecently,
    modifiedAt: (n) => getRecord(ready[n - 1 - before]).modifiedAt,
    lineTotals: (n) => totals[n - 1 - before] ?? createLineTotals(n),
  });
  await writeCopyFile(step, ready);
  const firstLoad = await compareWithCopy(
    step,
    createRows(records, () => false),
    'full',
    copyGoesFirst,
  );

  for (let n = changesEvery; n <= records; n += changesEvery) ready[n - 1] = createRecord(n, 1);
  await writeCopyFile(step, ready);
  const resynced = await resync(
    step,
    createRows(records, (n) => n % changesEvery === 0),
  );

  ready = createRecords(records + 1, records);
  totals = createTotals(records + 1, records);
  await writeCopyFile(step, ready);
  const more = createRows(2 * records, (n) => n > records, records);
  const newRows = await compareWithCopy(step, more, 'incremental', copyGoesFirst);

  await admin.query(`drop schema ${organization.schema} cascade`);
  return toRound(firstLoad, resynced, newRows);
}

type Compared = Awaited<ReturnType<typeof compareWithCopy>>;

function toRound(
  firstLoad: Compared,
  resynced: Awaited<ReturnType<typeof resync>>,
  newRows: Compared,
): Round {
  const { copy, engine } = firstLoad;
  return {
    seconds: {
      copyFirstLoad: copy.seconds,
      firstLoad: engine.seconds,
      resync: resynced.seconds,
      merge: resynced.merge,
      copyNewRows: newRows.copy.seconds,
      newRows: newRows.engine.seconds,
    },
    walBytes: resynced.walBytes,
    commitsMs: [...firstLoad.commitsMs, ...newRows.commitsMs],
    cpu: {
      copyFirstLoad: copy.cpu,
      firstLoad: engine.cpu,
      resync: resynced.cpu,
      copyNewRows: newRows.copy.cpu,
      newRows: newRows.engine.cpu,
    },
  };
}
