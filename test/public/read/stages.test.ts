// The pure stages of a request: URL, query, values, plan, statement, negotiation, links.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/core/errors.ts';
import { isDay } from '../../../src/core/text/calendar.ts';
import { acceptsGzip, knownTags } from '../../../src/public/http/negotiate.ts';
import { paginationLinks } from '../../../src/public/http/response.ts';
import { createTotalCache } from '../../../src/public/read/connection/totals.ts';
import { capsFor, hasOnePlan } from '../../../src/public/read/plan/order-index.ts';
import { planList, planRecord } from '../../../src/public/read/plan/plan.ts';
import { anchoredRanges, boundedRanges, plainRanges } from '../../../src/public/read/plan/ranges.ts';
import { parseQuery, parseTarget } from '../../../src/public/read/plan/request.ts';
import { listStatement, recordStatement } from '../../../src/public/read/sql/list-sql.ts';
import { compileInvoices } from '../compiled.ts';

const { whole: endpoint } = compileInvoices({ defaultSort: { field: 'date', order: 'desc' } });
const plan = (query: string) => planList(endpoint, parseQuery(query));
const place = { schema: 'wh_x', table: 'invoice_1' };
const write = (query: string, counted = false) => {
  const planned = plan(query);
  const { key, values, write: text } = listStatement(place, planned, plainRanges(planned), counted);
  return { key, values, text: text() };
};

describe('parseTarget', () => {
  it.each([
    ['/v1/invoices', 'list', 'v1', 'invoices', ''],
    ['/v1/invoices/', 'list', 'v1', 'invoices', ''],
    ['/v1/invoices?page=1/2', 'list', 'v1', 'invoices', ''],
    ['/v1/invoices/a%2Fb?x', 'record', 'v1', 'invoices', 'a/b'],
    ['/v1', 'nothing', 'v1', '', ''],
    ['/', 'discovery', '', '', ''],
    ['', 'discovery', '', '', ''],
    ['/?page=1', 'discovery', '', '', ''],
    ['//', 'nothing', '', '', ''],
    ['/v1/a/b/c', 'nothing', 'v1', 'a', 'b'],
    ['/openapi/v1', 'description', 'v1', '', ''],
    ['/openapi', 'nothing', '', '', ''],
    ['http://portal.example/v1/invoices?a', 'list', 'v1', 'invoices', ''],
    ['/v1/%E0/%E0', 'record', 'v1', '\ufffd', '\ufffd'],
  ])('%s', (url, kind, version, resource, id) => {
    expect(parseTarget(url)).toEqual({ kind, version, resource, id });
  });
});

describe('parseQuery', () => {
  it('decodes, keeps repetitions and order', () => {
    expect([...parseQuery('a=1&b=x+y&a=%26&c&d==&&')]).toEqual([
      ['a', ['1', '&']],
      ['b', ['x y']],
      ['c', ['']],
      ['d', ['=']],
    ]);
  });

  it('decodes whatever was encoded, and throws only 400', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' })), {
          maxLength: 5,
        }),
        (pairs) => {
          const clean = pairs.filter(([name, value]) => !`${name}${value}`.includes('\0'));
          const read = parseQuery(
            clean
              .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
              .join('&'),
          );
          for (const [name, value] of clean) expect(read.get(name)).toContain(value);
        },
      ),
    );
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        try {
          parseQuery(text);
        } catch (error) {
          expect(error).toBeInstanceOf(AppError);
          expect((error as AppError).status).toBe(400);
        }
      }),
    );
  });

  it('rejects bytes that were not percent-encoded', () => {
    expect(() => parseQuery('status=Ã©')).toThrow('percent-encoded UTF-8');
  });
});

describe('values', () => {
  it('agrees with JavaScript about existing dates', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9999 }),
        fc.integer({ min: 0, max: 14 }),
        fc.integer({ min: 0, max: 33 }),
        (year, month, day) => {
          const text = [
            String(year).padStart(4, '0'),
            ...[month, day].map((part) => String(part).padStart(2, '0')),
          ].join('-');
          const at = new Date(`${text}T00:00:00Z`);
          expect(isDay(text)).toBe(!Number.isNaN(at.getTime()) && at.toISOString().startsWith(text));
        },
      ),
    );
  });
});

