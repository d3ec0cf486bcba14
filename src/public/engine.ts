// What one process remembers of reads and how many long ones it lets run: shared by everyone who reads through the same pool of
// connections, so that bounds on memory, prepared statements and exports hold for all of them together.
import type { Ctx } from '../core/ctx.ts';
import { openTally, type Tally } from '../core/tally.ts';
import { openReadTurns } from './admission.ts';
import { openAnchors } from './anchors.ts';
import { type Exports, openExports } from './export.ts';
import { unknownLookOf } from './ranges.ts';
import type { Reader } from './read.ts';
import { openStatements } from './statements.ts';
import { openTotals } from './totals.ts';
import { openTrusted, type Trusted } from './trusted.ts';
import { openTurns, type Turns } from './turns.ts';
import { openPublishedContent, type PublishedContent, type VersionState } from './versions.store.ts';

export type Engine = {
  readonly exports: Exports;
  /** Of reads that no version declared and no index may serve. */
  readonly freeReads: Turns;
  /** Of lists, records and changes. */
  readonly reads: Turns;
  readonly readerOf: (organizationId: string) => Reader;
  /** By `<organization id>/<version>`. */
  readonly versions: Trusted<VersionState | undefined>;
  readonly content: PublishedContent;
  readonly tallies: Tallies;
};

/** What is remembered, by kind. */
const cacheNames = [
  'keys',
  'versions',
  'schemas',
  'descriptions',
  'generations',
  'queries',
  'statements',
  'totals',
  'anchors',
  'bodies',
] as const;
type Tallies = Readonly<Record<(typeof cacheNames)[number], Tally>>;

const engines = new WeakMap<Ctx['db'], Engine>();

/** A new one, which `engineOf` gives from now on. */
export function openEngine(ctx: Ctx): Engine {
  const { clock, settings } = ctx;
  const { cacheBytes, trustMs } = settings;
  const turns = openReadTurns(ctx);
  const tallies = Object.fromEntries(cacheNames.map((name) => [name, openTally()])) as Tallies;
  const shared: Omit<Reader, 'organizationId'> = {
    db: ctx.db,
    clock,
    log: ctx.log,
    states: openTrusted(clock, trustMs, cacheBytes.trusted, tallies.generations),
    totals: openTotals(cacheBytes.totals, tallies.totals),
    anchors: openAnchors(cacheBytes.anchors, settings.anchorEvery, tallies.anchors),
    unknownLook: unknownLookOf(settings),
    turns,
    statements: openStatements(ctx.db.data, turns, cacheBytes.statements, undefined, tallies.statements),
  };
  // The other half of the connections stays with the public interface, whatever views ask for.
  const half = Math.max(1, Math.floor(ctx.db.data.options.max / 2));
  const engine: Engine = {
    exports: openExports(ctx, turns),
    freeReads: openTurns({ running: half, waiting: 8 * half, limitMs: settings.readTimeoutMs }, 'reads of this kind'),
    readerOf: (organizationId) => ({ ...shared, organizationId }),
    versions: openTrusted(clock, trustMs, cacheBytes.trusted, tallies.versions),
    content: openPublishedContent(cacheBytes.versions, { schemas: tallies.schemas, texts: tallies.descriptions }),
    reads: turns,
    tallies,
  };
  engines.set(ctx.db, engine);
  return engine;
}

/** The one that the process has opened, or the first. */
export const engineOf = (ctx: Ctx): Engine => engines.get(ctx.db) ?? openEngine(ctx);

/** For the end of the process: nobody waits any more to begin an export or another long read. */
export function endWaiting(ctx: Pick<Ctx, 'db'>): void {
  const engine = engines.get(ctx.db);
  engine?.exports.turns.close();
  engine?.freeReads.close();
}

type Count = { readonly running: number; readonly waiting: number };
export type PublicFigures = { readonly caches: Readonly<Record<string, Readonly<Tally>>>; readonly turns: Readonly<Record<string, Count>> };

/** How often each cache had what was asked for, and who waits for what at the moment. */
export function publicFigures(ctx: Ctx): PublicFigures {
  const { tallies, exports, freeReads, reads } = engineOf(ctx);
  return { caches: tallies, turns: { reads: reads.now(), exports: exports.turns.now(), free_reads: freeReads.now() } };
}
