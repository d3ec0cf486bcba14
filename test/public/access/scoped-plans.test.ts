// The pure stages under a row scope: statements, their order in indexes, plan cache and narrowing.
import { describe, expect, it } from 'vitest';
import { type AccessLayer, type RecordAccess, unlimitedLayer } from '../../../src/core/record-access.ts';
import { copyStatement, countStatement } from '../../../src/public/export/export-sql.ts';
import { hasOnePlan, skipsRecords } from '../../../src/public/read/plan/order-index.ts';
import { planList, planRecord } from '../../../src/public/read/plan/plan.ts';
import { createPlanCache } from '../../../src/public/read/plan/plan-cache.ts';
import { boundedRanges, plainRanges } from '../../../src/public/read/plan/ranges.ts';
import { parseQuery } from '../../../src/public/read/plan/request.ts';
import {
  anchorsStatement,
  largeListStatement,
  largeRecordStatement,
  listStatement,
  recordStatement,
} from '../../../src/public/read/sql/list-sql.ts';
import { narrowEndpoint } from '../../../src/public/version/narrow.ts';
import { compileInvoices } from '../compiled.ts';
import { createRowScopes, scopedInvoices } from './fixture.ts';

const { endpoint, whole } = compileInvoices(scopedInvoices);
const narrow = (...layers: Partial<AccessLayer>[]) =>
  narrowEndpoint(endpoint, {
    layers: layers.map((layer) => ({ ...unlimitedLayer, ...layer })),
    unmasked: true,
  });
const acme = narrow({ rows: createRowScopes(['acme']) });
const birch = narrow({ rows: createRowScopes(['birch']) });
const both = narrow({ rows: createRowScopes(['acme', 'birch']) });
const ref = { schema: 'wh_x', table: 'invoice_1' };
const planQuery = (of: typeof whole, query = '') => planList(of, parseQuery(query));

