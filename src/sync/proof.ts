// What a run must prove before it may be published: that it read everything the ERP holds. A difference in number is resolved
// id by id; what stays unexplained after a second scan fails the run. There is no tolerance in percent.
import type { Connector, RecordTypeMetadata } from '../connectors/connector.ts';
import type { TenantCtx } from '../core/ctx.ts';
import { inDataTransaction } from '../db/transaction.ts';
import { isFresh, type RunState } from '../warehouse/run-row.ts';
import { quoted } from '../warehouse/table.ts';
import { unchangedCount, unchangedIds } from '../warehouse/unchanged.ts';
import type { PreparedRun } from './prepare.ts';
import { ProofFailed } from './retry.ts';
import { type ConfigRow, type Lease, lastVolumes, type ProofCheck } from './runs.store.ts';

const scanPage = 1_000;
const shownIds = 20;

export const mismatch = (message: string): ProofFailed =>
  new ProofFailed('COUNT_MISMATCH', message, 'Check whether the integration role may view these records, then run the sync again.');

/** Records that the ERP still lists and that can't be read. */
export const unresolved = (ids: readonly string[]): ProofFailed =>
  mismatch(`${ids.length} records are listed by the ERP and can't be read, such as ${ids.slice(0, 5).join(', ')}`);

/** `rows`: how many the ERP listed; an id that it gives twice counts twice. */
type Listed = { readonly ids: Set<string>; readonly rows: number };

async function listAllIds(connector: Connector, recordType: RecordTypeMetadata, signal: AbortSignal): Promise<Listed> {
  const ids = new Set<string>();
  let rows = 0;
  let afterId: string | null = null;
  for (;;) {
    const page: Awaited<ReturnType<Connector['listIds']>> = await connector.listIds({ recordType, afterId, limit: scanPage, signal });
    for (const id of page.ids) ids.add(id);
    rows += page.ids.length;
    if (!page.hasMore) return { ids, rows };
    const last: string | null = page.ids.at(-1) ?? null;
    if (last === null || last === afterId) throw mismatch('The ERP announced more ids and gave none');
    afterId = last;
  }
}

/** A scan that lists fewer ids than the ERP counts, before and after it, is no evidence of anything; it is made twice. */
async function scanIds(connector: Connector, recordType: RecordTypeMetadata, counted: number, signal: AbortSignal): Promise<Set<string>> {
  let before = counted;
  for (let scan = 1; ; scan += 1) {
    const { ids, rows } = await listAllIds(connector, recordType, signal);
    const after = await connector.count(recordType, signal);
    if (rows >= Math.min(before, after) && rows <= Math.max(before, after)) return ids;
    if (scan === 2) throw mismatch(`The ERP counts ${after} records and lists ${rows}`);
    before = after;
  }
}

const ofRun = (state: RunState): string => (isFresh(state) ? 'where $2::uuid is not null' : 'where run_id = $2');

async function readIds(ctx: TenantCtx, schema: string, state: RunState): Promise<Set<string>> {
  const { rows } = await inDataTransaction(ctx.db.data, (client) =>
    client.query<{ id: string }>(
      `select id::text as id from ${schema}.${quoted(state.targetTable)} ${ofRun(state)}
       union all select id::text from ${unchangedIds(schema, state, '$2')} u
       union all select id from ${schema}.rejections where record_type = $1 and run_id = $2`,
      [state.recordType, state.runId],
    ),
  );
  return new Set(rows.map(({ id }) => id));
}

const minus = (a: ReadonlySet<string>, b: ReadonlySet<string>): string[] => [...a].filter((id) => !b.has(id));

export type Compared = { readonly check: ProofCheck; readonly missing: readonly string[] };
type Side = {
  readonly ctx: TenantCtx;
  readonly signal: AbortSignal;
  readonly connector: Connector;
  readonly recordType: RecordTypeMetadata;
  readonly prepared: Pick<PreparedRun, 'schema'>;
};

/**
 * Compares what was read with what the ERP holds now: by number, and by id when the numbers differ or `byId` asks for it.
 * `missing` came up meanwhile or were passed over and must still be fetched; what was read and is gone by now is left for the
 * next run to remove.
 */
export async function compareWithErp(side: Side, state: RunState, byId: boolean): Promise<Compared> {
  const { ctx, signal, connector, recordType, prepared } = side;
  const expected = await connector.count(recordType, signal);
  const read = state.counters.fetched;
  if (expected === read && !byId) {
    const message = `The ERP counts ${expected}, and ${read} were read`;
    return { missing: [], check: { check: 'count', passed: true, message, facts: { expected, read } } };
  }
  const theirs = await scanIds(connector, recordType, expected, signal);
  const ours = await readIds(ctx, prepared.schema, state);
  const missing = minus(theirs, ours);
  const vanished = minus(ours, theirs);
  const facts = {
    expected,
    read,
    missing: missing.slice(0, shownIds),
    missingCount: missing.length,
    vanished: vanished.slice(0, shownIds),
    vanishedCount: vanished.length,
  };
  const message = `The numbers differed; every id was compared: ${missing.length} fetched singly, ${vanished.length} gone meanwhile`;
  return { missing, check: { check: 'count', passed: true, message, facts } };
}

