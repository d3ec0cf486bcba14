// Reads for callers inside the service: any field of one organization's records, through the engine of the
// public interface, with problems reported instead of failures when fields of the ERP change.
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { TenantCtx } from '../../../src/core/ctx.ts';
import { fullAccess } from '../../../src/core/record-access.ts';
import { openKnex } from '../../../src/db/connect.ts';
import { getRecordReader, type RecordQuery, type RecordReader } from '../../../src/public/index.ts';
import { makeOrganization } from '../../setup/organization.ts';
import { until } from '../../setup/until.ts';
import { useStarted } from '../../setup/use-started.ts';
import {
  bumpGeneration,
  type InvoiceRow,
  invoiceColumns,
  loadInvoices,
  openSite,
  readText,
  withReads,
} from '../fixture.ts';

// Few distinct values: ties, nulls, numbers whose digits a binary float loses.
const pick = <T>(list: readonly T[], seed: number): T | null => list[seed % (list.length + 1)] ?? null;
const rows: InvoiceRow[] = Array.from({ length: 97 }, (_, index) => ({
  id: ((index * 37) % 97) + 1,
  tranid: pick(['a', 'B', 'b', 'é', 'ß', 'Z', '', '10', '2'], index * 7),
  status: pick(['open', 'paid'], index * 3),
  total: pick(['1.50', '-15.30', '0', '12345678901234567890.10'], index * 3),
  seq: pick(['1', '2', '9007199254740993'], index),
  paid: pick([true, false], index),
  trandate: pick(['2026-01-31', '2026-02-01', '2025-12-31'], index * 2),
  lastmodified: pick(['2026-01-31T00:00:00Z', '2026-02-01T00:00:00Z'], index),
  entity: pick(['7', '8'], index),
  entityName: pick(['Ann & Co', 'Bob'], index),
  lines: index % 4 === 0 ? null : '[{"item":"1","item.name":"Bolt","quantity":2.50,"secretcost":1}]',
}));

// Queries that wait for a lock here wait until the test releases it.
const site = useStarted(() => openSite({ settings: { readTimeoutMs: 60_000 }, rows, versions: [] }));
let tenant: TenantCtx;
let records: RecordReader;

beforeAll(async () => {
  ({ tenant } = site);
  records = getRecordReader(withReads(site.ctx));
});

const sql = <T extends object>(text: string, values?: readonly unknown[]) => site.sql<T>(text, values);
const listed = (asked: Partial<RecordQuery>, as = tenant) =>
  records.list(as, query(asked), everything, fullAccess);
const named = (...sources: string[]) => sources.map((source) => ({ name: source, source }));
const query = (given: Partial<RecordQuery>): RecordQuery => ({
  recordType: 'invoice',
  columns: named('tranid'),
  filters: [],
  sort: [],
  ...given,
});
const everything = { page: 1, pageSize: 100 };

const parseIds = (text: string): number[] =>
  (JSON.parse(text) as { id: string }[]).map(({ id }) => Number(id));
const codes = (problems: readonly { path: string; code: string }[]) =>
  problems.map(({ path, code }) => [path, code]);

const columns: Record<string, string> = { 'entity.name': 'l_entity', id: 'id' };
const physical = (source: string): string => columns[source] ?? `f_${source}`;
const sources = ['tranid', 'status', 'total', 'seq', 'paid', 'trandate', 'lastmodified', 'entity.name', 'id'];
const conditions: { filter: RecordQuery['filters'][number]; sql: string }[] = [
  {
    filter: { source: 'status', operator: 'eq', values: ['open', 'none'] },
    sql: "f_status in ('open', 'none')",
  },
  { filter: { source: 'total', operator: 'gte', values: [0] }, sql: 'f_total >= 0' },
  {
    filter: { source: 'total', operator: 'not', values: ['12345678901234567890.1'] },
    sql: 'f_total is distinct from 12345678901234567890.1',
  },
  { filter: { source: 'paid', operator: 'null', values: [true] }, sql: 'f_paid is null' },
  { filter: { source: 'seq', operator: 'gt', values: [1] }, sql: 'f_seq > 1' },
  {
    filter: { source: 'lastmodified', operator: 'after', values: ['2026-01-31'] },
    sql: "f_lastmodified >= '2026-02-01Z'",
  },
  { filter: { source: 'entity.name', operator: 'contains', values: ['ANN'] }, sql: "l_entity like '%Ann%'" },
  { filter: { source: 'id', operator: 'eq', values: ['3', 5, 8] }, sql: 'id in (3, 5, 8)' },
];

