// What a reader sees of fields that an allow-list leaves out or that its version masks: nothing, or the same
// masked text at every door.
import { createHmac } from 'node:crypto';
import supertest from 'supertest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inTransaction } from '../../../src/db/transaction.ts';
import { findMaskSecret } from '../../../src/public/version/mask-secret.ts';
import { fieldMask } from '../../../src/public/version/masks.ts';
import { type TestDatabase, testDatabase } from '../../setup/database.ts';
import { makeKey, makeOrganization } from '../../setup/organization.ts';
import {
  callerOf,
  type InvoiceRow,
  idsOf,
  invoicesEndpoint,
  loadInvoices,
  publicApp,
  publishVersion,
} from '../fixture.ts';
import { rowsOf, scopedInvoices } from './fixture.ts';

const masks: Readonly<Record<string, string>> = {
  number: 'last4',
  total: 'hash',
  totalText: 'hash',
  seq: 'last4',
  paid: 'hash',
  date: 'year',
  modified: 'hash',
  customerName: 'last4',
};
const lineMasks: Readonly<Record<string, string>> = { itemName: 'last4', quantity: 'hash' };
const maskedEndpoint = {
  ...invoicesEndpoint,
  fields: invoicesEndpoint.fields.map((field) => ({
    ...field,
    ...(masks[field.name] !== undefined && { mask: masks[field.name] }),
    ...('fields' in field && {
      fields: field.fields?.map((line) => ({
        ...line,
        ...(lineMasks[line.name] !== undefined && { mask: lineMasks[line.name] }),
      })),
    }),
  })),
  defaultSort: { field: 'date', order: 'desc' },
};
const rows: InvoiceRow[] = [
  {
    id: 1,
    tranid: 'INV-0001234',
    status: 'open',
    total: '100.50',
    seq: '9007199254740993',
    paid: false,
    trandate: '2026-01-31',
    lastmodified: '2026-01-31T23:59:59.999999Z',
    entity: 'acme',
    entityName: 'ÉCLAIR & "Söhne",\t\\',
    lines:
      '[{"item":"11","item.name":"A long, \\"bolt\\"","quantity":2.50},{"item":"12","quantity":12345678901234567890},{"item.name":null}]',
  },
  {
    id: 2,
    tranid: 'short',
    status: 'paid',
    total: '12345678901234567890',
    seq: '7',
    paid: true,
    trandate: '2025-02-01',
    lines: '[]',
    entity: 'birch',
  },
  { id: 3, tranid: '1234567\u{1f600}', total: '-0.10', entityName: '12345678' },
  { id: 4, tranid: '=1+1\n\u2028😀x', trandate: '2024-12-31', lastmodified: '1900-01-01T00:00:00.000001Z' },
];

type Get = ReturnType<typeof callerOf>;
let database: TestDatabase;
let organizationId: string;
let app: ReturnType<typeof publicApp>;
let masked: Get;
let unmasked: Get;
let secret: Buffer | undefined;
const callerWith = async (wanted: Parameters<typeof makeKey>[2]): Promise<Get> =>
  callerOf(app, { secret: (await makeKey(database.ctx, organizationId, wanted)).secret, organizationId });

beforeAll(async () => {
  database = await testDatabase();
  organizationId = (await makeOrganization(database.ctx)).id;
  await loadInvoices(database.ctx, organizationId, rows);
  await publishVersion(database.ctx, organizationId, { endpoints: [maskedEndpoint] });
  await publishVersion(database.ctx, organizationId, { version: 'v2', endpoints: [scopedInvoices] });
  app = publicApp(database.ctx);
  masked = await callerWith({});
  unmasked = await callerWith({ unmasked: true });
  secret = await inTransaction({ ...database.ctx, organizationId }, (tx) =>
    findMaskSecret(tx, { ...database.ctx, organizationId }),
  );
});
afterAll(() => database.close());

/** What a masked reader sees in place of the text that an unmasked one does. */
function maskedText(kind: string, source: string, shown: unknown): string | null {
  if (shown === null || shown === undefined) return null;
  const text = String(shown);
  if (kind === 'year') return text.slice(0, 4);
  if (kind === 'last4') return [...text].length < 8 ? '****' : `****${[...text].slice(-4).join('')}`;
  const mask = fieldMask('hash', secret, 'invoice', source);
  return createHmac('sha256', mask?.kind === 'hash' ? mask.key : '')
    .update(text)
    .digest('hex');
}
const sourceOf = (name: string) => invoicesEndpoint.fields.find((field) => field.name === name)?.source ?? '';
type Shown = Record<string, unknown> & { id: string; lines: Record<string, unknown>[] | null };
/** `exact`: the digits of numbers, which JSON.parse loses. */
const maskRecord = (record: Shown, exact: (id: string, name: string, at?: number) => unknown): Shown => ({
  ...record,
  ...Object.fromEntries(
    Object.entries(masks).map(([name, kind]) => [
      name,
      maskedText(kind, sourceOf(name), exact(record.id, name)),
    ]),
  ),
  lines:
    record.lines?.map((line, at) => ({
      ...line,
      itemName: maskedText('last4', 'lines.item.name', line['itemName']),
      quantity: maskedText('hash', 'lines.quantity', exact(record.id, 'quantity', at)),
    })) ?? null,
});