describe('statements', () => {
  const statements = (of: typeof whole, query = '') => {
    const plan = planQuery(of, query);
    const record = planRecord(of, '1', new Map());
    return {
      list: listStatement(ref, plan, plainRanges(plan), false),
      total: listStatement(ref, plan, plainRanges(plan), true),
      large: largeListStatement(ref, plan, plainRanges(plan), true, 1_000),
      anchors: anchorsStatement(ref, plan, 10),
      record: recordStatement(ref, record),
      largeRecord: largeRecordStatement(ref, record),
    };
  };

  it('carry the condition and exclude withheld records, with each value bound once', () => {
    for (const [name, { write, values }] of Object.entries(statements(acme, 'status=open'))) {
      const text = write();
      expect([name, text]).toEqual([
        name,
        expect.stringMatching(
          /t\."f_entity" = \$\d::text and .*not exists \(select from wh_x\.withheld_records/s,
        ),
      ]);
      const used = new Set([...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
      expect([...used].sort((a, b) => a - b)).toEqual(values.map((_, index) => index + 1));
      expect(values).toContain('acme');
      expect(text).not.toContain('acme');
    }
    const plan = planQuery(acme);
    expect(copyStatement(ref, plan).text).toMatch(
      /"f_entity" = .* and not exists \(select from wh_x\.withheld_records/s,
    );
    expect(countStatement(ref, plan)).toMatchObject({
      values: ['acme'],
      text: expect.stringContaining('withheld_records'),
    });
  });

  it('are shared by scopes of one shape, and never with readers of everything', () => {
    const [a, b, c] = [statements(acme), statements(birch), statements(whole, 'customer=acme')];
    for (const name of Object.keys(a) as (keyof typeof a)[]) {
      expect(a[name].key).toBe(b[name].key);
      expect(a[name].key).not.toBe(c[name].key);
      expect(c[name].write()).not.toContain('withheld');
    }
    expect(planQuery(acme).filterKey).not.toBe(planQuery(whole, 'customer=acme').filterKey);
    expect(planQuery(acme).filterKey).not.toBe(planQuery(birch).filterKey);
  });
});

describe('the index of the order', () => {
  it('serves one value of a scope as it does a declared equality', () => {
    for (const query of ['', 'date_after=2026-01-01', 'page=9']) {
      expect([skipsRecords(planQuery(acme, query)), hasOnePlan(planQuery(acme, query))]).toEqual([
        false,
        true,
      ]);
    }
    for (const query of ['status=open', 'sort=total'])
      expect(skipsRecords(planQuery(acme, query))).toBe(true);
    expect([skipsRecords(planQuery(both)), hasOnePlan(planQuery(both))]).toEqual([true, false]);
  });

  it('does not, where the default sort is hidden: that index continues in it', () => {
    const hidden = narrow({ rows: createRowScopes(['acme']), fields: { invoices: ['status', 'number'] } });
    expect(planQuery(hidden).sort).toMatchObject({ column: { column: 'id' }, order: 'asc' });
    expect([skipsRecords(planQuery(hidden)), hasOnePlan(planQuery(hidden))]).toEqual([true, false]);
    expect(hasOnePlan(planQuery(narrow({ fields: { invoices: ['status'] } }), 'status=open'))).toBe(false);
  });

  it('is not walked for records by id: they are few', () => {
    const byId = (ids: string[]) =>
      narrow({
        rows: {
          resources: {
            invoices: { recordType: 'invoice', conditions: [{ field: 'id', source: 'id', in: ids }] },
          },
          others: false,
        },
      });
    for (const ids of [['1'], ['1', '2']])
      expect(
        boundedRanges(planQuery(byId(ids)), undefined, 1_000_000, 8_000).map(({ strategy }) => strategy),
      ).toEqual(['sort']);
  });
});

describe('narrowing', () => {
  it('gives one object per access and endpoint, and plans by what it reads', () => {
    const access: RecordAccess = {
      layers: [{ ...unlimitedLayer, rows: createRowScopes(['acme']) }],
      unmasked: true,
    };
    expect(narrowEndpoint(endpoint, access)).toBe(narrowEndpoint(endpoint, access));
    const load = createPlanCache(1_000_000);
    expect(load(acme, 'status=open')).toBe(load(narrow({ rows: createRowScopes(['acme']) }), 'status=open'));
    expect(load(acme, 'status=open')).not.toBe(load(birch, 'status=open'));
    expect(load(whole, 'status=open').conditions).toHaveLength(1);
    expect(load(narrow({ fields: { invoices: ['status'] } }), '').fields).toHaveLength(1);
    expect(load(whole, '').fields).toHaveLength(endpoint.fields.length);
  });

  it('two layers leave the values that both allow, none when they share none', () => {
    const values = (of: typeof whole) => of.scope.map((condition) => condition.values);
    expect(
      values(
        narrow({ rows: createRowScopes(['acme', 'birch']) }, { rows: createRowScopes(['birch', 'corda']) }),
      ),
    ).toEqual([['birch']]);
    const none = narrow({ rows: createRowScopes(['acme']) }, { rows: createRowScopes(['birch']) });
    expect(values(none)).toEqual([[]]);
    expect(listStatement(ref, planQuery(none), plainRanges(planQuery(none)), true).write()).toContain(
      '= any($2::text[])',
    );
    expect(new Set([acme, birch, both, none, whole].map(({ reach }) => reach)).size).toBe(5);
  });

  it.each([
    [
      'a day and an instant of it',
      ['2026-01-31'],
      ['2026-01-31T10:00:00Z', '2026-02-01T10:00:00Z'],
      ['2026-01-31T10:00:00.000000Z'],
    ],
    [
      'an instant of the day in UTC',
      ['2026-01-31T23:30:00.1234-02:00'],
      ['2026-01-31', '2026-02-01'],
      ['2026-02-01T01:30:00.123400Z'],
    ],
    [
      'one instant, written in two ways',
      ['2026-01-31T10:00:00Z'],
      ['2026-01-31T12:00:00.000+02:00'],
      ['2026-01-31T10:00:00.000000Z'],
    ],
    ['two days', ['2026-01-31', '2026-02-01'], ['2026-02-01'], ['2026-02-01']],
    ['instants that differ by a microsecond', ['2026-01-31T10:00:00.000001Z'], ['2026-01-31T10:00:00Z'], []],
    ['an instant whose year in UTC has five digits', ['9999-12-31T23:00:00-05:00'], ['9999-12-31'], []],
  ])('two layers that name a time leave what both allow: %s', (_name, one, other, left) => {
    const rowsAt = (times: readonly string[]): Partial<AccessLayer> => ({
      rows: {
        resources: {
          invoices: {
            recordType: 'invoice',
            conditions: [{ field: 'modified', source: 'lastmodified', in: times }],
          },
        },
        others: false,
      },
    });
    const spans = left.map((time) =>
      time.includes('T')
        ? { from: time, to: time }
        : { from: `${time}T00:00:00Z`, to: `${time}T23:59:59.999999Z` },
    );
    for (const layers of [
      [one, other],
      [other, one],
    ] as const)
      expect(narrow(...layers.map(rowsAt)).scope.map(({ values }) => values)).toEqual([spans]);
  });
});
