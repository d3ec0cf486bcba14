// Counts the records of a resource that a reader can read.
import type { ReadableEndpoint } from '../../version/compile.ts';
import { currentFreshness, type Freshness, type Reader } from '../connection/reader.ts';
import { planList } from '../plan/plan.ts';
import { readListPage } from './list.ts';

/**
 * The number of records that the caller can read, and the state of the data. Rejects with 503 as
 * `readListPage` does.
 */
export async function countRecords(
  reader: Reader,
  endpoint: ReadableEndpoint,
): Promise<{ total: number; freshness: Freshness }> {
  if (endpoint.scope.length > 0) return readListPage(reader, planList(endpoint, oneRecord));
  const freshness = await currentFreshness(reader, endpoint.recordType);
  return { total: freshness.rowCount, freshness };
}
const oneRecord = new Map([
  ['pageSize', ['1']],
  ['fields', ['id']],
]);
