// Reads a summary in one database statement: exact digits, and nothing loaded into memory but the rows of the
// response.
import { responseTooLong } from '../../../core/text/truncate-list.ts';
import { isTooLarge } from '../connection/failures.ts';
import type { Freshness, Reader, StateRow } from '../connection/reader.ts';
import { withinTimeLimit } from '../connection/time-limit.ts';
import { parameterError, parameterProblem } from '../plan/request.ts';
import { maxGroups, type SummaryPlan } from '../plan/summary-plan.ts';
import { largeSummaryStatement, summaryStatement } from '../sql/summary-sql.ts';
import { type RecordsText, readPieces, readRow } from './rows.ts';
import { assertScopeFresh } from './stale-fields.ts';

/**
 * `rows`: JSON objects separated by commas, in their order; `total`: number of groups, 1 without group keys.
 */
export type SummaryRead = {
  readonly rows: RecordsText;
  readonly total: number;
  readonly freshness: Freshness;
};

type SummaryRow = StateRow & { readonly rows: string; readonly total: number };

/**
 * The groups of a summary, of the newest generation. Rejects with 400 `too_many_groups` when there are more
 * than `maxGroups` and the plan has no limit, with 400 when the rows have more than `maxAnswerBytes`, and
 * with 503 as `readRow` and `assertScopeFresh` do or when it takes too long.
 */
export const readSummary = (reader: Reader, plan: SummaryPlan): Promise<SummaryRead> =>
  withinTimeLimit(reader, async (limited) => (await readText(limited, plan)) ?? readLarge(limited, plan));

/**
 * As `readSummary`; undefined when the rows have more than `maxTextBytes`. Takes no permit, so that several
 * requests can share one read.
 */
export const readSmallSummary = (reader: Reader, plan: SummaryPlan): Promise<SummaryRead | undefined> =>
  withinTimeLimit(reader, (limited) => readText(limited, plan));

/** As `readSummary`, for rows that `readSmallSummary` does not return. */
export const readLargeSummary = (reader: Reader, plan: SummaryPlan): Promise<SummaryRead> =>
  withinTimeLimit(reader, (limited) => readLarge(limited, plan));

/** Throws 503 for a stale field of the row scope, and 400 for too many groups. */
function assertServable({ list, limit }: SummaryPlan, { total, freshness }: SummaryRead): void {
  assertScopeFresh(list.endpoint, freshness);
  if (limit === null && total > maxGroups) throw tooManyGroups(total);
}

function tooManyGroups(total: number): Error {
  const message =
    `There are ${total} groups, and a response has at most ${maxGroups}. Request the first of them with "limit", ` +
    'or all of them with the header "Accept: application/x-ndjson".';
  return parameterError([parameterProblem('by', 'too_many_groups', message)]);
}

async function readText(reader: Reader, plan: SummaryPlan): Promise<SummaryRead | undefined> {
  const { recordType } = plan.list.endpoint;
  const reading = readRow<SummaryRow>(reader, recordType, (table) => summaryStatement(table, plan));
  const found = await reading.catch((error: unknown) =>
    isTooLarge(error) ? undefined : Promise.reject(error),
  );
  if (found === undefined) return undefined;
  const read = { rows: found.row.rows, total: found.row.total, freshness: found.freshness };
  assertServable(plan, read);
  return read;
}

async function readLarge(reader: Reader, plan: SummaryPlan): Promise<SummaryRead> {
  const { recordType } = plan.list.endpoint;
  try {
    const { row, pieces, freshness } = await readPieces<{ total: number }>(reader, recordType, (table) =>
      largeSummaryStatement(table, plan, reader.maxAnswerBytes),
    );
    const read = { rows: pieces, total: row.total, freshness };
    assertServable(plan, read);
    return read;
  } catch (error) {
    if (isTooLarge(error))
      throw responseTooLong(
        'limit',
        'request fewer groups with "limit", or all of them as application/x-ndjson',
      );
    throw error;
  }
}
