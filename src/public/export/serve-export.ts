// Serves a whole list as lines of JSON or CSV: PostgreSQL reads it from one snapshot and the service streams
// it at the pace of the client. A response that ends cleanly is complete: any failure after the first byte
// destroys the connection.

import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { toQueryText } from '../../core/text/query-text.ts';
import { sqlState } from '../../db/pg-errors.ts';
import {
  type ReadContext,
  type Representation,
  sendNotModifiedIfFresh,
  toIdentity,
} from '../http/exchange.ts';
import { acceptsGzip, knownTags, workbookType } from '../http/negotiate.ts';
import {
  addFreshness,
  assertMatch,
  computeEtag,
  gzipLevel,
  matchingTag,
  sendNotModified,
} from '../http/response.ts';
import { asUnavailable, queryCanceled } from '../read/connection/failures.ts';
import { repeatWhileReplaced } from '../read/connection/repeat-while-replaced.ts';
import { type ListPlan, planList } from '../read/plan/plan.ts';
import { parseQuery } from '../read/plan/request.ts';
import { assertScopeFresh } from '../read/result/stale-fields.ts';
import { type CopiedRows, type CopyOptions, startCopy, watchCopy } from './copy-lines.ts';
import { startWorkbook } from './copy-workbook.ts';
import { createCsvWriter } from './csv.ts';
import { copyStatement } from './export-sql.ts';
import type { ExportState } from './export-state.ts';
import { createJsonLinesWriter } from './json-lines.ts';
import { loadTotal, mayOpenAgain, openSnapshot, type Snapshot, type SnapshotSource } from './snapshot.ts';

export const exportTypes = ['application/x-ndjson', 'text/csv'] as const;
export type ExportType = (typeof exportTypes)[number] | typeof workbookType;

const contentTypes: Readonly<Record<ExportType, string>> = {
  'application/x-ndjson': 'application/x-ndjson; charset=utf-8',
  'text/csv': 'text/csv; charset=utf-8; header=present',
  [workbookType]: workbookType,
};

type CopyLimits = Pick<CopyOptions, 'signal' | 'yieldToReads'>;

/** What is streamed. */
export type ExportContent = {
  readonly representation: Representation;
  readonly type: ExportType;
  /** Equal for all requests with the same response from this endpoint. */
  readonly normalized: string;
  /** As `startCopy`; `total` comes from `countRows`. */
  readonly start: (snapshot: Snapshot, total: number | null, options: CopyLimits) => Promise<CopiedRows>;
  /** The name under which a browser saves the response; undefined where it shows it. */
  readonly fileName?: string | undefined;
  /** Number of rows; null when counting them would cost as much as sending them. */
  readonly countRows: (snapshot: Snapshot) => Promise<number | null>;
};

type ExportJob = {
  readonly exports: ExportState;
  readonly read: ReadContext;
  readonly content: ExportContent;
  /** Aborted as soon as the client disconnects. */
  readonly signal: AbortSignal;
};

/** What is copied, and how it is written. */
export const copyRows =
  (write: CopyOptions['write'], createWriter: CopyOptions['createWriter']): ExportContent['start'] =>
  (snapshot, total, options) =>
    startCopy(snapshot, { ...options, write, total, createWriter });

function startOf(type: ExportType, plan: ListPlan, withMark: boolean): ExportContent['start'] {
  if (type === workbookType)
    return (snapshot, total, options) => startWorkbook(snapshot, plan, total ?? 0, options);
  return type === 'text/csv'
    ? copyRows(
        (table) => copyStatement(table, plan, 'csv'),
        (columns) => createCsvWriter(columns, { withMark }),
      )
    : copyRows((table) => copyStatement(table, plan), createJsonLinesWriter);
}

const fileEndings: Partial<Readonly<Record<ExportType, string>>> = {
  'text/csv': 'csv',
  [workbookType]: 'xlsx',
};

/** A form of the list, and whether the parameter `format` asked for it. */
export type ExportForm = { readonly type: ExportType; readonly withMark: boolean; readonly named: boolean };

/** Streams a whole list. Rejects as `streamRows` does, and with 400 for bad parameters. */
export function serveExport(exports: ExportState, read: ReadContext, { type, withMark, named }: ExportForm) {
  const { req } = read.exchange;
  const plan = planList(read.endpoint, parseQuery(toQueryText(req.url ?? '')), { paged: false });
  const ending = fileEndings[type];
  return streamRows(exports, read, {
    representation: type,
    type,
    normalized: `${plan.normalized}${withMark ? ' bom' : ''}`,
    start: startOf(type, plan, withMark),
    countRows: (snapshot) => loadTotal(snapshot, read.reader, plan),
    fileName: named && ending !== undefined ? `${read.endpoint.name}.${ending}` : undefined,
  });
}

/**
 * Streams the rows, or sends 304. Rejects with 503 when too many exports run or wait, nothing is synced, or
 * the database is unavailable; only before the first byte.
 */
