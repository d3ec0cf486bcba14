// What requests for summaries are refused, and how they are answered. What a reader reaches: test/access.
import supertest from 'supertest';
import { describe, expect, it } from 'vitest';
import { createId } from '../../../src/core/id.ts';
import { compareVersions } from '../../../src/public/version/compare.ts';
import { useStarted } from '../../setup/use-started.ts';
import { createRowScopes } from '../access/fixture.ts';
import { callerHeaders, openOrganization } from '../fixture.ts';
import { summarizedInvoices } from './summary-fixture.ts';
import { openSummarySite } from './summary-site.ts';

const site = useStarted(openSummarySite);
const ndjson = { accept: 'application/x-ndjson' };
const longRows = (bytes: number) =>
  Array.from({ length: 90 }, (_, index) => ({
    id: index + 1,
    tranid: `${index} ${'é"'.repeat(bytes / 4)}`,
  }));

describe('requests for a summary', () => {
  const problems: [string, [string, string][]][] = [
    ['sum=totl', [['sum', 'unknown_aggregate']]],
    ['sum=date', [['sum', 'unknown_aggregate']]],
    ['by=date', [['by', 'unknown_group']]],
    ['by=date.hour', [['by', 'unknown_group']]],
    ['avg=paid', [['avg', 'unknown_aggregate']]],
    ['page=2', [['page', 'unknown_parameter']]],
    ['by=paid&by=status&by=seq', [['by', 'too_many_values']]],
    ['sort=-sum.total', [['sort', 'unknown_sort']]],
    ['sum=total&sort=count', [['sort', 'unknown_sort']]],
    ['limit=5', [['limit', 'invalid_value']]],
    ['sum=total&status=open&limit=1', [['limit', 'invalid_value']]],
    ['limit=0', [['limit', 'out_of_range']]],
    ['limit=1001', [['limit', 'out_of_range']]],
    ['count=yes', [['count', 'invalid_value']]],
    ['count=false', [['count', 'invalid_value']]],
    ['count=true&count=true', [['count', 'repeated_parameter']]],
    ['fields=total', [['fields', 'unknown_parameter']]],
    ['order=desc', [['order', 'unknown_parameter']]],
    ['total_gt=x', [['total_gt', 'invalid_value']]],
  ];

  it.each(problems)('are refused: %s', async (query, expected) => {
    const { status, body } = await site.get(`/v1/invoices/summary?${query}`);
    expect(status, JSON.stringify(body)).toBe(400);
    const found = body.error.details.map(({ path, code }: { path: string; code: string }) => [path, code]);
    expect(found.map(([path]: [string]) => path)).toEqual(expected.map(([path]) => path));
    for (const [at, [, code]] of expected.entries())
      if (code !== 'invalid_value') expect(found[at][1]).toBe(code);
  });

  it('have a limit without groups ignored in versions from before it was refused, whose next version says so', async () => {
    const [old, bindings] = await site.inTransaction(async (tx) => {
      const v1 = await tx('api_schemas').where({ version: 'v1' }).first();
      const { limitNeedsGroups: _, ...invoice } = v1.bindings.invoice;
      const json = { endpoints: JSON.stringify(v1.endpoints), bindings: JSON.stringify({ invoice }) };
      await tx('api_schemas').insert({ ...v1, ...json, id: createId(), version: 'v77' });
      return [{ endpoints: v1.endpoints, bindings: { invoice } }, v1.bindings] as const;
    });
    expect((await site.get('/v77/invoices/summary?limit=1').expect(200)).body.data).toHaveLength(1);
    const changes = compareVersions(old, { ...old, bindings });
    expect(changes.filter(({ message }) => message.includes('"limit"'))).toMatchObject([
      { path: 'invoices.groups', breaking: true },
    ]);
    expect(compareVersions(old, old)).toEqual([]);
  });

  it('offer the nearest name, and say what to use in place of a parameter of a list, and the reverse', async () => {
    const message = async (path: string): Promise<string> =>
      (await site.get(path).expect(400)).body.error.message;
    for (const [path, text] of [
      ['/v1/invoices/summary?sum=totl', 'Did you mean "total"?'],
      ['/v1/invoices/summary?by=date.months', 'Did you mean "date.month"?'],
      ['/v1/invoices/summary?page=2', '"limit"'],
      ['/v1/invoices/summary?order=desc', 'a leading "-" in "sort"'],
      ['/v1/invoices?sum=total', '/invoices/summary'],
      ['/v1/invoices?limit=5', '"pageSize"'],
    ] as const)
      expect(await message(path)).toContain(text);
    expect(await message('/v3/invoices?sum=total')).toBe('Unknown parameter "sum".');
  });

  it('may separate names by commas', async () => {
    const [repeated, separated] = [
      await site.get('/v1/invoices/summary?max=total&max=date&by=paid&by=status').expect(200),
      await site.get('/v1/invoices/summary?max=total,date&by=paid,status').expect(200),
    ];
    expect(separated.text).toBe(repeated.text);
    expect(separated.headers['etag']).toBe(repeated.headers['etag']);
    await site.get('/v1/invoices/summary?by=paid,status,seq').expect(400);
  });

  it('mean a record where the version declares no summary', async () => {
    await site.get('/v3/invoices/summary').expect(404);
    await site.get('/v3/invoices?sum=total').expect(400);
    const { get: other } = await openOrganization(site.ctx, site.app, {
      rows: [{ id: 'summary', tranid: 'of text ids' }],
      idType: 'text',
      versions: [{}, { version: 'v2', endpoints: [summarizedInvoices] }],
    });
    expect((await other('/v1/invoices/summary')).body.data).toMatchObject({
      id: 'summary',
      number: 'of text ids',
    });
    expect((await other('/v2/invoices/summary')).body).toEqual({ data: [{ count: 1 }], total: 1 });
    expect((await other('/v2/invoices?id=summary')).body.data).toHaveLength(1);
  });
});

