// What filters on lines cost PostgreSQL in blocks read, which is the same on any machine. The lines are long
// enough to be stored outside of their records, where every look at them is a read of its own.
import { createHash } from 'node:crypto';
import { beforeAll, expect, it } from 'vitest';
import { tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { testDatabase } from '../../setup/database.ts';
import { makeOrganization } from '../../setup/organization.ts';
import { useStarted } from '../../setup/use-started.ts';
import { loadInvoices, richLineColumns } from '../fixture.ts';
import { countBlocks, createIndexes, describePlans } from './explain.ts';
import { parameter, selectableInvoices } from './selection-oracle.ts';

const records = 500;
const linesEach = 40;
const computeRank = (id: number): number => ((id - 1) * 7919) % records;
/**
 * Each record has the item `often`, one in ten `sometimes`, all but the smallest `large`, and 37 that few
 * others have.
 */
const createItems = (id: number): string[] => [
  'often',
  id % 10 === 0 ? 'sometimes' : `only ${id}`,
  computeRank(id) < 60 ? `small ${id}` : 'large',
  ...Array.from({ length: linesEach - 3 }, (_, at) => `item ${(id * 37 + at) % 5_000}`),
];
const createLine = (item: string, id: number, at: number): object => ({
  item,
  'item.name': createHash('sha256').update(`${id} ${at}`).digest('base64'),
  quantity: at + 1,
  due: `2026-01-${String(1 + ((id + at) % 28)).padStart(2, '0')}`,
});

const database = useStarted(() => testDatabase());
let site: Parameters<typeof countBlocks>[0];
let plainBlocks: number;

beforeAll(async () => {
  const { id: organizationId } = await makeOrganization(database.ctx);
  const rows = Array.from({ length: records }, (_, index) => ({
    id: index + 1,
    tranid: `INV${index}`,
    status: index % 3 === 0 ? 'open' : 'paid',
    total: `${computeRank(index + 1)}.5`,
    trandate: `2026-0${1 + (index % 9)}-1${index % 10}`,
    lines: JSON.stringify(createItems(index + 1).map((item, at) => createLine(item, index + 1, at))),
  }));
  const table = await loadInvoices(database.ctx, organizationId, rows, 'integer', richLineColumns);
  site = { ctx: database.ctx, organizationId, table, definition: selectableInvoices };
  await createIndexes(site);
  await database.ctx.db.control.raw(`vacuum (analyze) ${tenantSchema(organizationId)}."${table}"`);
  plainBlocks = await countBlocks(site, '', records);
});

const absent = Array.from({ length: 100 }, (_, n) => `absent ${n}`);
const many = (values: readonly string[]): string =>
  values.map((value) => parameter('lines.item', value)).join('&');
const alternatives = (values: readonly string[]): string =>
  parameter('or', `(${values.map((value) => `lines.item:eq:"${value}"`).join()})`);

const orders = [
  '',
  '&order=desc',
  '&sort=total',
  '&sort=total&order=desc',
  '&sort=date',
  '&sort=date&order=desc',
];
const queries: readonly (readonly [name: string, query: string, total: number])[] = [
  ['one absent value', many(absent.slice(0, 1)), 0],
  ['100 absent values', many(absent), 0],
  ['100 values that few records have', many(Array.from({ length: 100 }, (_, n) => `only ${n}`)), 90],
  ['a value that each record has', many(['often']), records],
  ['a value that one in ten records has', many(['sometimes']), records / 10],
  ['100 values, one of which each record has', many([...absent.slice(1), 'often']), records],
  ['or of ten absent values', alternatives(absent.slice(0, 10)), 0],
  [
    'or of a rare total and nine absent values',
    `${alternatives(absent.slice(0, 9)).slice(0, -1)}${encodeURIComponent(',total:gt:498)')}`,
    1,
  ],
];

describePlans('a filter on lines reads at most twenty times the blocks of the plain list', () => {
  it.each(queries)('%s', async (_name, query, total) => {
    const asked = orders.flatMap((order) =>
      [1, 25].map((pageSize) => `${query}${order}&pageSize=${pageSize}`),
    );
    const tooMany: string[] = [];
    for (const each of asked) {
      const known = await countBlocks(site, each, total);
      const counting = await countBlocks(site, each);
      if (Math.max(known, counting) > 20 * plainBlocks)
        tooMany.push(`${each.slice(-40)}: ${known} and ${counting}, plain ${plainBlocks}`);
    }
    expect(tooMany).toEqual([]);
  });

  it('reads a page of a frequent value from the index of its order, however many records have the value', async () => {
    const page = await countBlocks(site, `${many(['often'])}&sort=total`, records);
    expect(page).toBeLessThan(2 * plainBlocks);
  });

  it('reads few records more where those first in the order lack the value', async () => {
    const page = await countBlocks(site, `${many(['large'])}&sort=total&pageSize=1`, records - 60);
    expect(page).toBeLessThan(3 * plainBlocks);
  });
});