export async function streamRows(exports: ExportState, read: ReadContext, content: ExportContent) {
  const { res } = read.exchange;
  if (await sendNotModifiedIfFresh(read, content.representation, content.normalized)) return;
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  // A client that disconnected before this line emits no further event, and would wait for a permit in vain.
  if (res.closed) gone.abort();
  const releasePermit = await exports.queue.acquireUnlessAborted(read.tenant.organizationId, gone.signal);
  if (releasePermit === undefined) return;
  const source: SnapshotSource = { reader: read.reader, isReplica: false };
  try {
    await repeatWhileReplaced(
      read.reader,
      read.endpoint.recordType,
      async () => {
        await exportWhole({ exports, read, content, signal: gone.signal }, source);
        return true;
      },
      (error) => !res.headersSent && mayOpenAgain(source, error),
    );
  } catch (error) {
    // A client that disconnected gets no error.
    if (res.headersSent || !gone.signal.aborted) throw asUnavailable(error);
  } finally {
    releasePermit();
  }
}

async function exportWhole(job: ExportJob, source: SnapshotSource): Promise<void> {
  const { read, signal } = job;
  const { settings } = read.tenant;
  const snapshot = await openSnapshot(
    source,
    read.endpoint.recordType,
    settings.exports.maxDurationMs,
    signal,
  );
  try {
    await sendSnapshot(job, snapshot);
  } finally {
    snapshot.destroy();
  }
}

/** The headers of the export itself, names and values in turn. */
const listHeaders = (
  { type, fileName }: ExportContent,
  tag: string,
  total: number | null,
  isGzip: boolean,
) => [
  ...['ETag', tag, 'Content-Type', contentTypes[type]],
  ...(total === null ? [] : ['X-Total-Count', String(total)]),
  ...(fileName === undefined ? [] : ['Content-Disposition', `attachment; filename="${fileName}"`]),
  ...(isGzip ? ['Content-Encoding', 'gzip'] : []),
];

async function sendSnapshot(job: ExportJob, snapshot: Snapshot): Promise<void> {
  const { read, content } = job;
  const { req, res, headers } = read.exchange;
  assertScopeFresh(read.endpoint, snapshot.freshness);
  const identity = toIdentity(read, content.representation, content.normalized, snapshot.freshness);
  assertMatch(req, identity);
  // A workbook is compressed already.
  const isGzip = content.type !== workbookType && acceptsGzip(req.headers);
  const tag = computeEtag(identity, isGzip ? 'gzip' : 'identity');
  const knownTag = knownTags(req.headers).includes('*') ? tag : matchingTag(req, identity);
  if (knownTag !== undefined) {
    addFreshness(read.exchange, snapshot.freshness, read.endpoint);
    return sendNotModified(read.exchange, knownTag);
  }
  const total = await content.countRows(snapshot);
  const rows =
    req.method === 'HEAD'
      ? undefined
      : await content.start(snapshot, total, {
          signal: job.signal,
          yieldToReads: job.exports.yieldToReads,
        });
  addFreshness(read.exchange, snapshot.freshness, read.endpoint);
  headers.push(...listHeaders(content, tag, total, isGzip));
  res.writeHead(200, headers);
  if (rows === undefined) return void res.end();
  const stopWatch = watchExport(job, snapshot, rows);
  try {
    await (isGzip ? sendGzip(rows, res) : sendPlain(rows, res, job.signal));
  } catch {
    // When the client disconnected or was cut off there is nothing to report: the log has a cut's reason.
    const failure = rows.failure();
    if (sqlState(failure) === queryCanceled) logCut(job, rows, 'time limit');
    else if (failure !== undefined) throw failure;
    res.destroy();
  } finally {
    stopWatch();
  }
}

/** Settles with the write, or rejects when the client disconnects: a broken write may never call back. */
const writeWhileOpen = (
  gone: AbortSignal,
  write: (callback: (error?: Error | null) => void) => void,
): Promise<void> =>
  new Promise((resolve, reject) => {
    const onAbort = (): void => reject(gone.reason);
    gone.addEventListener('abort', onAbort);
    write((error) => {
      gone.removeEventListener('abort', onAbort);
      if (error) reject(error);
      else resolve();
    });
  });

/** Each chunk is handed to the operating system before the next is produced. */
async function sendPlain({ read }: CopiedRows, res: ServerResponse, gone: AbortSignal): Promise<void> {
  for await (const chunk of read()) await writeWhileOpen(gone, (callback) => res.write(chunk, callback));
  await writeWhileOpen(gone, (callback) => res.end(callback));
}

/** Compression runs while the next chunk is read, so each chunk is copied. */
function sendGzip({ read }: CopiedRows, res: ServerResponse): Promise<void> {
  // A pipeline adds several `close` listeners on top of those that every response has.
  res.setMaxListeners(20);
  const chunks = async function* () {
    for await (const chunk of read()) yield Buffer.from(chunk);
  };
  return pipeline(chunks, createGzip({ level: gzipLevel }), res);
}

function logCut({ read }: ExportJob, rows: CopiedRows, reason: string): void {
  const { log, organizationId } = read.tenant;
  log.info(
    { organizationId, resource: read.endpoint.name, reason, bytes: rows.bytesTaken() },
    'export was cut off',
  );
}

function watchExport(job: ExportJob, snapshot: Snapshot, rows: CopiedRows): () => void {
  const { exports, read } = job;
  const { res } = read.exchange;
  return watchCopy({
    rows,
    snapshot,
    blockedWriters: exports.blockedWriters,
    limits: read.tenant.settings.exports,
    isWaiting: () => isWaiting(res),
    cut: (reason) => {
      if (res.destroyed) return;
      logCut(job, rows, reason);
      res.destroy();
    },
  });
}

/** True while data is ready for the client and not taken; otherwise the database is the slow side. */
const isWaiting = (res: ServerResponse): boolean => res.writableLength > 0;
