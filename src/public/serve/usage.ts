// Counts calls by key, day, version, resource and subject of the token, and those of the portal by visitor, day and
// record type, and reads by links to views. A request only increments a number in memory; the counts are written to the database every ten
// seconds in one statement, and once more at shutdown. Counts of several processes are added up there.
import type { Ctx } from '../../core/ctx.ts';
import { startRecurring } from '../../core/work/recurring.ts';
import { isMovingSql } from '../../db/moved-database.ts';

export type ApiCall = {
  readonly apiKeyId: string;
  /** Empty for a version that was never published. */
  readonly version: string;
  /** Empty for the description of a version, and for an unknown resource. */
  readonly resource: string;
  /** Of the token; empty or absent for the key itself and for a token without one. */
  readonly subject?: string;
};

/** A request of a visitor of the portal. */
export type VisitorCall = {
  readonly organizationId: string;
  /** Empty for a sign-in without success: it isn't known whose it was. */
  readonly email: string;
  /** What it read; empty for a sign-in. */
  readonly recordType: string;
};

/** A read by a link to a view. */
export type LinkCall = { readonly linkId: string };
type Call = ApiCall | VisitorCall | LinkCall;

export type UsageCounter = {
  /** Never throws and never blocks. */
  record(call: Call, status: number): void;
  /** Sign-ins of visitors in this process. */
  readonly signIns: Readonly<Counts>;
  /** Writes the counts to the database. Counts that could not be written are kept for the next flush. */
  flush(): Promise<void>;
  /** Flushes once more and stops the timer. */
  stop(): Promise<void>;
};

export type UsageOptions = { readonly flushEveryMs?: number; readonly maxWaitingRows?: number };

type Counts = { succeeded: number; notModified: number; refused: number; failed: number };
const noCalls: Readonly<Counts> = { succeeded: 0, notModified: 0, refused: 0, failed: 0 };
type Entry = { readonly call: Call; readonly day: string } & Counts;

const flushEveryMs = 10_000;
/** Rows kept while the database is unavailable; beyond that, new ones are not counted. */
const maxWaitingRows = 50_000;
/** Subjects beyond half of those rows share this name, as in the database beyond 1,000 of a key and day. */
const otherSubjects = 'other';
const dayMs = 86_400_000;

const isOfVisitor = (call: Call): call is VisitorCall => 'email' in call;
const isOfLink = (call: Call): call is LinkCall => 'linkId' in call;

function keyOf(call: Call): string {
  if (isOfLink(call)) return call.linkId;
  return isOfVisitor(call)
    ? `${call.organizationId} ${call.recordType} ${call.email}`
    : `${call.apiKeyId} ${call.version} ${call.resource} ${call.subject ?? ''}`;
}

/** A call that takes the place of one that has no row of its own; undefined when there is none. */
function withoutSubject(call: Call): ApiCall | undefined {
  if (isOfVisitor(call) || isOfLink(call)) return undefined;
  const { subject = '' } = call;
  return subject === '' || subject === otherSubjects ? undefined : { ...call, subject: otherSubjects };
}

function add(entry: Counts, status: number): void {
  if (status === 304) entry.notModified += 1;
  else if (status < 400) entry.succeeded += 1;
  else if (status < 500) entry.refused += 1;
  else entry.failed += 1;
}

/** False when the call isn't counted, because there are too many rows. */
function countCall(
  counts: Map<string, Entry>,
  call: Call,
  status: number,
  now: Date,
  maxRows: number,
): boolean {
  const day = Math.floor(now.getTime() / dayMs);
  const key = `${day} ${keyOf(call)}`;
  let entry = counts.get(key);
  if (entry === undefined) {
    const other = counts.size >= maxRows / 2 ? withoutSubject(call) : undefined;
    if (other !== undefined) return countCall(counts, other, status, now, maxRows);
    if (counts.size >= maxRows) return false;
    const date = new Date(day * dayMs).toISOString().slice(0, 10);
    entry = { call, day: date, ...noCalls };
    counts.set(key, entry);
  }
  add(entry, status);
  return true;
}

/**
 * Starts a background timer that flushes the counts; it does not keep the process alive. A flush that the
 * database rejects is logged, and its counts are written with the next one.
 */
export function startUsageCounter(
  ctx: Pick<Ctx, 'db' | 'log' | 'clock'>,
  options: UsageOptions = {},
): UsageCounter {
  const maxRows = options.maxWaitingRows ?? maxWaitingRows;
  let counts = new Map<string, Entry>();
  let dropped = 0;
  const signIns = { ...noCalls };

  /** Calls during the statement are counted for the next flush. */
  async function flushOnce(): Promise<void> {
    if (counts.size === 0) return;
    const { rows } = await ctx.db.control.raw<{ rows: { moving: boolean }[] }>(`select ${isMovingSql}`);
    // While the service moves to another database, nothing is written; a cancelled move lets the counts be
    // written later.
    if (rows[0]?.moving === true) return;
    const batch = counts;
    counts = new Map();
    try {
      const {
        visitors = [],
        links = [],
        keys = [],
      } = Object.groupBy(batch.values(), ({ call }) =>
        isOfVisitor(call) ? 'visitors' : isOfLink(call) ? 'links' : 'keys',
      );
      await ctx.db.control.raw(
        'select add_api_key_usage(?::jsonb), add_portal_usage(?::jsonb), add_view_link_uses(?::jsonb)',
        [keys, visitors, links].map((entries) => JSON.stringify(entries.map(toRow))),
      );
      if (dropped > 0) ctx.log.error({ calls: dropped }, 'calls were not counted: too many unwritten counts');
      dropped = 0;
    } catch (error) {
      mergeInto(batch, counts);
      throw error;
    }
  }
  const onFailure = (error: unknown): void =>
    ctx.log.warn({ err: error }, 'could not write the usage of keys and visitors; will retry');
  const flushing = startRecurring(options.flushEveryMs ?? flushEveryMs, flushOnce, onFailure, {
    unref: true,
  });
  return {
    signIns,
    record(call, status) {
      if (isOfVisitor(call) && call.recordType === '') add(signIns, status);
      if (!countCall(counts, call, status, ctx.clock.now(), maxRows)) dropped += 1;
    },
    flush: flushing.tickAgain,
    stop: () => flushing.stop().then(flushing.tickAgain),
  };
}

function mergeInto(batch: ReadonlyMap<string, Entry>, counts: Map<string, Entry>): void {
  for (const [key, entry] of batch) {
    const newer = counts.get(key);
    if (newer === undefined) counts.set(key, entry);
    else {
      newer.succeeded += entry.succeeded;
      newer.notModified += entry.notModified;
      newer.refused += entry.refused;
      newer.failed += entry.failed;
    }
  }
}

function callColumns(call: Call): object {
  if (isOfLink(call)) return { link_id: call.linkId };
  return isOfVisitor(call)
    ? { organization_id: call.organizationId, email: call.email, record_type: call.recordType }
    : {
        ...{ api_key_id: call.apiKeyId, version: call.version, resource: call.resource },
        subject: call.subject ?? '',
      };
}

const toRow = ({ call, notModified, ...counted }: Entry) => ({
  ...callColumns(call),
  ...counted,
  not_modified: notModified,
});