describe('the answer', () => {
  it('is kept for a generation, with an entity tag', async () => {
    const address = '/v1/invoices/summary?sum=total&by=paid';
    const first = await site.get(address).expect(200);
    expect(first.headers).toMatchObject({
      'x-data-synced-at': expect.any(String),
      'x-data-generation': expect.any(String),
    });
    const etag = String(first.headers['etag']);
    await site.get(address, { 'if-none-match': etag }).expect(304);
    await site.inSql('update $t set f_total = f_total + 1 where id = 1');
    expect((await site.get(address)).text).toBe(first.text);
    await site.publish();
    const later = await site.get(address, { 'if-none-match': etag }).expect(200);
    expect(later.headers['etag']).not.toBe(etag);
    const [{ total } = {}] = await site.inSql(
      'select sum(f_total)::text as total from $t where f_paid is null',
    );
    expect(later.body.data[2]).toEqual({ paid: null, sum: { total } });
    await site.get('/v1/invoices/summary?by=paid', { accept: 'text/csv' }).expect(406);
  });

  it('is read once for requests at the same time, and by itself for each reach', async () => {
    const address = '/v1/invoices/summary?avg=total&by=customer&by=date.quarter';
    await site.get('/v1/invoices?pageSize=1').expect(200);
    const scoped = await site.callerWith({ rows: createRowScopes(['c1']) });
    const before = site.statementsRun();
    const answers = await Promise.all(Array.from({ length: 6 }, () => site.get(address).expect(200)));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(site.statementsRun()).toBe(before + 1);
    const { text } = await scoped(address).expect(200);
    expect(text).not.toBe(answers[0]?.text);
    expect(site.statementsRun()).toBe(before + 2);
  });

  it('has the same groups as JSON lines', async () => {
    const query = 'sum=total&by=customer&by=date.month&count=true&sort=-count';
    const { text } = await site.get(`/v1/invoices/summary?${query}`).expect(200);
    const lines = await site.get(`/v1/invoices/summary?${query}`, ndjson).buffer().expect(200);
    expect(lines.headers['content-type']).toBe('application/x-ndjson; charset=utf-8');
    expect(text.startsWith(`{"data":[${lines.text.trimEnd().split('\n').join()}],"total":`)).toBe(true);
    const held = { ...ndjson, 'if-none-match': String(lines.headers['etag']) };
    await site.get(`/v1/invoices/summary?${query}`, held).expect(304);
    expect(lines.headers['etag']).not.toBe((await site.get(`/v1/invoices/summary?${query}`)).headers['etag']);
  });

  it('has at most 1,000 groups as JSON, and every group as lines', async () => {
    const many = Array.from({ length: 1_203 }, (_, index) => ({
      id: index + 1,
      tranid: `N${index}`,
      total: '1.10',
    }));
    const other = await site.organizationWith(many);
    const { status, body } = await other('/v1/invoices/summary?by=number&sum=total');
    expect([status, body.error.details[0].code]).toEqual([400, 'too_many_groups']);
    expect(body.error.message).toMatch(/1203 groups.*limit.*x-ndjson/);
    const most = await other('/v1/invoices/summary?by=number&sum=total&limit=1000').expect(200);
    expect([most.body.data.length, most.body.total]).toEqual([1_000, 1_203]);
    const lines = await other('/v1/invoices/summary?by=number&sum=total', ndjson).buffer().expect(200);
    const found = lines.text.trimEnd().split('\n');
    expect(new Set(found).size).toBe(1_203);
    expect(found[0]).toBe('{"number":"N0","sum":{"total":"1.10"}}');
    const first = await other('/v1/invoices/summary?by=number&limit=2', ndjson).buffer().expect(200);
    expect(first.text).toBe('{"number":"N0","count":1}\n{"number":"N1","count":1}\n');
  });

  it('may be larger than one text of the database, and names the limit when it is too large', async () => {
    const large = longRows(16_000);
    const other = await site.organizationWith(large);
    const { body } = await other('/v1/invoices/summary?by=number').expect(200);
    expect(body.total).toBe(90);
    expect(new Set(body.data.map(({ number }: { number: string }) => number))).toEqual(
      new Set(large.map(({ tranid }) => tranid)),
    );
    const tooLarge = await site.organizationWith(longRows(Math.ceil(site.ctx.settings.maxAnswerBytes / 60)));
    const refused = await tooLarge('/v1/invoices/summary?by=number');
    expect([refused.status, refused.body.error.details[0].code]).toEqual([400, 'answer_too_long']);
    await tooLarge('/v1/invoices/summary?by=number&limit=2').expect(200);
  });

  it('of more than one text is read by each of the requests that wait for it, within a permit of its own', async () => {
    const other = await site.organizationWith(longRows(16_000));
    await other('/v1/invoices?pageSize=1').expect(200);
    const before = site.statementsRun();
    const answers = await Promise.all(
      Array.from({ length: 3 }, () => other('/v1/invoices/summary?by=number').expect(200)),
    );
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(site.statementsRun()).toBe(before + 1 + 3);
  });

  it('has no body for HEAD, as a document and as lines', async () => {
    const caller = callerHeaders({ ...site, ...(await site.key()) });
    for (const accept of ['application/json', 'application/x-ndjson']) {
      const { status, text, headers } = await supertest(site.app)
        .head('/api/public/v1/invoices/summary?by=paid')
        .set({ ...caller, accept });
      expect([status, text ?? '', headers['etag']]).toEqual([200, '', expect.any(String)]);
    }
  });
});
