// The service responds as the description of a version that declares everything says, and takes the examples
// of the description.
import type { oas31 } from 'openapi3-ts';
import { beforeAll, describe, expect, it } from 'vitest';
import { useStarted } from '../../setup/use-started.ts';
import { openDescribed } from '../described.ts';
import { type Get, openSite } from '../fixture.ts';
import { describeTargets } from '../related.ts';
import { parties, richInvoices, richTargets } from './richer-document.ts';

const site = useStarted(() => {
  const rows = Array.from({ length: 12 }, (_, index) => ({
    id: index + 1,
    tranid: `INV-${index + 1}`,
    status: index % 2 === 0 ? 'open' : 'paid',
    total: index === 4 ? null : `${index + 1}.25`,
    seq: index === 5 ? '9007199254740993' : String(index % 3),
    paid: index % 2 === 0,
    trandate: index === 3 ? null : `2026-0${(index % 9) + 1}-15`,
    lastmodified: '2026-01-31T10:00:00Z',
    entity: index % 3 === 0 ? null : String(index % 3),
    entityName: `Customer ${index % 3}`,
    lines: `[{"item":"${index % 4}","quantity":${index}.5}]`,
  }));
  return openSite({ rows, versions: [] });
});
let text: string;
const get: Get = (path, headers) => site.get(path, headers);

beforeAll(async () => {
  await describeTargets(site.ctx, site.organizationId, richTargets);
  await site.publish({ endpoints: [richInvoices, parties] });
  ({ text } = await get('/openapi/v1').expect(200));
});

const listParameters = (path: string): oas31.ParameterObject[] => JSON.parse(text).paths[path].get.parameters;

describe('a version that declares everything', () => {
  it.each([
    ['/v1/invoices?expand=buyer', '/v1/invoices'],
    ['/v1/invoices?fields=number&expand=buyer&pageSize=3', '/v1/invoices'],
    ['/v1/invoices/2?expand=buyer', '/v1/invoices/{id}'],
    [
      '/v1/invoices?q=INV&or=(status:eq:open,total:gt:3)&lines.quantity_gt=2&sort=date,-total',
      '/v1/invoices',
    ],
    ['/v1/invoices?sort=-total', '/v1/invoices'],
    ['/v1/invoices/summary', '/v1/invoices/summary'],
    [
      '/v1/invoices/summary?sum=total&avg=total&min=total&min=date&max=date&count_distinct=customer',
      '/v1/invoices/summary',
    ],
    [
      '/v1/invoices/summary?by=customer&by=date.month&sum=total&count=true&sort=-sum.total&limit=3',
      '/v1/invoices/summary',
    ],
    ['/v1/invoices/summary?sum=total&min=date&number=none', '/v1/invoices/summary'],
    ['/v1/invoices/summary?by=seq&by=paid&avg=total', '/v1/invoices/summary'],
    ['/v1/invoices/changes', '/v1/invoices/changes'],
  ])('%s responds as described', async (address, path) => {
    const { status, body } = await get(address);
    expect([status, body.error]).toEqual([200, undefined]);
    expect(openDescribed(text)(path, { status, body })).toEqual([]);
  });

  it.each(
    richInvoices.groups.flatMap((group) =>
      typeof group === 'string' ? [group] : group.periods.map((period) => `${group.field}.${period}`),
    ),
  )('groups by %s as described', async (by) => {
    const answer = await get(`/v1/invoices/summary?by=${by}`).expect(200);
    expect(answer.body.data.length).toBeGreaterThan(1);
    expect(openDescribed(text)('/v1/invoices/summary', answer)).toEqual([]);
  });

  it('takes every sort, group and aggregate that the description lists', async () => {
    const listValues = (path: string, name: string): string[] => {
      const schema = listParameters(path).find((parameter) => parameter.name === name)
        ?.schema as oas31.SchemaObject;
      return (schema.enum ?? (schema.items as oas31.SchemaObject).enum ?? []) as string[];
    };
    for (const sort of listValues('/v1/invoices', 'sort')) await get(`/v1/invoices?sort=${sort}`).expect(200);
    const summary = '/v1/invoices/summary';
    const functions = ['sum', 'avg', 'min', 'max', 'count_distinct'];
    const all = functions
      .flatMap((name) => listValues(summary, name).map((field) => `${name}=${field}`))
      .join('&');
    for (const sort of listValues(summary, 'sort')) {
      const by = functions.some((name) => sort.replace('-', '').startsWith(`${name}.`))
        ? 'paid'
        : sort.replace('-', '');
      await get(`${summary}?${all}&count=true&by=${by === 'count' ? 'paid' : by}&sort=${sort}`).expect(200);
    }
  });

  it('takes the example of `or`, and values in double quotes', async () => {
    const { examples = [] } = (listParameters('/v1/invoices').find(({ name }) => name === 'or')?.schema ??
      {}) as oas31.SchemaObject;
    expect(examples).toHaveLength(1);
    for (const or of [
      ...examples,
      '(status:eq:"op,""en",number:eq:"INV-(2)")',
      '(status:eq:,lines.item:eq:1)',
    ])
      await get(`/v1/invoices?or=${encodeURIComponent(String(or))}`).expect(200);
  });

  it.each([
    '/v1/invoices?expand=seller',
    '/v1/invoices/summary?sum=seq',
    '/v1/parties?q=INV',
    '/v1/parties/summary?count=true',
  ])('%s is refused as described', async (address) => {
    const { status, body } = await get(address);
    expect([400, 404]).toContain(status);
    const path = address.replace(/\?.*/, '').replace('/parties/summary', '/parties/{id}');
    expect(openDescribed(text)(path, { status, body })).toEqual([]);
  });
});