describe('the plan', () => {
  it('is the same for every spelling of one query', () => {
    const one = plan('status=open&status=paid&date_after=2026-01-01&fields=status,number&page=1').normalized;
    expect(
      plan(
        'fields=number,status,number,id&date_after=2026-01-01&status=paid&pageSize=25&status=open&status=open',
      ).normalized,
    ).toBe(one);
    expect(plan('status=open&date_after=2026-01-01&fields=status,number').normalized).not.toBe(one);
    expect(plan('status=open&page=2&sort=total').filterKey).toBe(plan('status=open').filterKey);
    expect(plan('status_not=open').filterKey).not.toBe(plan('status=open').filterKey);
  });

  it('reports at most twenty problems', () => {
    const refused = Array.from({ length: 900 }, (_, index) => `bogus${index}=1`).join('&');
    expect(() => plan(refused)).toThrow(
      expect.objectContaining({ details: expect.toSatisfy((details: unknown[]) => details.length === 20) }),
    );
  });
});

describe('the statement', () => {
  it('uses only identifiers of the compiled version, and binds every value with its type', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', minLength: 12, maxLength: 30 }).filter((text) => !text.includes('\0')),
        (text) => {
          const value = encodeURIComponent(text.toWellFormed());
          const statement = write(`status=${value}&number_contains=${value}&number_not=${value}`, true);
          expect(statement.text).not.toContain(text);
          expect(statement.values.flat().join()).toContain(text.toWellFormed().replaceAll(/[\\%_]/g, '\\$&'));
        },
      ),
    );
    const statement = write('total_gt=1.50&date_after=2026-01-31&seq=1&seq=2', true);
    expect(statement.text).toMatch(/t\."f_total" > \$\d::numeric/);
    expect(statement.text).toMatch(/t\."f_trandate" > \$\d::date/);
    expect(statement.text).toMatch(/t\."f_seq" = any\(\$\d::bigint\[\]\)/);
  });

  it('has one text whatever the values and the page, and equal keys mean equal texts', () => {
    expect(write('status=open&page=3').key).toBe(write('status=paid&pageSize=20').key);
    const selecting = ['', 'status=a', 'status=a&status=b', 'status_null=true', 'status_null=false', 'id=1'];
    const shown = ['fields=number', 'fields=status', 'sort=total', 'order=asc', 'sort=total&order=desc'];
    const times = ['modified=2026-01-31', 'modified=2026-01-31&modified=2026-02-01'];
    const written = [...selecting, ...shown, ...times].flatMap((query) => [write(query), write(query, true)]);
    expect(new Set(written.map(({ key }) => key)).size).toBe(written.length);
    expect(new Set(written.map(({ text }) => text)).size).toBe(written.length);
    for (const { text, values } of written) {
      const used = new Set([...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
      expect([...used].sort((a, b) => a - b)).toEqual(values.map((_, index) => index + 1));
    }
    const one = planRecord(endpoint, '1', parseQuery(''));
    expect(recordStatement(place, one).key).toBe(recordStatement(place, { ...one, id: '2' }).key);
  });

  it('quotes names from the definition', () => {
    const unmasked = { asString: false, declared: null, mask: null };
    const lines = [{ name: 'a', key: "it's", type: 'text' as const, ...unmasked }];
    const field = { kind: 'lines' as const, name: 'lines', source: 'lines', column: 'f"x', lines };
    const planned = planRecord({ ...endpoint, fields: [field] }, '1', parseQuery(''));
    const text = recordStatement({ schema: 'wh_x', table: 'a"b' }, planned).write();
    for (const quoted of ['wh_x."a""b"', 't."f""x"', "-> 'it''s'"]) expect(text).toContain(quoted);
  });
});

