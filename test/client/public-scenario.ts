// What a customer's program would do with types made from the description of a published version alone.
import createClient from 'openapi-fetch';
import type { components, paths } from './.generated/public.ts';

type Invoice = components['schemas']['Invoice'];
const [, , baseUrl = '', key = '', tenant = ''] = process.argv;

// Lists are offered as NDJSON and CSV too: this client reads JSON.
const client = createClient<paths, 'application/json'>({
  baseUrl,
  headers: { authorization: `Bearer ${key}`, 'x-tenant-id': tenant },
});

function given<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  if (answer.data === undefined)
    throw new Error(
      `${answer.response.url} was answered ${answer.response.status} ${JSON.stringify(answer.error)}`,
    );
  return answer.data;
}

const listed = given(
  await client.GET('/v1/invoices', {
    params: {
      query: {
        status: ['open', 'paid'],
        date_after: '2026-01-01',
        sort: 'total',
        order: 'desc',
        pageSize: 3,
      },
    },
  }),
);
const totals: Invoice['total'][] = listed.data.map(({ total }) => total);

// Field names are one value with commas, the only parameter of this form.
const narrowed = given(
  await client.GET('/v1/invoices', {
    params: { query: { fields: ['number', 'paid'], pageSize: 1 } },
    querySerializer: { array: { style: 'form', explode: false } },
  }),
);

const walked: string[] = [];
for (let page = 1, pages = 1; page <= pages; page += 1) {
  const { data, pagination } = given(
    await client.GET('/v1/invoices', { params: { query: { page, pageSize: 5 } } }),
  );
  walked.push(...data.map(({ id }) => id));
  pages = pagination.totalPages;
}

const first = await client.GET('/v1/invoices/{id}', { params: { path: { id: walked[0] ?? '' } } });
const one = given(first);
const tag = first.response.headers.get('etag') ?? '';
const held = await client.GET('/v1/invoices/{id}', {
  params: { path: { id: one.data.id }, header: { 'If-None-Match': tag } },
  parseAs: 'text',
});

// Of a change, `op` tells the type of its record.
const changes = given(await client.GET('/v1/invoices/changes', { params: { query: { limit: 2 } } }));
const changed = changes.data.map((change) => (change.op === 'upsert' ? change.record.number : change.id));
const gone: components['schemas']['InvoiceDeletion']['record'][] = changes.data.flatMap(({ op }) =>
  op === 'delete' ? [null] : [],
);

// What a record answers can be sent back.
const again = await client.GET('/v1/invoices', {
  params: { query: { id: [one.data.id], total_gte: one.data.total ?? 0 } },
});
if (again.data?.data.length !== 1) throw new Error('the record is not found by its own values');

const missing = await client.GET('/v1/invoices/{id}', { params: { path: { id: '999999' } } });
const code: 'NOT_FOUND' | undefined =
  missing.error?.error.code === 'NOT_FOUND' ? missing.error.error.code : undefined;

// What the description does not know must not compile.
// @ts-expect-error: no such filter
await client.GET('/v1/invoices', { params: { query: { colour: 'red' } } });
// Next to a known filter it compiles, unless the query is checked by itself.
type ListQuery = NonNullable<paths['/v1/invoices']['get']['parameters']['query']>;
// @ts-expect-error: no such filter
const mixed = { total_gt: 0, totl_lt: 9 } satisfies ListQuery;
const refused = await client.GET('/v1/invoices', { params: { query: mixed } });
// @ts-expect-error: this field sorts nothing
await client.GET('/v1/invoices', { params: { query: { sort: 'customer' } } });
// @ts-expect-error: no such resource
await client.GET('/v1/orders', {});
// @ts-expect-error: a record has no such field
const unknownField: unknown = one.data.colour;
// @ts-expect-error: a record that is gone has no fields
const unsure = (change: (typeof changes.data)[number]): unknown => change.record.number;

console.log(
  JSON.stringify({
    refused: refused.response.status,
    totals,
    total: listed.pagination.total,
    narrowed: narrowed.data.map((record) => Object.keys(record)),
    walked: { ids: walked.length, distinct: new Set(walked).size },
    one: { id: one.data.id === walked[0], lines: one.data.lines?.map(({ quantity }) => quantity) },
    held: held.response.status,
    changed,
    gone: gone.length + (typeof unsure === 'function' ? 0 : 1),
    missing: { status: missing.response.status, code },
    unknownField: unknownField === undefined,
  }),
);
