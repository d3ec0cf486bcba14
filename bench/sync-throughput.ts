// The engine against COPY of the same rows into the same indexed table, on one server, in turns. The engine is counted from the
// moment its first page is handed over until its worker is done with the run: encoding, staging, checkpoints, progress, proof,
// indexes, ANALYZE, publish, outcome, tidying up. COPY is counted from its first byte, out of a file that has the rows ready.
import { createReadStream, createWriteStream } from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Pool, PoolClient } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { Page, SourceRecord } from '../src/connectors/connector.ts';
import type { Ctx } from '../src/core/ctx.ts';
import { planColumns, type RecordColumn } from '../src/warehouse/columns.ts';
import { emptyCell, encodeRecord, rowColumns } from '../src/warehouse/encode.ts';
import { buildIndexes } from '../src/warehouse/indexes.ts';
import { createRecordTable } from '../src/warehouse/table.ts';
import { type Company, openCompany, threeIndexes } from './sync-company.ts';
import { type Cpu, cpuOf } from './sync-cpu.ts';
import { connectorOf, makeRecord, openPool, type Rows, recordType } from './sync-rows.ts';

export type Bench = {
  readonly ctx: Ctx;
  /** As the cluster's superuser, for what no service may ask. */
  readonly admin: Pool;
  readonly folder: string;
  readonly records: number;
};

function makeAll(from: number, count: number): SourceRecord[] {
  const pooled = openPool();
  return Array.from({ length: count }, (_, index) => pooled(makeRecord(from + index, 0)));
}

function held(record: SourceRecord | undefined): SourceRecord {
  if (record === undefined) throw new Error('there is no such record');
  return record;
}

const copyTable = `bench.${recordType.name}`;
const names = (columns: readonly RecordColumn[]): string =>
  ['id', 'generation', 'content_hash', ...rowColumns(columns).map((column) => `"${column}"`)].join(', ');

async function writeCopyFile(file: string, columns: readonly RecordColumn[], records: Iterable<SourceRecord>): Promise<void> {
  function* lines() {
    for (const record of records) {
      const encoded = encodeRecord(record, columns);
      if (typeof encoded === 'string') throw new Error(encoded);
      yield `${encoded.id}\t1\t\\\\x${encoded.hash}\t${encoded.row}\n`;
    }
  }
  await pipeline(lines, createWriteStream(file));
}