export function checkPages(state: RunState): ProofCheck {
  if (!state.complete)
    throw new ProofFailed('PAGES_INCOMPLETE', 'The ERP never said that the last page was the last', 'Run the sync again.');
  return {
    check: 'pages',
    passed: true,
    message: `${state.counters.pages} pages in a row, the last one said that nothing follows`,
    facts: { pages: state.counters.pages },
  };
}

export async function checkStaged(ctx: TenantCtx, schema: string, state: RunState): Promise<ProofCheck> {
  const { rows } = await inDataTransaction(ctx.db.data, (client) =>
    client.query<{ staged: string; rejected: string }>(
      `select (select count(*) from ${schema}.${quoted(state.targetTable)} ${ofRun(state)}) + ${unchangedCount(schema, '$2')} as staged,
              (select count(*) from ${schema}.rejections where record_type = $1 and run_id = $2) as rejected`,
      [state.recordType, state.runId],
    ),
  );
  const [staged, rejected] = [Number(rows[0]?.staged ?? 0), Number(rows[0]?.rejected ?? 0)];
  if (rejected !== state.counters.rejected || staged + rejected !== state.counters.fetched) {
    throw new ProofFailed(
      'STAGED_MISMATCH',
      `${state.counters.fetched} records were read, ${staged} are staged and ${rejected} rejected`,
      "Run the sync again; if it repeats, see the service's log.",
    );
  }
  return {
    check: 'staged',
    passed: true,
    message: `Each of the ${staged + rejected} records read is staged or listed as rejected`,
    facts: { staged, rejected },
  };
}

/** No field is left out in silence: those that the configuration names and the ERP no longer offers are listed here. */
export function checkFields({ fields, unreadable }: Pick<PreparedRun, 'fields' | 'unreadable'>): ProofCheck {
  const missing = unreadable.length === 0 ? '' : `; the ERP no longer offers ${unreadable.join(', ')}`;
  return {
    check: 'fields',
    passed: unreadable.length === 0,
    message: `${fields.length} fields were read${missing}`,
    facts: { fields: fields.length, unreadable },
  };
}

/** What each step of an incremental run did, in order. A run gets here only when all of them held. */
export function proofOfChanges({ counters, plan: { facts, since, scanned, feed } }: RunState): ProofCheck[] {
  const of = (check: string) => facts[check] ?? {};
  const passed = (check: string, message: string, more: object = {}): ProofCheck => ({
    check,
    passed: true,
    message,
    facts: { ...of(check), ...more },
  });
  const { changed = {}, open = {}, count = {}, scan = {} } = facts;
  const told = feed === 'hidden' ? 'The ERP hides its list of deletions' : `The ERP lists ${of('feed')['listed'] ?? 0} deletions`;
  return [
    passed('pages', `${changed['pages'] ?? 0} pages in a row, the last one said that nothing follows`, { pages: counters.pages }),
    passed('changed', `${changed['read'] ?? 0} records changed since ${since}`, { since }),
    passed('open', `${open['checked'] ?? 0} open records were compared, ${open['read'] ?? 0} of them read again`),
    passed('feed', `${told}; ${of('feed')['deleted'] ?? 0} of them were held here and are gone`),
    scanned
      ? passed(
          'scan',
          `All ${scan['listed'] ?? 0} records were compared: ${scan['fetched'] ?? 0} fetched, ${scan['absent'] ?? 0} absent`,
          count,
        )
      : passed('count', `The ERP counts ${count['erp'] ?? 0}, and so many would be here`),
  ];
}

const band = { runs: 20, fewest: 5, below: 0.5, above: 2, slack: 100 };

/** A warning, no failure: how much was read against what the last runs of this mode read. Silent until there were some. */
export async function checkVolume(
  { ctx, lease, config }: { ctx: TenantCtx; lease: Lease; config: Pick<ConfigRow, 'id'> },
  { counters: { fetched }, plan: { mode } }: RunState,
): Promise<ProofCheck[]> {
  const before = (await lastVolumes(ctx, config.id, mode, lease.runId, band.runs)).sort((a, b) => a - b);
  const [low, high] = [before[0], before.at(-1)];
  if (before.length < band.fewest || low === undefined || high === undefined) return [];
  const isWithin = fetched >= Math.floor(low * band.below) && fetched <= high * band.above + band.slack;
  const message = `${fetched} records were read; the last ${before.length} runs read ${low} to ${high}`;
  return [{ check: 'volume', passed: true, message, facts: { fetched, low, high, level: isWithin ? 'info' : 'warning' } }];
}