describe('a list', () => {
  it('returns, page by page, the records of a plain statement in its order, for any keys, with nulls and ties', async () => {
    const sorts = fc.uniqueArray(
      fc.record({ source: fc.constantFrom(...sources), direction: fc.constantFrom('asc', 'desc') }),
      {
        maxLength: 3,
        selector: ({ source }) => source,
      },
    );
    await fc.assert(
      fc.asyncProperty(
        sorts,
        fc.uniqueArray(fc.constantFrom(...conditions), { maxLength: 2 }),
        fc.integer({ min: 5, max: 60 }),
        async (sort, chosen, pageSize) => {
          const order = sort.map(({ source, direction }) => `${physical(source)} ${direction} nulls last`);
          const where = chosen.map((condition) => condition.sql).join(' and ') || 'true';
          const wanted = await sql<{ id: string }>(
            `select id from $t where ${where} order by ${[...order, `id ${sort[0]?.direction ?? 'asc'}`].join(', ')}`,
          );
          const seen: number[] = [];
          const asked = query({ sort, filters: chosen.map(({ filter }) => filter) });
          for (let page = 1; ; page += 1) {
            const found = await records.list(tenant, asked, { page, pageSize }, fullAccess);
            expect([found.total, found.problems]).toEqual([wanted.length, []]);
            seen.push(...parseIds(found.records));
            if (page * pageSize >= wanted.length) break;
          }
          expect(seen).toEqual(wanted.map(({ id }) => Number(id)));
          const never = new AbortController().signal;
          const csv = await records.file(tenant, { ...asked, columns: [] }, 'csv', never, fullAccess);
          expect((await readText(csv.bytes)).split('\r\n')).toEqual(['\ufeffid', ...seen.map(String), '']);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('writes values as the public interface does, to the last digit, and lines with all their fields', async () => {
    const [row] = await sql<{ id: string }>(
      `select id from $t where f_total = 12345678901234567890.10 and f_seq = 9007199254740993 and f_lines is not null limit 1`,
    );
    const columns = [...named('total', 'seq', 'entity.name', 'lines'), { name: 'made', source: 'trandate' }];
    const list = await listed({
      columns,
      filters: [{ source: 'id', operator: 'eq', values: [row?.id ?? ''] }],
    });
    expect(list.records).toMatch(
      /^\[\{"id":"\d+","total":12345678901234567890\.10,"seq":"9007199254740993","entity\.name":(null|"[^"]+"),"lines":\[\{"item":"1","item\.name":"Bolt","quantity":2\.50,"secretcost":1\}\],"made":("[\d-]{10}"|null)\}\]$/,
    );
    expect(list.columns.map(({ name, type }) => [name, type])).toEqual([
      ['total', 'number'],
      ['seq', 'integer'],
      ['entity.name', 'text'],
      ['lines', 'lines'],
      ['made', 'date'],
    ]);
    expect(list.syncedAt).toBe('2026-03-01T08:00:00Z');
    const record = await records.get(
      tenant,
      'invoice',
      row?.id ?? '',
      ['total', 'entity.name', 'nothing', 'id'],
      fullAccess,
    );
    expect(record).toMatch(
      /^\{"id":"\d+","total":12345678901234567890\.10,"entity\.name":(null|"[^"]+"),"nothing":null\}$/,
    );
  });

  it('finds nothing for another organization, another record type or an illegal id', async () => {
    const stranger = { ...site.ctx, organizationId: (await makeOrganization(site.ctx)).id };
    expect(await listed({}, stranger)).toMatchObject({ records: '[]', total: 0, syncedAt: null });
    for (const recordType of ['customer', 'constructor', "x'"]) {
      const found = await listed({ recordType });
      expect([found.records, found.total, codes(found.problems)]).toEqual([
        '[]',
        0,
        [['recordType', 'unknown_record_type']],
      ]);
    }
    await loadInvoices(site.ctx, stranger.organizationId, [{ id: 1, tranid: 'theirs' }]);
    const asked = query({ filters: [{ source: 'id', operator: 'eq', values: [1] }] });
    expect((await listed(asked, stranger)).records).toBe('[{"id":"1","tranid":"theirs"}]');
    expect((await listed(asked)).records).not.toContain('theirs');
    for (const id of ['01', 'x', '', '99999999999999999999999'])
      expect(await records.get(tenant, 'invoice', id, ['tranid'], fullAccess)).toBeUndefined();
    expect(await records.get(tenant, 'customer', '1', ['tranid'], fullAccess)).toBeUndefined();
  });

  it('leaves connections to others, however many reads of an organization wait', async () => {
    const admin = openKnex(site.address, null, 2);
    const waiting = async (wanted: number) => {
      const { rows: found } = await admin.raw<{ rows: object[] }>(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%record_state%'",
      );
      return found.length === wanted;
    };
    const lock = await admin.transaction();
    await lock.raw(`lock table ${site.schema}.${site.table} in access exclusive mode`);
    const asked = Array.from({ length: 8 }, (_, index) =>
      records.list(tenant, query({}), { page: index + 1, pageSize: 5 }, fullAccess),
    );
    await until(() => waiting(2));
    expect(await sql<{ one: number }>('select 1 as one')).toEqual([{ one: 1 }]);
    await lock.rollback();
    for (const found of await Promise.all(asked)) expect(found.total).toBe(rows.length);
    await admin.destroy();
  });

  it('shows a publish at once', async () => {
    const asked = query({ filters: [{ source: 'tranid', operator: 'eq', values: ['new'] }] });
    expect((await listed(asked)).total).toBe(0);
    await sql(`update $t set f_tranid = 'new' where id = 1`);
    await bumpGeneration(site.ctx, tenant.organizationId, rows.length);
    expect((await listed(asked)).total).toBe(1);
    await sql(`update $t set f_tranid = 'a' where id = 1`);
  });
});

describe('missing sources', () => {
  const set = (field: string, state: string) =>
    sql('update $wh.record_columns set state = $1 where field = $2', [state, field]);

  it.each([
    ['vanished', 'vanished', true],
    ['loading', 'still_loading', true],
    ['replaced', 'unknown_source', false],
  ])(
    'a %s column reads as null, is skipped as a sort key, and as a filter matches nothing',
    async (state, code, passing) => {
      await set('status', state);
      try {
        const columns = named('status', 'tranid');
        const found = await listed({ columns, sort: [{ source: 'status', direction: 'asc' }] });
        expect(codes(found.problems)).toEqual([
          ['columns[0]', code],
          ['sort[0].source', code],
        ]);
        expect(found.problems).toMatchObject([{ passing }, { passing }]);
        expect(found.columns[0]).toEqual({ name: 'status', source: 'status', type: null });
        const ids = rows.map(({ id }) => Number(id)).sort((a, b) => a - b);
        expect(JSON.parse(found.records)).toMatchObject(ids.map((id) => ({ id: String(id), status: null })));
        const filtered = await listed({ filters: [{ source: 'status', operator: 'not', values: ['x'] }] });
        expect([filtered.records, filtered.total, codes(filtered.problems)]).toEqual([
          '[]',
          0,
          [['filters[0].source', code]],
        ]);
      } finally {
        await set('status', 'live');
      }
    },
  );

  it('a field that changed its type keeps its name; a filter that no longer applies matches nothing', async () => {
    await set('total', 'replaced');
    await sql(`alter table $t add column f_total_2 text collate "C"`);
    await sql(
      `insert into $wh.record_columns (record_type, column_name, field, part, type, state, position) values ('invoice', 'f_total_2', 'total', 'value', 'text', 'live', $1)`,
      [invoiceColumns.length],
    );
    try {
      const filters: RecordQuery['filters'] = [{ source: 'total', operator: 'gte', values: [1] }];
      const found = await listed({ columns: named('total'), filters });
      expect([found.total, found.columns[0]?.type, codes(found.problems)]).toEqual([
        0,
        'text',
        [['filters[0].operator', 'operator_misfits']],
      ]);
    } finally {
      await sql("delete from $wh.record_columns where column_name = 'f_total_2'");
      await set('total', 'live');
    }
  });

  it.each<[RecordQuery['filters'][number], string, string]>([
    [{ source: 'lines', operator: 'eq', values: ['x'] }, 'filters[0].source', 'lines'],
    [{ source: 'statuss', operator: 'eq', values: ['x'] }, 'filters[0].source', 'unknown_source'],
    [{ source: 'status', operator: 'eq', values: [] }, 'filters[0].values', 'invalid_value'],
    [{ source: 'status', operator: 'eq', values: [1] }, 'filters[0].values', 'invalid_value'],
    [{ source: 'status', operator: 'contains', values: ['ab'] }, 'filters[0].values', 'out_of_range'],
    [{ source: 'status', operator: 'null', values: ['true'] }, 'filters[0].values', 'invalid_value'],
    [{ source: 'total', operator: 'gt', values: [1, 2] }, 'filters[0].values', 'invalid_value'],
    [{ source: 'total', operator: 'gt', values: [1e300] }, 'filters[0].values', 'invalid_value'],
    [{ source: 'seq', operator: 'eq', values: [2 ** 60] }, 'filters[0].values', 'invalid_value'],
    [{ source: 'paid', operator: 'eq', values: ['true'] }, 'filters[0].values', 'invalid_value'],
    [{ source: 'trandate', operator: 'after', values: ['2026-02-30'] }, 'filters[0].values', 'invalid_value'],
  ])('%j is one problem, with its path, and matches nothing', async (filter, path, code) => {
    const asked = query({ filters: [filter] });
    expect(codes(await records.check(tenant, asked, fullAccess))).toEqual([[path, code]]);
    expect((await listed(asked)).total).toBe(0);
  });

  it('503 for a record type that was never published', async () => {
    await sql('update $wh.record_state set generation = 0');
    try {
      const cold = getRecordReader(withReads(site.ctx));
      await expect(
        cold.list({ ...tenant, organizationId: tenant.organizationId }, query({}), everything, fullAccess),
      ).rejects.toMatchObject({ status: 503 });
    } finally {
      await sql('update $wh.record_state set generation = 9');
    }
  });
});
