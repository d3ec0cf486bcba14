// What one process remembers of reads and how many long ones it lets run: shared by everyone who reads through the same pool of
// connections, so that bounds on memory, prepared statements and exports hold for all of them together.
import type { Ctx } from '../core/ctx.ts';
import { openAnchors } from './anchors.ts';
import { type Exports, openExports } from './export.ts';
import type { Reader } from './read.ts';
import { openStatements } from './statements.ts';
import { openTotals } from './totals.ts';
import { openTrusted, type Trusted } from './trusted.ts';
import { openPublishedContent, type PublishedContent, type VersionState } from './versions.store.ts';

export type Engine = {
  readonly exports: Exports;
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
  const shared: Omit<Reader, 'organizationId'> = {
    db: ctx.db,
    clock,
    log: ctx.log,
    states: openTrusted(clock, trustMs, cacheBytes.trusted),
    totals: openTotals(cacheBytes.totals),
    anchors: openAnchors(cacheBytes.anchors, settings.anchorEvery),
    statements: openStatements(ctx.db.data, cacheBytes.statements),
  };
  const engine: Engine = {
    exports: openExports(ctx),
    readerOf: (organizationId) => ({ ...shared, organizationId }),
    versions: openTrusted(clock, trustMs, cacheBytes.trusted),
    content: openPublishedContent(cacheBytes.versions),
  };
  engines.set(ctx.db, engine);
  return engine;
}

/** The one that the process has opened, or the first. */
export const engineOf = (ctx: Ctx): Engine => engines.get(ctx.db) ?? openEngine(ctx);
