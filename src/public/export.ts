// A list as a whole, as lines of JSON or CSV: read by PostgreSQL from one snapshot, and passed on as fast as the caller takes it.
// An answer that ends cleanly is complete: whatever goes wrong after the first byte destroys the connection.
import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Ctx } from '../core/ctx.ts';
import { sqlState } from '../db/pg-errors.ts';
import { type Lines, startCopy, watch } from './copy-lines.ts';
import type { CellColumn, RowWriter } from './copy-rows.ts';
import { openCsv } from './csv.ts';
import { answerHeld, identityOf, type ReadContext } from './exchange.ts';
import { openStanding, type Standing } from './give-way.ts';
import { openJsonLines } from './json-lines.ts';
import { acceptsGzip, knownTags } from './negotiate.ts';
import { type ListPlan, planList } from './plan.ts';
import { asUnavailable, timedOut } from './read.ts';
import { queryTextOf, readQuery } from './request.ts';
import { addFreshness, gzipLevel, heldTag, sendNotModified, tagOf } from './response.ts';
import { openSnapshot, type Snapshot, totalOf, whileTablesSwap } from './snapshot.ts';
import { openTurns, type Turns } from './turns.ts';

export const exportTypes = ['application/x-ndjson', 'text/csv'] as const;
type ExportType = (typeof exportTypes)[number];

const contentTypes: Readonly<Record<ExportType, string>> = {
  'application/x-ndjson': 'application/x-ndjson; charset=utf-8',
  'text/csv': 'text/csv; charset=utf-8; header=present',
};
const forms: Readonly<Record<ExportType, (columns: readonly CellColumn[]) => RowWriter>> = {
  'application/x-ndjson': openJsonLines,
  'text/csv': openCsv,
};

/** What the exports of one process share. */
export type Exports = {
  readonly turns: Turns;
  readonly standing: Standing;
  /** Waits for those who read a page or a record, and for its turn among exports, so that they hardly notice. */
  readonly giveWay: () => Promise<void>;
};

/** Beside pages that never end an export still gets on, by so many pieces of 64 KiB a second. */
const leastPiecesPerSecond = 40;

/** One piece in each turn of the event loop, whichever export's: what came meanwhile is looked at before the next. */
function openOrder(): () => Promise<void> {
  const waiting: (() => void)[] = [];
  const next = (): void => {
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(next);
  };
  return () =>
    new Promise((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(next);
    });
}

function openGiveWay(reads: Turns): () => Promise<void> {
  const order = openOrder();
  return async () => {
    await order();
    await reads.lull(1000 / leastPiecesPerSecond);
  };
}

export const openExports = ({ settings, db, log }: Ctx, reads: Turns): Exports => ({
  giveWay: openGiveWay(reads),
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
  const endTurn = await exports.turns.take(read.tenant.organizationId, left.signal);
  if (endTurn === undefined) return;
  try {
    await whileTablesSwap(
      read.reader,
      read.endpoint.recordType,
      () => exportWhole({ exports, read, type, plan, left: left.signal }),
      () => !res.headersSent,
    );
  } catch (error) {
    // Whoever left meanwhile is told nothing.
    if (res.headersSent || !left.signal.aborted) throw asUnavailable(error);
  } finally {
    endTurn();
  }
}

async function exportWhole(wanted: Export): Promise<void> {
  const { read, left } = wanted;
  const { db, settings } = read.tenant;
  const snapshot = await openSnapshot(db.exports, read.reader, read.endpoint.recordType, settings.exports.limitMs, left);
  try {
    await sendSnapshot(wanted, snapshot);
  } finally {
    snapshot.destroy();
  }
}

async function sendSnapshot(wanted: Export, snapshot: Snapshot): Promise<void> {
  const { read, type, plan } = wanted;
  const { req, res, headers } = read.exchange;
  const identity = identityOf(read, type, plan.normalized, snapshot.freshness);
  const packed = acceptsGzip(req.headers);
  const tag = tagOf(identity, packed ? 'gzip' : 'identity');
  const held = knownTags(req.headers).includes('*') ? tag : heldTag(req, identity);
  if (held !== undefined) {
    addFreshness(read.exchange, snapshot.freshness);
    return sendNotModified(read.exchange, held);
  }
  const total = await totalOf(snapshot, read.reader, plan);
  const lines =
    req.method === 'HEAD'
      ? undefined
      : await startCopy(snapshot, { plan, total, left: wanted.left, form: forms[type], giveWay: wanted.exports.giveWay });
  addFreshness(read.exchange, snapshot.freshness);
  headers.push('ETag', tag, 'X-Total-Count', String(total), 'Content-Type', contentTypes[type]);
  if (packed) headers.push('Content-Encoding', 'gzip');
  res.writeHead(200, headers);
  if (lines === undefined) return void res.end();
  const stop = watchOver(wanted, snapshot, lines);
  try {
    await (packed ? sendPacked(lines, res) : sendPlain(lines, res, wanted.left));
  } catch {
    // Of a caller who left, or was cut off, there is nothing to tell: the reason of a cut is in the log.
    const failure = lines.failure();
    if (sqlState(failure) === timedOut) noteCut(wanted, lines, 'time limit');
    else if (failure !== undefined) throw failure;
    res.destroy();
  } finally {
    stop();
  }
}

/** Settles with the write, or when the caller leaves: of a broken connection not every write is told. */
const written = (left: AbortSignal, begin: (settle: (error?: Error | null) => void) => void): Promise<void> =>
  new Promise((resolve, reject) => {
    const leave = (): void => reject(left.reason);
    left.addEventListener('abort', leave);
    begin((error) => {
      left.removeEventListener('abort', leave);
      if (error) reject(error);
      else resolve();
    });
  });

/** Each piece is with the system before the next is made. */
async function sendPlain({ read }: Lines, res: ServerResponse, left: AbortSignal): Promise<void> {
  for await (const piece of read()) await written(left, (settle) => res.write(piece, settle));
  await written(left, (settle) => res.end(settle));
}

/** Packing goes on beside the reading, so it has each piece for itself. */
function sendPacked({ read }: Lines, res: ServerResponse): Promise<void> {
  // A pipeline listens to its end in many places, beside those who listen to every answer's.
  res.setMaxListeners(20);
  const pieces = async function* () {
    for await (const piece of read()) yield Buffer.from(piece);
  };
  return pipeline(pieces, createGzip({ level: gzipLevel }), res);
}

function noteCut({ read }: Export, lines: Lines, reason: string): void {
  const { log, organizationId } = read.tenant;
  log.info({ organizationId, resource: read.endpoint.name, reason, bytes: lines.taken() }, 'an export was cut off');
}

function watchOver(wanted: Export, snapshot: Snapshot, lines: Lines): () => void {
  const { exports, read } = wanted;
  const { res } = read.exchange;
  return watch({
    lines,
    snapshot,
    standing: exports.standing,
    limits: read.tenant.settings.exports,
    isWaiting: () => isWaiting(res),
    cut: (reason) => {
      if (res.destroyed) return;
      noteCut(wanted, lines, reason);
      res.destroy();
    },
  });
}

/** Something is ready for the caller and not taken; otherwise it is the database that is slow. */
const isWaiting = (res: ServerResponse): boolean => res.writableLength > 0;
