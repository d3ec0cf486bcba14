// Answers that fail or lie: the faults that are put, which answers they meet, and what they do to a page.
import { z } from 'zod';
import { BAD_METADATA } from './metadata.ts';
import type { Page } from './read-page.ts';

/** `delta`: lists by a delta link. `other`: the service document and unknown paths. */
export const KINDS = ['rows', 'delta', 'record', 'count', 'metadata', 'token', 'other'] as const;
export type Subject = { kind: (typeof KINDS)[number]; table: string | undefined };

const Fault = z.strictObject({
  on: z.strictObject({ table: z.string().optional(), kind: z.literal(KINDS).optional() }),
  /** How many answers it meets; without it, all. */
  times: z.int().min(1).optional(),
  status: z.literal([401, 403, 404, 410, 429, 500, 503]).optional(),
  /** With a status: seconds or a date. */
  retryAfter: z.union([z.int().min(0), z.string()], 'must be seconds or a date').optional(),
  html: z.literal(true).optional(),
  redirect: z.string().optional(),
  cut: z.int().min(0).optional(),
  delayMs: z.int().min(0).max(3_600_000).optional(),
  repeatPage: z.literal(true).optional(),
  nextLink: z.string().optional(),
  endless: z.literal(true).optional(),
  hasMore: z.literal(false).optional(),
  dropRows: z.strictObject({ every: z.int().min(1) }).optional(),
  duplicateRow: z.literal(true).optional(),
  countOffset: z.int().optional(),
  refuseOrderBy: z.literal(true).optional(),
  metadata: z
    .union(
      [z.literal(BAD_METADATA), z.strictObject({ megabytes: z.int().min(1).max(250) })],
      `must be one of ${BAD_METADATA.join(', ')} or {"megabytes"}`,
    )
    .optional(),
});
type FaultFields = z.output<typeof Fault>;
const EFFECTS = [
  'status',
  'html',
  'redirect',
  'cut',
  'delayMs',
  'repeatPage',
  'nextLink',
  'endless',
  'hasMore',
  'dropRows',
  'duplicateRow',
  'countOffset',
  'refuseOrderBy',
  'metadata',
] as const satisfies readonly (keyof FaultFields)[];
type Effect = (typeof EFFECTS)[number];
export const FaultsBody = z
  .array(
    Fault.refine((fault) => EFFECTS.filter((effect) => fault[effect] !== undefined).length === 1, {
      error: `must have exactly one of ${EFFECTS.join(', ')}`,
    }),
  )
  .max(100);
/** Has exactly one effect besides `on`, `times` and `retryAfter`. */
export type Fault = z.input<typeof FaultsBody>[number];

export type Faults = {
  put(faults: readonly Fault[]): void;
  list(): { fault: Fault; hits: number }[];
  /** The first fault with one of the effects that meets the answer; counts that it does, and notes its effect in `met`. */
  meet(subject: Subject, met: string[], ...effects: Effect[]): FaultFields | undefined;
};

export function createFaults(): Faults {
  let entries: { fault: Fault; hits: number }[] = [];
  return {
    put(faults) {
      entries = faults.map((fault) => ({ fault, hits: 0 }));
    },
    list: () => entries.map((entry) => ({ ...entry })),
    meet({ kind, table }, met, ...effects) {
      const entry = entries.find(
        ({ fault, hits }) =>
          effects.some((effect) => fault[effect] !== undefined) &&
          hits < (fault.times ?? Infinity) &&
          (fault.on.table === undefined || fault.on.table === table) &&
          (fault.on.kind === undefined || fault.on.kind === kind),
      );
      if (!entry) return undefined;
      entry.hits += 1;
      met.push(...effects.filter((effect) => entry.fault[effect] !== undefined));
      return entry.fault;
    },
  };
}

/** Changes a page by the faults that meet it. `previous`: the page before it of the same list, if there was one. */
export function distortPage(
  faults: Faults,
  subject: Subject,
  page: Page,
  previous: Page | undefined,
  met: string[],
): Page {
  const meet = (effect: Effect): FaultFields | undefined => faults.meet(subject, met, effect);
  if (previous && meet('repeatPage')) return previous;
  const lie = { ...page };
  const every = meet('dropRows')?.dropRows?.every;
  if (every !== undefined) lie.entries = lie.entries.filter((_entry, i) => (i + 1) % every !== 0);
  if (lie.entries.length > 0 && meet('duplicateRow'))
    lie.entries = lie.entries.slice(0, 1).concat(lie.entries);
  if (lie.count !== undefined) lie.count += meet('countOffset')?.countOffset ?? 0;
  const link = meet('nextLink')?.nextLink;
  if (link !== undefined) lie.next = link;
  if (page.resume && lie.next === undefined && meet('endless')) {
    lie.next = page.resume(faults.list().reduce((hits, entry) => hits + entry.hits, 0));
    delete lie.delta;
  }
  if (lie.next !== undefined && meet('hasMore')) delete lie.next;
  return lie;
}
