// What NetSuite's connector takes to make the bench's records out of the JSON of its answers: signing, parsing, checking every
// value, without the lines, which are a query of their own. The answers are made outside the clock and stay in this process, so no network is counted.

import { hasLabel } from '../src/connectors/connector.ts';
import { netsuite } from '../src/connectors/netsuite/connector.ts';
import type { Ctx } from '../src/core/ctx.ts';
import type { GuardedFetch } from '../src/core/guarded-fetch.ts';
import { erpNow, makeRecord, recordType } from './sync-rows.ts';

const pageSize = 1_000;
const fields = recordType.fields.filter(({ name, type }) => name !== 'id' && type !== 'lines');

/** As NetSuite writes it: T and F for booleans, labels beside their values. */
function itemOf(n: number): Record<string, unknown> {
  const { id, values, labels } = makeRecord(n, 0);
  const item: Record<string, unknown> = { links: [], id };
  for (const field of fields) {
    const value = values[field.name] ?? null;
    item[field.name] = field.type === 'boolean' ? (value === 'true' ? 'T' : 'F') : value;
    if (hasLabel(field)) item[`df_${field.name}`] = labels[field.name];
  }
  return item;
}

function answerOf(first: number, total: number): string {
  const count = Math.min(pageSize, total - first + 1);
  const items = Array.from({ length: count }, (_, index) => itemOf(first + index));
  return JSON.stringify({ links: [], count, hasMore: first + count <= total, items, offset: 0, totalResults: total - first + 1 });
}

/** Seconds for so many records. */
export async function timeParsing(ctx: Ctx, records: number): Promise<number> {
  let text = '';
  const fetch: GuardedFetch = async () => ({ status: 200, headers: { date: erpNow.toUTCString() }, text });
  const connector = netsuite.open(
    { ...ctx, fetch },
    { accountId: '1234567', baseUrl: null, authentication: { method: 'tba', consumerKey: 'bench', tokenId: 'bench' } },
    { consumerSecret: 'bench', tokenSecret: 'bench' },
  );
  const { signal } = new AbortController();
  let spentMs = 0;
  let afterId: string | null = null;
  for (let read = 0; read < records; ) {
    text = answerOf(read + 1, records);
    const startMs = performance.now();
    const page = await connector.readPage({
      recordType,
      fields: fields.map(({ name }) => name),
      afterId,
      changedSince: null,
      limit: pageSize,
      signal,
    });
    spentMs += performance.now() - startMs;
    if (page.rejected.length > 0) throw new Error(`a record was rejected: ${JSON.stringify(page.rejected[0])}`);
    read += page.records.length;
    afterId = page.lastId;
  }
  return spentMs / 1000;
}
