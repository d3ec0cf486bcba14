// What a run must prove before it may be published: that it read everything the ERP holds. A difference in number is resolved
// id by id; what stays unexplained after a second scan fails the run. There is no tolerance in percent.
import type { Connector, RecordTypeMetadata } from '../connectors/connector.ts';
import type { TenantCtx } from '../core/ctx.ts';
import type { RunState } from '../warehouse/staging.ts';
import { quoted, stagingTable } from '../warehouse/table.ts';
import { ProofFailed } from './retry.ts';
import type { ProofCheck } from './runs.store.ts';

const scanPage = 1_000;
const shownIds = 20;

async function scanIds(connector: Connector, recordType: RecordTypeMetadata, signal: AbortSignal): Promise<Set<string>> {
  const ids = new Set<string>();
  let afterId: string | null = null;
  for (;;) {
    const page: Awaited<ReturnType<Connector['listIds']>> = await connector.listIds({ recordType, afterId, limit: scanPage, signal });
    for (const id of page.ids) ids.add(id);
    if (!page.hasMore) return ids;
    afterId = page.ids.at(-1) ?? null;
    if (afterId === null)
      throw new ProofFailed(
        'COUNT_MISMATCH',
        'The ERP announced more ids and gave none',
        "Run the sync again; if it repeats, report it to the ERP's support.",
      );
  }
}

async function readIds(ctx: TenantCtx, schema: string, state: RunState): Promise<Set<string>> {
  const own = state.targetTable === stagingTable(state.recordType) ? 'where run_id = $2' : 'where $2::uuid is not null';
  const { rows } = await ctx.db.data.query<{ id: string }>(
    `select id::text as id from ${schema}.${quoted(state.targetTable)} ${own}
     union all select id from ${schema}.rejections where record_type = $1 and run_id = $2`,
    [state.recordType, state.runId],
  );
  return new Set(rows.map(({ id }) => id));
}

const minus = (a: ReadonlySet<string>, b: ReadonlySet<string>): string[] => [...a].filter((id) => !b.has(id));

export type Resolved = { readonly check: ProofCheck; readonly missing: readonly string[]; readonly vanished: readonly string[] };

/**
 * Compares what was read with what the ERP holds now. `missing` are ids that came up meanwhile or were passed over and must still
 * be fetched; `vanished` were read and are gone by now, and are left for the next run to remove.
 */
export async function compareWithErp(
  ctx: TenantCtx,
  schema: string,
  state: RunState,
  connector: Connector,
  recordType: RecordTypeMetadata,
  signal: AbortSignal,
): Promise<Resolved> {
  const expected = await connector.count(recordType, signal);
  const read = state.counters.fetched;
  if (expected === read) {
    return {
      missing: [],
      vanished: [],
      check: { check: 'count', passed: true, message: `The ERP counts ${expected}, and ${read} were read`, facts: { expected, read } },
    };
  }
  const theirs = await scanIds(connector, recordType, signal);
  const ours = await readIds(ctx, schema, state);
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
  return {
    missing,
    vanished,
    check: {
      check: 'count',
      passed: true,
      message: `The numbers differed; every id was compared: ${missing.length} to fetch, ${vanished.length} gone meanwhile`,
      facts,
    },
  };
}

/** After the missing ids were fetched: whatever the ERP still lists and we still lack fails the run. */
export function checkResolved(fetched: ReadonlySet<string>, { missing, check }: Resolved): ProofCheck {
  const unexplained = missing.filter((id) => !fetched.has(id));
  if (unexplained.length > 0) {
    throw new ProofFailed(
      'COUNT_MISMATCH',
      `${unexplained.length} records are listed by the ERP and can't be read, such as ${unexplained.slice(0, 5).join(', ')}`,
      'Check whether the integration role may view these records, then run the sync again.',
    );
  }
  return check;
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
  const ids = await readIds(ctx, schema, state);
  if (ids.size !== state.counters.fetched) {
    throw new ProofFailed(
      'STAGED_MISMATCH',
      `${state.counters.fetched} records were read, ${ids.size} are staged`,
      "Run the sync again; if it repeats, see the service's log.",
    );
  }
  return {
    check: 'staged',
    passed: true,
    message: `Each of the ${ids.size} records read is staged or listed as rejected`,
    facts: { staged: ids.size - state.counters.rejected, rejected: state.counters.rejected },
  };
}
