// The audit log as CSV (RFC 4180), in constant memory and with the queue and time limit of exports: page
// after page by position, each in a transaction of its own. Entries are never changed and new ones come
// before the first, so the file has each entry once.

import type { RequestCtx } from '../../core/ctx.ts';
import { byteOrderMark, csvLine } from '../../core/text/csv-cell.ts';
import { inTransaction } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import type { DownloadFile } from '../../http/route/route.ts';
import { findAreaOf } from '../../identity/audit-actions.ts';
import { acquireExportSlot } from '../../public/index.ts';
import {
  type AuditFilter,
  type AuditRow,
  countAuditRows,
  listAuditRowsAfter,
  readNames,
} from './audit-log.store.ts';
import { summarize } from './summarize.ts';

const rowsPerRead = 1_000;

type Read = (row: AuditRow, names: ReadonlyMap<string, string>) => string | null;
const columns: Readonly<Record<string, Read>> = {
  at: ({ at }) => instant(at),
  actorEmail: ({ actor_email: email }) => email,
  actorId: ({ actor_id: id }) => id,
  credentialKind: ({ credential_kind: kind }) => kind,
  credentialId: ({ credential_id: id }) => id,
  action: ({ action }) => action,
  targetType: ({ target_type: type }) => type,
  targetId: ({ target_id: id }) => id,
  changes: ({ changes }) => JSON.stringify(changes),
  ip: ({ ip }) => ip,
  requestId: ({ request_id: id }) => id,
  id: ({ id }) => id,
  summary: summarize,
  area: ({ action }) => findAreaOf(action),
};

const line = (cells: readonly (string | null)[]): string => csvLine(cells, { guardFormulas: true });

/** A permit of the exports, until `end`, or until time is over or the client has gone: `signal` aborts. */
type Permit = { readonly signal: AbortSignal; readonly end: () => void };

async function startExport(ctx: RequestCtx, gone: AbortSignal): Promise<Permit> {
  const { organizationId, log, settings } = ctx;
  const release = await acquireExportSlot(ctx, gone);
  const aborted = new AbortController();
  let hasEnded = false;
  const end = (): void => {
    if (hasEnded) return;
    hasEnded = true;
    clearTimeout(timer);
    gone.removeEventListener('abort', onGone);
    release();
  };
  const abort = (reason: unknown): void => {
    aborted.abort(reason);
    end();
  };
  const onGone = (): void => abort(gone.reason);
  const timer = setTimeout(() => {
    log.info({ organizationId, reason: 'time limit' }, 'CSV of the audit log was cut off');
    abort(new Error('cut off: time limit'));
  }, settings.exports.maxDurationMs).unref();
  gone.addEventListener('abort', onGone);
  if (gone.aborted) onGone();
  return { signal: aborted.signal, end };
}

async function* write(ctx: RequestCtx, filter: AuditFilter, { signal, end }: Permit): AsyncGenerator<Buffer> {
  try {
    yield Buffer.from(byteOrderMark + line(Object.keys(columns)));
    let last: Awaited<ReturnType<typeof listAuditRowsAfter>>[number] | undefined;
    do {
      signal.throwIfAborted();
      const after = last;
      const { rows, names } = await inTransaction(ctx, async (tx) => {
        const found = await listAuditRowsAfter(tx, ctx.organizationId, filter, after, rowsPerRead);
        return { rows: found, names: await readNames(tx, ctx.organizationId, found) };
      });
      yield Buffer.from(
        rows.map((row) => line(Object.values(columns).map((read) => read(row, names)))).join(''),
      );
      last = rows.length === rowsPerRead ? rows.at(-1) : undefined;
    } while (last !== undefined);
  } finally {
    end();
  }
}

/**
 * All matching entries, newest first. `signal` is aborted when the client disconnects. A caller that does not
 * read to the end must abort it. Rejects with 503 when too many exports run, and with database errors.
 */
export async function openAuditCsv(
  ctx: RequestCtx,
  filter: AuditFilter,
  signal: AbortSignal,
): Promise<DownloadFile> {
  const permit = await startExport(ctx, signal);
  try {
    const total = await inTransaction(ctx, (tx) => countAuditRows(tx, ctx.organizationId, filter));
    return {
      fileName: 'audit-log.csv',
      headers: { 'X-Total-Count': String(total) },
      bytes: write(ctx, filter, permit),
      aborted: permit.signal,
    };
  } catch (error) {
    permit.end();
    throw error;
  }
}