async function copyFile(pool: Pool, table: string, columns: readonly RecordColumn[], file: string): Promise<void> {
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

/** Durations of the data pool's transactions while `during()` says so. */
function watchTransactions(ctx: Ctx, during: () => boolean): { ctx: Ctx; durationsMs: number[] } {
  const durationsMs: number[] = [];
  const pool = ctx.db.data;
  const connect = async (): Promise<PoolClient> => {
    const client = await pool.connect();
    const startMs = performance.now();
    const counts = during();
    const release = client.release.bind(client);
    client.release = (error) => {
      if (counts && during()) durationsMs.push(performance.now() - startMs);
      client.release = release;
      release(error);
    };
    return client;
  };
  const watched: Pool = Object.create(pool, { connect: { value: connect }, query: { value: pool.query.bind(pool) } });
  return { ctx: { ...ctx, db: { ...ctx.db, data: watched } }, durationsMs };
}

type Timing = { readonly seconds: number; readonly commitsMs: readonly number[] };

async function runEngine({ ctx }: Bench, company: Company, mode: 'full' | 'incremental', rows: Rows, changes: number): Promise<Timing> {
  let startMs = 0;
  let reading = false;
  const onPage = (page: Page): void => {
    if (startMs === 0) startMs = performance.now();
    reading = page.hasMore;
  };
  const watched = watchTransactions(ctx, () => reading);
  const row = await company.run(
    mode,
    connectorOf(() => rows, { onPage }),
    watched.ctx,
  );
  const seconds = (performance.now() - startMs) / 1000;
  const { inserted = 0, updated = 0 } = row.counts ?? {};
  if (inserted + updated !== changes || row.mode !== mode) throw new Error(`${mode} became ${row.mode} with ${JSON.stringify(row.counts)}`);
  return { seconds, commitsMs: watched.durationsMs };
}

async function walOf(admin: Pool, work: () => Promise<unknown>): Promise<number> {
  const position = async () => (await admin.query<{ lsn: string }>('select pg_current_wal_insert_lsn()::text as lsn')).rows[0]?.lsn;
  const before = await position();
  await work();
  const { rows } = await admin.query<{ bytes: string }>('select pg_wal_lsn_diff($1, $2) as bytes', [await position(), before]);
  return Number(rows[0]?.bytes);
}

/** What most merges do: the rows into an unlogged table, then one statement that writes those that differ. */
async function mergeByConflict({ admin }: Bench, columns: readonly RecordColumn[], file: string): Promise<void> {
  await admin.query(`drop table if exists bench.incoming; create unlogged table bench.incoming (like ${copyTable} including defaults)`);
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
  readonly seconds: Readonly<Record<'copyFirst' | 'first' | 'again' | 'merge' | 'copyNew' | 'added', number>>;
  readonly walBytes: Readonly<Record<'again' | 'merge', number>>;
  readonly commitsMs: readonly number[];
  readonly cpu: Readonly<Record<'copyFirst' | 'first' | 'again' | 'copyNew' | 'added', Cpu>>;
};

async function prepareCopyTable({ ctx, admin }: Bench): Promise<RecordColumn[]> {
  const columns = [
    ...planColumns(
      [],
      recordType.fields.filter(({ name }) => name !== 'id'),
    ).added,
  ];
  await admin.query('drop schema if exists bench cascade; create schema bench; grant all on schema bench to portal_service');
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
const noCpu: Cpu = { here: Number.NaN, postgres: Number.NaN };

type Sides = { readonly seconds: number; readonly cpu: Cpu };
type Step = Bench & { readonly company: Company; readonly columns: readonly RecordColumn[]; readonly file: string };

/** The same rows by COPY and by the engine, each after a checkpoint. */
async function inTurns(step: Step, rows: Rows, mode: 'full' | 'incremental', copyFirst: boolean) {
  const { admin, columns, file, company, records } = step;
  const sides: { copy: Sides; engine: Sides } = { copy: { seconds: 0, cpu: noCpu }, engine: { seconds: 0, cpu: noCpu } };
  let commitsMs: readonly number[] = [];
  const copy = async () => {
    let seconds = 0;
    const cpu = await cpuOf(admin, async () => {
      seconds = await timed(() => copyFile(admin, copyTable, columns, file));
    });
    sides.copy = { seconds, cpu };
  };
  const engine = async () => {
    let seconds = 0;
    const cpu = await cpuOf(admin, async () => {
      ({ seconds, commitsMs } = await runEngine(step, company, mode, rows, records));
    });
    sides.engine = { seconds, cpu };
  };
  for (const side of copyFirst ? [copy, engine] : [engine, copy]) {
    await admin.query('checkpoint');
    await side();
  }
  return { ...sides, commitsMs };
}

/** A full run over records of which one in a hundred changed, and an ON CONFLICT merge of the same rows. */
async function resync(step: Step, rows: Rows) {
  const { admin, columns, file, company, records } = step;
  // Settled tables, so that no vacuum falls into one side's time and WAL.
  await admin.query(`vacuum analyze ${await company.table()}`);
  await admin.query(`vacuum analyze ${copyTable}`);
  await admin.query('checkpoint');
  let seconds = 0;
  let cpu = noCpu;
  const againBytes = await walOf(admin, async () => {
    cpu = await cpuOf(admin, async () => {
      ({ seconds } = await runEngine(step, company, 'full', rows, Math.floor(records / changesEvery)));
    });
  });
  await admin.query('checkpoint');
  let merge = 0;
  const mergeBytes = await walOf(admin, async () => {
    merge = await timed(() => mergeByConflict(step, columns, file));
  });
  return { seconds, cpu, merge, walBytes: { again: againBytes, merge: mergeBytes } };
}

/** One round; the two sides take turns at going first. */
export async function runRound(bench: Bench, round: number): Promise<Round> {
  const { ctx, admin, folder, records } = bench;
  const company = await openCompany(ctx);
  const columns = await prepareCopyTable(bench);
  const step: Step = { ...bench, company, columns, file: path.join(folder, 'rows.copy') };
  const copyFirst = round % 2 === 0;

  let ready = makeAll(1, records);
  const rowsOf = (count: number, changedRecently: Rows['changedRecently'], before = 0): Rows => ({
    count,
    record: (n) => held(ready[n - 1 - before]),
    changedRecently,
  });
  await writeCopyFile(step.file, columns, ready);
  const first = await inTurns(
    step,
    rowsOf(records, () => false),
    'full',
    copyFirst,
  );

  for (let n = changesEvery; n <= records; n += changesEvery) ready[n - 1] = makeRecord(n, 1);
  await writeCopyFile(step.file, columns, ready);
  const again = await resync(
    step,
    rowsOf(records, (n) => n % changesEvery === 0),
  );

  ready = makeAll(records + 1, records);
  await writeCopyFile(step.file, columns, ready);
  const more = rowsOf(2 * records, (n) => n > records, records);
  const added = await inTurns(step, more, 'incremental', copyFirst);

  await admin.query(`drop schema ${company.schema} cascade`);
  const { copy, engine } = first;
  return {
    seconds: {
      copyFirst: copy.seconds,
      first: engine.seconds,
      again: again.seconds,
      merge: again.merge,
      copyNew: added.copy.seconds,
      added: added.engine.seconds,
    },
    walBytes: again.walBytes,
    commitsMs: [...first.commitsMs, ...added.commitsMs],
    cpu: { copyFirst: copy.cpu, first: engine.cpu, again: again.cpu, copyNew: added.copy.cpu, added: added.engine.cpu },
  };
}