describe('boundedRanges', () => {
  const way = (query: string, total: number | undefined, rowCount = 1_000_000) =>
    boundedRanges(plan(query), total, rowCount, 8_000).map(({ strategy, nulls }) => `${strategy} ${nulls}`);
  it.each([
    ['no filter', 'sort=total', 1_000_000, 'any any'],
    ['the sorted column itself', 'date_after=2026-01-01&order=asc', 10, 'any any'],
    ['an equality in the usual order', 'status=open', 10, 'any no'],
    ['that and the sorted column', 'status=open&date_after=2026-01-01', 10, 'any no'],
    ['another order than the usual one', 'status=open&sort=total', 200_000, '1024 any'],
    ['several values', 'status=open&status=paid', 200_000, '1024 no'],
    ['two equalities', 'status=open&paid=true', 200_000, '1024 no'],
    ['what is left out', 'date_not=2026-01-01&order=asc', 900_000, '256 any'],
    ['few of many', 'date_after=2026-01-01&sort=total', 5_000, 'sort any'],
    ['hardly more', 'date_after=2026-01-01&sort=total', 5_001, '65536 any'],
    ['none', 'date_after=2026-01-01&sort=total', 0, 'sort any'],
    ['a later page', 'date_after=2026-01-01&sort=total&page=100', 49_000, 'sort any'],
    ['an unknown total', 'date_after=2026-01-01&sort=total', undefined, '8192 any'],
  ])('for %s', (_what, query, total, wanted) => {
    expect(way(query, total)).toEqual([wanted]);
  });

  it('is unbounded in a table no larger than the scan limit', () => {
    expect(way('status=open&sort=total', 600, 1_000)).toEqual(['512 any']);
    expect(way('status=open&sort=total', 300, 1_000)).toEqual(['any any']);
    expect(way('status=open&sort=total', undefined, 8_000)).toEqual(['any any']);
  });

  it('is bounded for an undeclared equality, such as in a saved query: the index of the order does not serve it', () => {
    const { column } = endpoint.filters.get('id') ?? {};
    if (column === undefined) throw new Error('no filter for the id');
    const defaultSort = { column, order: 'asc' as const };
    const strategyWith = (filters: typeof endpoint.filters) => {
      const view = { ...endpoint, filters, sorts: new Map(), defaultSort };
      const asked = { ...plan('status=open'), endpoint: view, sort: { ...defaultSort, further: [] } };
      return boundedRanges(asked, 200_000, 1_000_000, 8_000)[0]?.strategy;
    };
    expect([strategyWith(new Map()), strategyWith(endpoint.filters)]).toEqual([1_024, 'any']);
  });

  it('sorts the selected records, or scans a bounded number that the index has preselected', () => {
    const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ');
    const text = (query: string, total: number) => {
      const planned = plan(query);
      const ranges = boundedRanges(planned, total, 1_000_000, 8_000);
      return oneLine(listStatement(place, planned, ranges, false).write());
    };
    expect(text('status=open&total_gt=1', 200_000)).toContain(
      oneLine(`(select t.id from (select * from wh_x."invoice_1" as t where t."f_status" = $2::text and t."f_trandate" is not null
        order by t."f_trandate" desc nulls first, t.id desc limit 1024) as t where t."f_total" > $3::numeric
        order by t."f_trandate" desc nulls first, t.id desc limit $4::bigint offset $5::bigint)`),
    );
    expect(text('total_gt=1', 10)).toContain(
      oneLine(`(select t.id from (select * from wh_x."invoice_1" as t where t."f_total" > $2::numeric offset 0) as t
        order by t."f_trandate" desc nulls last, t.id desc limit $3::bigint offset $4::bigint)`),
    );
  });
});

describe('anchoredRanges', () => {
  it('cover exactly its records, for any list with and without values to sort by', () => {
    const size = fc.nat({ max: 40 });
    fc.assert(
      fc.property(
        size,
        size,
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 20 }),
        (valued, nulls, every, pageSize, page) => {
          const ids = Array.from({ length: valued + nulls }, (_, index) => String(index));
          const stretch = (list: string[]) => ({
            count: list.length,
            anchors: list.filter((_, index) => index % every === 0).map((id) => ({ key: null, id })),
          });
          const anchors = { every, valued: stretch(ids.slice(0, valued)), nulls: stretch(ids.slice(valued)) };
          const found = anchoredRanges({ ...plan(''), page, pageSize }, anchors).flatMap(
            ({ nulls: kind, from, limit, offset }) => {
              const within = kind === 'only' ? ids.slice(valued) : ids.slice(0, valued);
              expect(offset).toBeLessThan(every);
              const start = within.indexOf(from?.id ?? '') + offset;
              return limit === 0 ? [] : within.slice(start, start + limit);
            },
          );
          expect(found).toEqual(ids.slice((page - 1) * pageSize, page * pageSize));
        },
      ),
    );
  });
});

