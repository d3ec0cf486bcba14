// The rolling full read: incremental runs read all records again in full, a part in each, so that changes
// without a trace are found too. It has a cursor of its own, never moves the high-water mark, and proves no
// deletion. A pass begins when half of the period has gone by since every record was last read, and has the
// other half to end: no record waits longer than the period, as long as the requests suffice.

import { ErpError } from '../../connectors/connector.ts';
import { filterUnreadIds, listUnreadInRange } from '../../warehouse/local-records.ts';
import type { RollingSlice, RunState } from '../../warehouse/run-state-row.ts';
import { assertPageAdvances } from '../account/read-by-ids.ts';
import { readRecentRequests } from '../queue/request-count.ts';
import { toStagedPage } from '../stage/page-reader.ts';
import {
  addFacts,
  assertAscendingPage,
  type RunReadContext,
  rereadByIds,
  saveStep,
  stageRunPage,
} from '../stage/read-context.ts';

const dayMs = 86_400_000;
/** The share of the configuration's requests in 24 hours that more than one page a run may use. */
const maxRequestShare = 0.1;
/** Stored records within a page's range that the page lacks are requested by id, as many at a time. */
const maxMissing = 200;

/** The time until the next run, as far as is known: that since the last one. */
function intervalMs({ ctx, prepared: { syncedAt } }: RunReadContext): number {
  const halfPeriodMs = (ctx.settings.sync.fullReadDays * dayMs) / 2;
  return syncedAt === null
    ? 0
    : Math.min(halfPeriodMs, Math.max(0, ctx.clock.now().getTime() - Date.parse(syncedAt)));
}

/** Continues the pass, or begins one; null when none is due before the next run. */
function startSlice(reading: RunReadContext, { counters: { erpStartedAt } }: RunState): RollingSlice | null {
  const { passStartedAt, cursorId, completeSince } = reading.prepared.rollingRead;
  const slice = { to: null, records: 0, pages: 0, ended: false };
  if (passStartedAt !== null) return { ...slice, startedAt: passStartedAt, from: cursorId };
  const halfPeriodMs = (reading.ctx.settings.sync.fullReadDays * dayMs) / 2;
  const isDue =
    completeSince === null ||
    Date.parse(erpStartedAt) + intervalMs(reading) - Date.parse(completeSince) >= halfPeriodMs;
  return isDue ? { ...slice, startedAt: erpStartedAt, from: null } : null;
}

/**
 * Whether the pass is to be further at the end of this run than it is: the share of its records is less than
 * that of its time.
 */
function isBehind(reading: RunReadContext, { counters: { erpStartedAt } }: RunState, slice: RollingSlice) {
  const { rowCount, rollingRead } = reading.prepared;
  const halfPeriodMs = (reading.ctx.settings.sync.fullReadDays * dayMs) / 2;
  const elapsedMs = Date.parse(erpStartedAt) - Date.parse(slice.startedAt) + intervalMs(reading);
  return (rollingRead.records + slice.records) / Math.max(1, rowCount) < elapsedMs / halfPeriodMs;
}

async function isWithinBudget(
  { ctx, config, requests }: RunReadContext,
  { plan }: RunState,
  slice: RollingSlice,
): Promise<boolean> {
  const stored = await readRecentRequests(ctx, config.id);
  const unstored = requests.untaken();
  const costOfPage = Number(plan.facts['rolling']?.['requests'] ?? 0) / slice.pages;
  const rolling = stored.rolling + unstored.rolling + costOfPage;
  return rolling <= (stored.total + unstored.total + costOfPage) * maxRequestShare;
}

/**
 * Reads the next page of the pass: always one in each run, and more only while the pass is behind and the
 * budget lasts. Stored records that the page should have had are requested by id, so that a pass which says
 * that all were read is right. Throws what the connector and `stageRunPage` throw.
 */
export async function readRolling(reading: RunReadContext, state: RunState): Promise<RunState> {
  const slice = state.plan.rolling ?? startSlice(reading, state);
  const isOver =
    slice === null ||
    slice.ended ||
    (slice.pages > 0 && !(isBehind(reading, state, slice) && (await isWithinBudget(reading, state, slice))));
  if (isOver) return saveStep(reading, state, { plan: { step: 'feed' } });
  return readNextPage(reading, state, slice).catch((error: unknown) => {
    if (!(error instanceof ErpError) || error.code !== 'CURSOR_GONE') throw error;
    // The record at which the pass goes on was deleted: the pass begins again, in the next run.
    const restarted = { ...slice, startedAt: state.counters.erpStartedAt, from: null, to: null, pages: 1 };
    return saveStep(reading, state, { plan: { step: 'feed', rolling: { ...restarted, records: 0 } } });
  });
}

async function readNextPage(reading: RunReadContext, state: RunState, slice: RollingSlice) {
  const { ctx, connector, recordType, prepared, signal, requests } = reading;
  const sentBefore = requests.count();
  const afterId = slice.pages === 0 ? slice.from : slice.to;
  const limit = ctx.settings.sync.pageSize;
  const page = await connector.readPage({
    recordType,
    fields: prepared.fields,
    afterId,
    changedSince: null,
    limit,
    signal,
  });
  signal.throwIfAborted();
  assertPageAdvances(page, afterId);
  assertAscendingPage(reading, page, { ...state, checkpoint: afterId });
  const staged = await toStagedPage(reading.rules, page, state);
  const ids = [...staged.records, ...staged.rejected].map(({ id }) => id);
  const upTo = page.hasMore ? page.lastId : null;
  // Between two ids of an order that only the ERP knows, no stored record is known to be missing.
  const missing =
    recordType.keyOrder === 'server'
      ? []
      : await listUnreadInRange(reading, state, { afterId, upTo, except: ids, limit: maxMissing });
  const unread = await filterUnreadIds(reading, state, ids);
  const { state: reread, absent } = await rereadByIds(reading, state, missing, null);
  const sent = requests.count() - sentBefore;
  requests.addRolling(sent);
  const found = missing.length - absent.length;
  const isCut = missing.length === maxMissing;
  return stageRunPage(reading, reread, {
    ...staged,
    rereads: true,
    lastId: null,
    hasMore: true, // more steps follow
    plan: {
      rolling: {
        ...slice,
        to: isCut ? (missing.at(-1) ?? null) : upTo,
        records: slice.records + ids.length + found,
        pages: slice.pages + 1,
        ended: upTo === null && !isCut,
      },
      ...addFacts(reread, 'rolling', {
        pages: 1,
        requests: sent,
        onlyHere: unread.length + found,
        absent: absent.length,
      }),
    },
  });
}
