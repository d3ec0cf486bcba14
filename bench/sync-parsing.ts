// Time the NetSuite connector takes to turn JSON responses into the benchmark's records: signing, parsing and
// checking every value, without the lines, which are a separate query. Responses are built outside the
// measured time and stay in this process, so no network is counted.

import { hasLabel } from '../src/connectors/connector.ts';
import { netsuite } from '../src/connectors/netsuite/connector.ts';
import type { Ctx } from '../src/core/ctx.ts';
import type { GuardedFetch } from '../src/core/network/guarded-fetch.ts';
import { createRecord, erpNow, recordType } from './sync-records.ts';

const pageSize = 1_000;
const fields = recordType.fields.filter(({ name, type }) => name !== 'id' && type !== 'lines');

/** An item as NetSuite writes it: T and F for booleans, labels next to their values. */
function createItem(n: number): Record<string, unknown> {
  const { id, values, labels } = createRecord(n, 0);
  const item: Record<string, unknown> = { links: [], id };
  for (const field of fields) {
    const value = values[field.name] ?? null;
    item[field.name] = field.type === 'boolean' ? (value === 'true' ? 'T' : 'F') : value;
    if (hasLabel(field)) item[`df_${field.name}`] = labels[field.name];
  }
  return item;
}

function createResponse(first: number, total: number): string {
  const count = Math.min(pageSize, total - first + 1);
  const items = Array.from({ length: count }, (_, index) => createItem(first + index));
  return JSON.stringify({
    links: [],
    count,
    hasMore: first + count <= total,
    items,
    offset: 0,
    totalResults: total - first + 1,
  });
}

/** Seconds for `records` records. Rejects when the connector rejects a record. */
export async function timeParsing(ctx: Ctx, records: number): Promise<number> {
  let text = '';
  const fetch: GuardedFetch = async () => ({
    status: 200,
    headers: { date: erpNow.toUTCString() },
    text,
    parts: [text],
  });
  const connector = netsuite.create(
    { ...ctx, fetch },
    {
      accountId: '1234567',
      baseUrl: null,
      authentication: { method: 'tba', consumerKey: 'bench', tokenId: 'bench' },
    },
    { consumerSecret: 'bench', tokenSecret: 'bench' },
  );
  const { signal } = new AbortController();
  let spentMs = 0;
  let afterId: string | null = null;
  for (let read = 0; read < records; ) {
    text = createResponse(read + 1, records);
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
    if (page.rejected.length > 0)
      throw new Error(`A record was rejected: ${JSON.stringify(page.rejected[0])}`);
    read += page.records.length;
    afterId = page.lastId;
  }
  return spentMs / 1000;
}
