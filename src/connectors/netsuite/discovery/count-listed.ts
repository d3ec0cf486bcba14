// Counts the records of record types that are listed and not described yet, to help people choose. Nothing is
// proved by these counts.
import type { RecordTypeHead } from '../../discovery.ts';
import { maxRowsPerQuery, type Suiteql, type SuiteqlRow } from '../requests/suiteql.ts';
import { transactionTypesQuery } from './account-lists.ts';
import { nullWhenRefused } from './catalogue.ts';

const toCount = (row: SuiteqlRow | undefined): number | null => {
  const count = row?.['n'];
  return typeof count === 'string' && /^\d{1,15}$/.test(count) ? Number(count) : null;
};

/** Null where NetSuite refuses. */
async function countTransactions(
  suiteql: Suiteql,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number> | null> {
  const answer = await nullWhenRefused({ suiteql, signal }, () =>
    suiteql.query(transactionTypesQuery, maxRowsPerQuery, signal),
  );
  return (
    answer && new Map(answer.rows.map((row) => [String(row['recordtype']).toLowerCase(), toCount(row) ?? 0]))
  );
}

/** As `Connector.countListed`: one request for all transactions, and one for each other type. */
export async function countListed(
  suiteql: Suiteql,
  heads: readonly RecordTypeHead[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const isTransaction = ({ family }: RecordTypeHead): boolean =>
    family === 'transaction' || family === 'customTransaction';
  const transactions = heads.some(isTransaction) ? await countTransactions(suiteql, signal) : null;
  const counted = await Promise.all(
    heads.map(async (head) => {
      const table = (head.table ?? head.name).toLowerCase();
      const known = transactions?.get(table);
      if (known !== undefined || !/^[a-z][a-z0-9_]{0,62}$/.test(table))
        return [head.name, known ?? null] as const;
      const answer = await nullWhenRefused({ suiteql, signal }, () =>
        suiteql.query(`SELECT COUNT(*) AS n FROM ${table}`, 1, signal),
      );
      // A type that has no records yet, and no table of its own.
      const none = isTransaction(head) && transactions !== null ? 0 : null;
      return [head.name, answer === null ? none : toCount(answer.rows[0])] as const;
    }),
  );
  return new Map(counted.flatMap(([name, count]) => (count === null ? [] : [[name, count] as const])));
}
