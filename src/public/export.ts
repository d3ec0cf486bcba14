// A list as a whole, as lines of JSON or CSV: read by PostgreSQL from one snapshot, and passed on as fast as the caller takes it.
// An answer that ends cleanly is complete: whatever goes wrong after the first byte destroys the connection.
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { to as copyTo } from 'pg-copy-streams';
import type { Ctx } from '../core/ctx.ts';
import { sqlState } from '../db/pg-errors.ts';
import { openCsv } from './csv.ts';
import { answerHeld, identityOf, type ReadContext } from './exchange.ts';
import { copyStatement } from './export-sql.ts';
import { openStanding, type Standing } from './give-way.ts';
import { openJsonLines } from './json-lines.ts';
import { acceptsGzip, knownTags } from './negotiate.ts';
import { type ListPlan, planList } from './plan.ts';
import { asUnavailable, missing, notSynced, timedOut } from './read.ts';
import { queryTextOf, readQuery } from './request.ts';
import { gzipLevel, heldTag, sendNotModified, setFreshness, tagOf } from './response.ts';
import { openSnapshot, type Snapshot, totalOf } from './snapshot.ts';
import { openTurns, type Turns } from './turns.ts';

export const exportTypes = ['application/x-ndjson', 'text/csv'] as const;
type ExportType = (typeof exportTypes)[number];

const contentTypes: Readonly<Record<ExportType, string>> = {
  'application/x-ndjson': 'application/x-ndjson; charset=utf-8',
  'text/csv': 'text/csv; charset=utf-8; header=present',
};
const mostAttempts = 4;
/** Bytes read ahead of the caller, so that PostgreSQL writes while we send. */
const ahead = 1 << 20;

/** What the exports of one process share. */
export type Exports = { readonly turns: Turns; readonly standing: Standing };

export const openExports = ({ settings, db, log }: Ctx): Exports => ({
  turns: openTurns(settings.exports),
  standing: openStanding(db.data, log),
});

type Export = {
  readonly exports: Exports;
  readonly read: ReadContext;
  readonly type: ExportType;
  readonly plan: ListPlan;
  /** Aborted as soon as nobody listens any more. */
  readonly left: AbortSignal;
};

export async function serveExport(exports: Exports, read: ReadContext, type: ExportType): Promise<void> {
  const { req, res } = read.exchange;
  const plan = planList(read.endpoint, readQuery(queryTextOf(req.url ?? '')), { paged: false });
  if (await answerHeld(read, type, plan.normalized)) return;
  const left = new AbortController();
  res.once('close', () => left.abort());
  // Whoever left before this line is not told of again, and would wait for a turn that nobody wants.
  if (res.closed) left.abort();
  const endTurn = await exports.turns.take(left.signal);
  if (endTurn === undefined) return;
  try {
    await exportWhole({ exports, read, type, plan, left: left.signal });
  } catch (error) {
    // Whoever left meanwhile is told nothing.
    if (res.headersSent || !left.signal.aborted) throw asUnavailable(error);
  } finally {
    endTurn();
  }
}

/** Again when the table was swapped and dropped between two statements. */
async function exportWhole(wanted: Export): Promise<void> {
  const { read, left } = wanted;
  const { recordType } = read.endpoint;
  const { db, settings, log, organizationId } = read.tenant;
  let lastError: unknown;
  for (let attempt = 1; attempt <= mostAttempts; attempt += 1) {
    const snapshot = await openSnapshot(db.exports, read.reader, recordType, settings.exports.limitMs, left);
    try {
      return await sendSnapshot(wanted, snapshot);
    } catch (error) {
      if (read.exchange.res.headersSent || !missing.test(sqlState(error) ?? '')) throw error;
      lastError = error;
    } finally {
      snapshot.destroy();
    }
  }
  log.error({ err: lastError, organizationId, recordType }, 'a published version could not be exported');
  throw notSynced(lastError);
}

