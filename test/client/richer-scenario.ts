// What a customer's program would do with a version that declares summaries, related records, search and
// alternatives: every name that it uses and every value that it gets has a type made from the description
// alone.
import createClient from 'openapi-fetch';
import type { components, paths } from './.generated/richer.ts';

type Row = components['schemas']['InvoiceSummaryRow'];
const [, , baseUrl = '', key = '', tenant = ''] = process.argv;
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

const summary = given(
  await client.GET('/v2/invoices/summary', {
    params: {
      query: {
        by: ['customer', 'date.quarter'],
        sum: ['total'],
        max: ['date', 'total'],
        count: true,
        sort: '-sum.total',
        limit: 2,
      },
    },
  }),
);
// Text with exact digits, integers and group keys, each of which may be missing or null.
const sums: (string | null | undefined)[] = summary.data.map(({ sum }) => sum?.total);
const counts: (number | undefined)[] = summary.data.map(({ count }) => count);
const quarters: (string | null | undefined)[] = summary.data.map((row) => row['date.quarter']);
const lastDay = (row: Row): string | null | undefined => row.max?.date;

const flat = { querySerializer: { array: { style: 'form', explode: false } } } as const;
const listed = given(
  await client.GET('/v2/invoices', {
    params: { query: { expand: ['buyer'], fields: ['number', 'customer'], sort: 'date,-total' } },
    ...flat,
  }),
);
// A related record has the type of its own resource.
const buyers: (components['schemas']['Party'] | null | undefined)[] = listed.data.map(({ buyer }) => buyer);
const one = given(
  await client.GET('/v2/invoices/{id}', {
    params: { path: { id: '2' }, query: { expand: ['buyer'] } },
    ...flat,
  }),
);
const status: string | null | undefined = one.data.buyer?.status;

const found = given(
  await client.GET('/v2/invoices', {
    params: {
      query: {
        q: 'inv-1',
        or: '(total:gt:11,number:eq:"INV-1")',
        'lines.item': ['7'],
        'lines.quantity_gt': 1,
        sort: '-total',
      },
    },
  }),
);

// What the description does not know must not compile.
// @ts-expect-error: no such aggregate
await client.GET('/v2/invoices/summary', { params: { query: { sum: ['seq'] } } });
// @ts-expect-error: no such group
await client.GET('/v2/invoices/summary', { params: { query: { by: ['date.decade'] } } });
// @ts-expect-error: no such relation
await client.GET('/v2/invoices', { params: { query: { expand: ['seller'] } } });
// @ts-expect-error: this combination is not declared
await client.GET('/v2/invoices', { params: { query: { sort: 'total,-date' } } });
// @ts-expect-error: this resource has no summary
await client.GET('/v2/parties/summary', {});
// @ts-expect-error: this resource is not searched
await client.GET('/v2/parties', { params: { query: { q: 'text' } } });
// @ts-expect-error: a sum is text, so that no digit is lost
const number: number | null | undefined = summary.data[0]?.sum?.total;

console.log(
  JSON.stringify({
    sums,
    counts,
    quarters,
    lastDay: summary.data.map(lastDay),
    groups: summary.total,
    buyers: buyers.slice(0, 3).map((buyer) => buyer?.number ?? null),
    status,
    found: found.data.map(({ number: name }) => name),
    number: typeof number,
  }),
);
