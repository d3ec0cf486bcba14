// What the phases, modes and numbers of runs are called on screen.
import type { Item } from '../../api.ts';
import { formatCount, formatDuration, formatNumber } from '../../format.ts';

export type SyncConfig = Item<'/sync-configs'>;
export type Run = Item<'/sync-runs'>;
export type RunStatus = Run['status'];

/** How often lists and states of syncs are read again. */
export const everyMs = 20_000;

export const modeWords = { full: 'Full', incremental: 'Incremental', reread: 'Reread' } as const;
export const triggerWords = { schedule: 'by the schedule', manual: 'by hand', retry: 'as a retry' } as const;

/** Each phase with what it does, and what is done with a record in it. */
export const phaseWords: Readonly<Record<string, readonly [title: string, done: string]>> = {
  reading: ['Reading from the ERP', 'read'],
  proving: ['Comparing with the ERP', 'compared'],
  publishing: ['Publishing', 'published'],
};

/** `4 new · 2 updated`, without zeros. */
export const describeAll = (counts: readonly (readonly [count: number, word: string])[]): string[] =>
  counts.flatMap(([count, word]) => (count === 0 ? [] : `${formatNumber(count)} ${word}`));

/** `120 read · 4 new · 2 updated`. */
export function describeCounts({
  fetched,
  inserted,
  updated,
  deleted,
  rejected,
}: NonNullable<Run['counts']>): string {
  const changes = describeAll([
    [inserted, 'new'],
    [updated, 'updated'],
    [deleted, 'deleted'],
    [rejected, 'rejected'],
  ]);
  return [`${formatNumber(fetched)} read`, ...(changes.length === 0 ? ['nothing changed'] : changes)].join(
    ' · ',
  );
}

/** How long an ended run took, which is known to the second. Null while it is unknown. */
export function describeDuration({ startedAt, finishedAt }: Run): string | null {
  if (startedAt === null || finishedAt === null) return null;
  const took = Date.parse(finishedAt) - Date.parse(startedAt);
  if (took < 1_000) return 'under 1 s';
  return took < 60_000 ? `${took / 1_000} s` : formatDuration(took);
}

/** How many of the records that a phase counts are done. */
export function describeProgress({
  phase,
  fetched,
  done,
  expected,
  percent,
}: NonNullable<Run['progress']>): string {
  if (phase === 'publishing')
    return `${formatCount(fetched, 'record')} read; the changes are being published`;
  const word = phaseWords[phase]?.[1] ?? 'done';
  if (expected === null) return `${formatCount(done, 'record')} ${word}`;
  return `${formatNumber(done)} of ${formatCount(expected, 'record')} ${word}${percent === null ? '' : ` (${percent} %)`}`;
}