describe('masked fields', () => {
  const exact = (id: string, name: string, at?: number): unknown => {
    const row = rows.find((other) => String(other.id) === id);
    if (name === 'quantity') return [['2.50', '12345678901234567890', null]].flat()[at ?? 0];
    const column =
      {
        number: 'tranid',
        customerName: 'entityName',
        date: 'trandate',
        modified: 'lastmodified',
        totalText: 'total',
      }[name] ?? name;
    return row?.[column as keyof InvoiceRow];
  };

  it('are text, masked alike in lists, records, NDJSON and CSV', async () => {
    const known = (await unmasked('/v1/invoices?sort=number').expect(200)).body.data as Shown[];
    const wanted = known
      .map((record) => maskRecord(record, exact))
      .sort((a, b) => Number(a.id) - Number(b.id));
    const list = await masked('/v1/invoices').expect(200);
    expect(list.body.data).toEqual(wanted);
    expect(list.body.data[0].total).toMatch(/^[0-9a-f]{64}$/);
    expect(list.body.data[0].total).toBe(list.body.data[0].totalText);
    const texts = list.text.slice('{"data":['.length, list.text.lastIndexOf('],"pagination"'));
    const lines = await masked('/v1/invoices', { accept: 'application/x-ndjson' }).buffer(true).expect(200);
    expect(lines.text.trimEnd().split('\n').join()).toBe(texts);
    for (const record of wanted) {
      const single = await masked(`/v1/invoices/${record.id}`).expect(200);
      expect(texts).toContain(single.text.slice('{"data":'.length, -1));
    }
    const csv = (
      await masked('/v1/invoices?fields=total,date,seq,paid', { accept: 'text/csv' }).buffer(true).expect(200)
    ).text.split('\r\n');
    expect(csv.slice(1, -1)).toEqual(
      wanted.map((record) => ['id', 'total', 'seq', 'paid', 'date'].map((name) => record[name] ?? '').join()),
    );
    const whole = await masked('/v1/invoices', { accept: 'text/csv' }).buffer(true).expect(200);
    for (const text of [list.text, lines.text, whole.text])
      for (const hidden of [
        '0001234"',
        '9007199254740993',
        '100.5',
        '12345678901234567890',
        'ÉCLAIR',
        '2026-01-31',
        'bolt\\"',
      ])
        expect(text).not.toContain(hidden);
  });

  it('keep the order of ids instead of the default sort, whatever the direction', async () => {
    expect(idsOf(await unmasked('/v1/invoices'))).toEqual(['1', '2', '4', '3']);
    expect(idsOf(await masked('/v1/invoices'))).toEqual(['1', '2', '3', '4']);
    expect(idsOf(await masked('/v1/invoices?order=desc'))).toEqual(['4', '3', '2', '1']);
    expect(idsOf(await masked('/v1/invoices?status_null=true'))).toEqual(['3', '4']);
  });

  it.each([
    ['sort=total', ['sort']],
    ['total=100.50', ['total']],
    ['total_gte=1&number_contains=INV&status=open&sort=date', ['total_gte', 'number_contains', 'sort']],
    ['date_null=true&nonsense=1', ['date_null']],
    ['total=nonsense', ['total']],
    ['sort=total&sort=status', ['sort']],
  ])('403 field_masked for %s, and 200 or 400 for readers of unmasked values', async (query, paths) => {
    for (const accept of ['application/json', 'text/csv']) {
      const { error } = (await masked(`/v1/invoices?${query}`, { accept }).expect(403)).body;
      expect(error.details.map(({ path, code }: { path: string; code: string }) => [path, code])).toEqual(
        paths.map((path) => [path, 'field_masked']),
      );
    }
    await unmasked(`/v1/invoices?${query}`).expect(/nonsense|sort=status/.test(query) ? 400 : 200);
  });

  it('are not suggested', async () => {
    for (const query of ['totl=1', 'sort=totl', 'number_contain=x']) {
      const { text } = await masked(`/v1/invoices?${query}`).expect(400);
      expect(text).not.toMatch(/Did you mean|must be one of[^"]*(total|number|date)/);
    }
    expect((await unmasked('/v1/invoices?sort=totl').expect(400)).text).toContain('total');
  });

  it('have entity tags of their own', async () => {
    for (const path of ['/v1/invoices?status=open', '/v1/invoices/1']) {
      const [a, b] = [await masked(path).expect(200), await unmasked(path).expect(200)];
      expect(a.headers['etag']).not.toBe(b.headers['etag']);
      expect((await masked(path, { 'if-none-match': b.headers['etag'] ?? '' }).expect(200)).text).toBe(
        a.text,
      );
      await masked(path, { 'if-none-match': a.headers['etag'] ?? '' }).expect(304);
    }
  });

  it('are the same in every version and organization key, and differ between fields and organizations', async () => {
    const other = (await makeOrganization(database.ctx)).id;
    await loadInvoices(database.ctx, other, rows);
    await publishVersion(database.ctx, other, { endpoints: [maskedEndpoint] });
    const theirs = callerOf(app, {
      secret: (await makeKey(database.ctx, other)).secret,
      organizationId: other,
    });
    const [mine, foreign] = [
      (await masked('/v1/invoices/1')).body.data,
      (await theirs('/v1/invoices/1')).body.data,
    ];
    expect(foreign.total).toMatch(/^[0-9a-f]{64}$/);
    expect(foreign.total).not.toBe(mine.total);
    expect(foreign.number).toBe(mine.number);
  });
});

describe('an allow-list of fields', () => {
  const names = ['status', 'customer', 'lines', 'unknown'];
  it('leaves the others out of answers, filters, sorts and messages as if they did not exist', async () => {
    const get = await callerWith({ fields: { invoices: names } });
    const list = await get('/v2/invoices').expect(200);
    expect(Object.keys(list.body.data[0])).toEqual(['id', 'status', 'customer', 'lines']);
    expect(idsOf(list)).toEqual(['1', '2', '3', '4']);
    expect(Object.keys((await get('/v2/invoices/1').expect(200)).body.data)).toEqual([
      'id',
      'status',
      'customer',
      'lines',
    ]);
    const csv = await get('/v2/invoices', { accept: 'text/csv' }).buffer(true).expect(200);
    expect(csv.text.split('\r\n')[0]).toBe('id,status,customer,lines');
    for (const query of [
      'total=1',
      'sort=total',
      'fields=total',
      'sort=date',
      'date_after=2026-01-01',
      'fields=unknown',
    ]) {
      const { error } = (await get(`/v2/invoices?${query}`).expect(400)).body;
      expect(error.details).toHaveLength(1);
      expect(JSON.stringify(error).replaceAll(/"(total|date|unknown)\w*\\?"|date_after/g, '')).not.toMatch(
        /total|number|seq|date|modified|customerName/,
      );
    }
    expect((await get('/v2/invoices?sort=statsu').expect(400)).body.error.message).toMatch(
      /must be one of: status\./,
    );
    expect(idsOf(await get('/v2/invoices?status=paid&sort=status&fields=id,status'))).toEqual(['2']);
  });

  it('limits only the resources it names, and reads the id even when it is empty', async () => {
    const get = await callerWith({ fields: { invoices: [], bills: ['status'] } });
    expect((await get('/v2/invoices?pageSize=2').expect(200)).body.data).toEqual([{ id: '1' }, { id: '2' }]);
    const other = await callerWith({ fields: { bills: ['status'] } });
    expect((await other('/v2/invoices').expect(200)).text).toBe(
      (await (await callerWith({}))('/v2/invoices')).text,
    );
  });

  it('goes with a row scope by a field that it leaves out', async () => {
    const get = await callerWith({ rows: rowsOf(['acme']), fields: { invoices: ['number'] } });
    expect((await get('/v2/invoices').expect(200)).body.data).toEqual([{ id: '1', number: 'INV-0001234' }]);
    await get('/v2/invoices/2').expect(404);
    await get('/v2/invoices?customer=birch').expect(400);
  });

  it('has entity tags of its own, and HEAD says what GET does', async () => {
    const readers = [
      {},
      { fields: { invoices: ['number'] } },
      { fields: { invoices: ['status'] } },
      { rows: rowsOf(['acme']) },
    ];
    const tags = [];
    for (const wanted of readers) {
      const { secret: key } = await makeKey(database.ctx, organizationId, wanted);
      const headers = {
        authorization: `Bearer ${key}`,
        'x-tenant-id': organizationId,
        'accept-encoding': 'identity',
      };
      for (const accept of ['application/json', 'text/csv']) {
        const head = await supertest(app)
          .head('/api/public/v2/invoices')
          .set({ ...headers, accept })
          .expect(200);
        const whole = await supertest(app)
          .get('/api/public/v2/invoices')
          .set({ ...headers, accept })
          .expect(200);
        tags.push(head.headers['etag']);
        expect(whole.headers['etag']).toBe(head.headers['etag']);
        expect(whole.headers['x-total-count']).toBe(head.headers['x-total-count']);
      }
    }
    expect(new Set(tags).size).toBe(8);
  });
});