describe('negotiation', () => {
  it.each([
    [undefined, false],
    ['', false],
    ['gzip', true],
    ['gzip;q=0', false],
    ['*', true],
    ['*;q=0', false],
    ['deflate, GZIP;q=0.5', true],
    ['identity', false],
    ['gzip;q=0.5, identity', false],
    ['gzip;q=x', false],
  ])('gzip for Accept-Encoding %s: %s', (header, wanted) => {
    expect(acceptsGzip({ ...(header !== undefined && { 'accept-encoding': header }) })).toBe(wanted);
  });

  it('compares tags weakly', () => {
    expect(knownTags({ 'if-none-match': 'W/"a", "b,c" ,"d"' })).toEqual(['"a"', '"b,c"', '"d"']);
    expect(['*', 'bare'].map((tag) => knownTags({ 'if-none-match': tag }))).toEqual([['*'], []]);
    expect(knownTags({})).toEqual([]);
  });
});

describe('links', () => {
  it('omit pages that do not exist', () => {
    const relations = (query: string, total: number) =>
      [...paginationLinks('/p', plan(query), total).matchAll(/page=(\d+)>; rel="(\w+)"/g)].map(
        ([, page, rel]) => `${rel} ${page}`,
      );
    expect(relations('', 0)).toEqual(['first 1', 'last 1']);
    expect(relations('', 26)).toEqual(['first 1', 'next 2', 'last 2']);
    expect(relations('page=2', 26)).toEqual(['first 1', 'prev 1', 'last 2']);
    expect(relations('page=9', 26)).toEqual(['first 1', 'prev 2', 'last 2']);
  });

  it('keep the query, which cannot break them', () => {
    expect(paginationLinks('/p', plan('status=%3E%22a&p%61ge=1'), 1)).toBe(
      '</p?status=%3E%22a&page=1>; rel="first", </p?status=%3E%22a&page=1>; rel="last"',
    );
  });
});

describe('a plan for all values', () => {
  const sorted = (query: string, changes: Partial<typeof endpoint> = {}) => {
    const planned = plan(query);
    return hasOnePlan({ ...planned, endpoint: { ...planned.endpoint, ...changes } });
  };
  it.each([
    '',
    'sort=total',
    'date_after=2026-01-01',
    'status=open',
    'status=open&date_after=2026-01-01&order=asc',
  ])('is right for "%s"', (query) => expect(sorted(query)).toBe(true));
  it.each([
    'status=open&status=paid',
    'status=open&sort=total',
    'status=open&paid=true',
    'status_not=open',
    'number_starts_with=a',
    'date_null=false',
    'modified=2026-01-31',
    'id=7',
  ])('depends on the values in "%s"', (query) => expect(sorted(query)).toBe(false));
  it('is never steady for an undeclared filter or sort', () => {
    expect(sorted('status=open', { filters: new Map() })).toBe(false);
    expect(sorted('sort=total', { sorts: new Map() })).toBe(false);
  });
  it('has one of few limits', () =>
    expect([capsFor(1, 0), capsFor(25, 75), capsFor(26, 75), capsFor(1_001, 9_000)]).toEqual([
      { walked: 100, selected: 10 },
      { walked: 100, selected: 25 },
      { walked: 1_000, selected: 50 },
      { walked: 100_000, selected: 10_000 },
    ]));
});

describe('createTotalCache', () => {
  it('a total is counted by one request at a time', async () => {
    const totals = createTotalCache(500);
    const first = totals.claim('a');
    const second = totals.claim('a');
    expect([first.kind, second.kind]).toEqual(['mine', 'awaited']);
    if (first.kind === 'mine') first.found({ key: 'a', total: 5 });
    if (second.kind === 'awaited') expect(await second.counted).toEqual({ key: 'a', total: 5 });
    expect(totals.claim('a')).toEqual({ kind: 'known', total: 5 });
    totals.put({ key: 'b', total: 1 });
    totals.put({ key: 'c', total: 1 });
    expect(totals.claim('a').kind).toBe('mine');
  });
});