async function sendSnapshot(wanted: Export, snapshot: Snapshot): Promise<void> {
  const { read, type, plan } = wanted;
  const { req, res } = read.exchange;
  const identity = identityOf(read, type, plan.normalized, snapshot.freshness);
  const packed = acceptsGzip(req.headers);
  const tag = tagOf(identity, packed ? 'gzip' : 'identity');
  const held = knownTags(req.headers).includes('*') ? tag : heldTag(req, identity);
  if (held !== undefined) {
    setFreshness(res, snapshot.freshness);
    return sendNotModified(res, held);
  }
  const total = await totalOf(snapshot, read.reader, plan);
  const lines = req.method === 'HEAD' ? undefined : await startCopy(wanted, snapshot, total);
  setFreshness(res, snapshot.freshness);
  res.setHeader('ETag', tag);
  res.setHeader('X-Total-Count', total);
  res.setHeader('Content-Type', contentTypes[type]);
  if (packed) res.setHeader('Content-Encoding', 'gzip');
  res.statusCode = 200;
  if (lines === undefined) return void res.end();
  const stop = watch(wanted, snapshot, lines);
  try {
    await (packed ? pipeline(lines.read, createGzip({ level: gzipLevel }), res) : pipeline(lines.read, res));
  } catch (error) {
    // Of a caller who left, or was cut off, there is nothing to tell: the reason of a cut is in the log.
    const failure = lines.failure();
    if (sqlState(failure) === timedOut) return noteCut(wanted, lines, 'time limit');
    if (failure !== undefined || !wanted.left.aborted) throw failure ?? error;
  } finally {
    stop();
  }
}

type Lines = {
  /** Bytes that the caller's side took from PostgreSQL. */
  taken(): number;
  /** What went wrong while someone was still listening. */
  failure(): unknown;
  read(): AsyncGenerator<Buffer>;
};

/** Resolves when PostgreSQL has the first rows, so that whatever it refuses is still answered with an error. */
async function startCopy({ type, plan, left }: Export, { client, place, giveBack }: Snapshot, total: number): Promise<Lines> {
  const { text, columns, settings } = copyStatement(place, plan);
  await client.query(settings.text, [...settings.values]);
  const copy = client.query(copyTo(text, { highWaterMark: ahead }));
  // It breaks with its connection, also after the last one who reads it went away.
  let failure: unknown;
  const note = (error: unknown): void => {
    if (!left.aborted) failure ??= error;
  };
  copy.on('error', note);
  await once(copy, 'readable');
  let taken = 0;
  return {
    taken: () => taken,
    failure: () => failure,
    async *read() {
      const { head, write } = type === 'text/csv' ? openCsv(columns) : openJsonLines(columns);
      if (head.length > 0) yield head;
      for await (const piece of copy as AsyncIterable<Buffer>)
        for (const written of write(piece)) {
          taken += written.length;
          yield written;
        }
      // Only what PostgreSQL itself calls complete may end as if it were.
      try {
        await client.query('commit');
        if (copy.rowCount !== total) throw new Error(`an export of ${total} records gave ${copy.rowCount}`);
      } catch (error) {
        note(error);
        throw error;
      }
      giveBack();
    },
  };
}

function noteCut({ read }: Export, lines: Lines, reason: string): void {
  const { log, organizationId } = read.tenant;
  log.info({ organizationId, resource: read.endpoint.name, reason, bytes: lines.taken() }, 'an export was cut off');
}

/** Cuts the answer off when it lasts too long, when its caller takes too little of it, and when someone waits for its table. */
function watch(wanted: Export, { backend }: Snapshot, lines: Lines): () => void {
  const { exports, read } = wanted;
  const { res } = read.exchange;
  const { limitMs, slowMs, slowestBytesPerSecond } = read.tenant.settings.exports;
  const cut = (reason: string): void => {
    if (res.destroyed) return;
    noteCut(wanted, lines, reason);
    res.destroy();
  };
  let before = 0;
  const pace = setInterval(() => {
    const took = lines.taken() - before;
    before += took;
    if (took < (slowestBytesPerSecond * slowMs) / 1000 && isWaiting(res)) cut('slow caller');
  }, slowMs);
  const end = setTimeout(() => cut('time limit'), limitMs);
  const unwatch = exports.standing.watch(backend, () => cut('its table is wanted'));
  return () => {
    clearInterval(pace);
    clearTimeout(end);
    unwatch();
  };
}

/** Something is ready for the caller and not taken; otherwise it is the database that is slow. */
const isWaiting = (res: ServerResponse): boolean => res.writableLength > 0;
