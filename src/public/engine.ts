// What one process remembers of reads and how many long ones it lets run: shared by everyone who reads through the same pool of
// connections, so that bounds on memory, prepared statements and exports hold for all of them together.
import type { Ctx } from '../core/ctx.ts';
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
  readonly readerOf: (organizationId: string) => Reader;
  /** By `<organization id>/<version>`. */
  readonly versions: Trusted<VersionState | undefined>;
  readonly content: PublishedContent;
};

const engines = new WeakMap<Ctx['db'], Engine>();

/** A new one, which `engineOf` gives from now on. */
export function openEngine(ctx: Ctx): Engine {
  const { clock, settings } = ctx;
  const { cacheBytes, trustMs } = settings;
  const turns = openReadTurns(ctx);
  const shared: Omit<Reader, 'organizationId'> = {
    db: ctx.db,
    clock,
    log: ctx.log,
    states: openTrusted(clock, trustMs, cacheBytes.trusted),
    totals: openTotals(cacheBytes.totals),
    anchors: openAnchors(cacheBytes.anchors, settings.anchorEvery),
    unknownLook: unknownLookOf(settings),
    turns,
    statements: openStatements(ctx.db.data, turns, cacheBytes.statements),
  };
  // The other half of the connections stays with the public interface, whatever views ask for.
  const half = Math.max(1, Math.floor(ctx.db.data.options.max / 2));
  const engine: Engine = {
    exports: openExports(ctx, turns),
    freeReads: openTurns({ running: half, waiting: 8 * half, limitMs: settings.readTimeoutMs }, 'reads of this kind'),
    readerOf: (organizationId) => ({ ...shared, organizationId }),
    versions: openTrusted(clock, trustMs, cacheBytes.trusted),
    content: openPublishedContent(cacheBytes.versions),
  };
  engines.set(ctx.db, engine);
  return engine;
}

/** The one that the process has opened, or the first. */
export const engineOf = (ctx: Ctx): Engine => engines.get(ctx.db) ?? openEngine(ctx);
