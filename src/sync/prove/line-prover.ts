// Proves that no line of a record was lost: a page of records is staged only after their lines were compared
// with the ERP's own totals, one aggregate request per page. Records that differ are read again by id; what
// still differs fails the run.
import type { Connector, RecordPage, RecordTypeMetadata } from '../../connectors/connector.ts';
import type { SourceRecord } from '../../connectors/source-records.ts';
import type { RunState } from '../../warehouse/run-state-row.ts';
import { readByIds } from '../account/read-by-ids.ts';
import { ProofFailed } from '../queue/retry.ts';
import {
  type ComparableLines,
  compareReadLines,
  type DifferingLines,
  describeCompared,
  findComparableLines,
  requestTotals,
} from './line-totals.ts';

const idsPerTotals = 1_000;
/** How often records whose lines differ, perhaps by an edit, are read again before the run fails. */
const maxRereads = 3;

/** Facts of the check `lines` about one page. */
export type LineFacts = { readonly records: number; readonly reread: number; readonly compared: string };

function linesMismatch(differing: readonly DifferingLines[]): ProofFailed {
  const first = differing.find(({ read, erp }) => read !== erp) ?? differing[0];
  const example =
    first === undefined || first.read === first.erp
      ? ''
      : `: ${first.read} lines were read, and the ERP counts ${first.erp}`;
  return new ProofFailed(
    'LINES_MISMATCH',
    `The lines of ${differing.length} records differ from the ERP's own totals, such as those of record ${first?.id}${example}`,
    'Run the sync again. If it fails again, check whether the integration role may view all lines of these records. Nothing was published.',
  );
}

/** What records are read from, and what of them is stored. */
type LineProverOptions = {
  readonly connector: Connector;
  readonly recordType: RecordTypeMetadata;
  readonly fields: readonly string[];
  readonly signal: AbortSignal;
  readonly state: Pick<RunState, 'columns' | 'plan'>;
};

async function rereadPages(options: LineProverOptions, ids: readonly string[]): Promise<RecordPage[]> {
  const pages: RecordPage[] = [];
  for await (const { page } of readByIds(options, options.fields, ids)) pages.push(page);
  return pages;
}

/**
 * Records that differ and were not returned again have been deleted since: throws `ProofFailed`
 * `LINES_MISMATCH` when the ERP still has lines of one of them. Makes no request where all were returned, or
 * had no lines left before.
 */
async function assertGone(
  options: LineProverOptions,
  lines: ComparableLines,
  differing: readonly DifferingLines[],
  pages: readonly RecordPage[],
): Promise<void> {
  const returned = new Set(pages.flatMap((page) => [...page.records, ...page.rejected]).map(({ id }) => id));
  const missing = differing.filter(({ id, erp }) => erp > 0 && !returned.has(id));
  for (let start = 0; start < missing.length; start += idsPerTotals) {
    const batch = missing.slice(start, start + idsPerTotals);
    const ids = batch.map(({ id }) => id);
    const { totals } = await requestTotals(options, lines, ids, null);
    const living = batch.filter(({ id }) => totals.has(id));
    if (living.length > 0) throw linesMismatch(living);
  }
}

/** What was read again of some records, and what was compared; `lines` is null where nothing could be. */
type ProvedLines = { readonly again: readonly RecordPage[]; readonly lines: LineFacts | null };
/** Proves the lines of records that were read. */
export type LineProver = (records: readonly SourceRecord[]) => Promise<ProvedLines>;

/**
 * The prover rejects with `ProofFailed` `LINES_MISMATCH` when lines still differ after repeated reads or
 * can't be read again, and with the connector's errors. A record that was deleted after it was read is left
 * to the next run.
 */
export function createLineProver(options: LineProverOptions): LineProver {
  const lines = findComparableLines(options, options.state);
  return async (records) => {
    if (lines === null || records.length === 0) return { again: [], lines: null };
    const again: RecordPage[] = [];
    let [pending, reread, description] = [records, 0, ''];
    for (let round = 0; pending.length > 0; round += 1) {
      const differing: DifferingLines[] = [];
      for (let start = 0; start < pending.length; start += idsPerTotals) {
        const found = await compareReadLines(options, lines, pending.slice(start, start + idsPerTotals));
        differing.push(...found.differing);
        if (round === 0) description = describeCompared(found.compared);
      }
      if (differing.length > 0 && round === maxRereads) throw linesMismatch(differing);
      const pages = await rereadPages(
        options,
        differing.map(({ id }) => id),
      );
      await assertGone(options, lines, differing, pages);
      again.push(...pages);
      pending = pages.flatMap((page) => page.records);
      if (round === 0) reread = pending.length;
    }
    return { again, lines: { records: records.length, reread, compared: description } };
  };
}
