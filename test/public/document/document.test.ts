// A record as PDF, read back: what its JSON says to the same caller, in every version, and nothing else.

import supertest from 'supertest';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseDigits } from '../../../src/core/text/exact-json.ts';
import { compareVersions, SchemaDocument } from '../../../src/public/index.ts';
import { readPdf, textsOf } from '../../pdf/read-pdf.ts';
import { storeAccount } from '../../setup/erp-account.ts';
import { createRandom, type Random } from '../../setup/random.ts';
import { useStarted } from '../../setup/use-started.ts';
import { field } from '../../sync/fixture.ts';
import { createRowScopes, scopedInvoices } from '../access/fixture.ts';
import {
  bumpGeneration,
  callerHeaders,
  type Get,
  type InvoiceRow,
  invoicesEndpoint,
  maskInvoices,
  openSite,
  publishVersion,
  withFields,
} from '../fixture.ts';
import { ofCustomer, oneToken, openTokenSite, scopableInvoices } from '../serve/tokens-site.ts';

const createLines = (id: number, count: number) =>
  JSON.stringify(
    Array.from({ length: count }, (_, at) => ({
      item: `i${id}${at}`,
      'item.name': `Item ${at} of ${id}`,
      quantity: at + 0.25,
      secretcost: 77_000 + id,
    })),
  );
const rows: InvoiceRow[] = [
  {
    ...{
      id: 1,
      tranid: 'INV-0001234',
      status: 'open',
      total: '100.50',
      seq: '9007199254740993',
      paid: false,
    },
    ...{ trandate: '2026-01-31', lastmodified: '2026-01-31T23:59:59.999999Z', entity: 'acme' },
    ...{ entityName: 'EUR', lines: createLines(1, 3) },
  },
  {
    ...{ id: 2, tranid: 'INV-0002', total: '12345678901234567890.123456789', seq: '7', paid: true },
    ...{ trandate: '2025-02-01', entity: 'bolt', entityName: 'USD', lines: '[]' },
  },
  { id: 3, status: 'Café Ζυρίχη Київ', total: '-0.10', entity: 'acme', lines: createLines(3, 1) },
  {
    ...{ id: 4, tranid: '=1+1"\r\nX-Evil: <b>1</b> {page} %PDF (\\)', entity: 'bolt' },
    ...{ status: 'a\u0000\u202Eb'.replace('\u0000', ''), lines: null },
  },
  { id: 5, tranid: 'INV-5', status: '中文', entity: 'acme' },
];

const site = useStarted(() => openSite({ rows, versions: [{ endpoints: [scopedInvoices] }] }));
const accept = 'application/pdf';
const labels: Readonly<Record<string, string>> = {
  ...{
    number: 'Number',
    status: 'Status',
    total: 'Total',
    totalText: 'Total text',
    seq: 'Seq',
    paid: 'Paid',
  },
  ...{ date: 'Date', modified: 'Modified', customer: 'Customer', customerName: 'Customer name' },
};
const note = 'Bank 0001';

beforeAll(async () => {
  const fields = [
    { ...field('total', 'number'), currency: 'entity' },
    { ...field('entity', 'reference'), target: 'customer' },
  ];
  await storeAccount(site.tenant, {
    described: [
      {
        ...{
          name: 'invoice',
          label: 'Invoice',
          table: 'transaction',
          source: 'test',
          idType: 'integer',
          fields,
        },
        ...{ openWhen: null, modifiedField: null, linesModifiedField: null },
        shownAs: { number: 'tranid', name: null, date: null, amount: null },
      },
    ],
    listed: [],
    account: {
      ...{ hasSubsidiaries: null, hasCurrencies: true, baseCurrency: null, accountingBooks: null },
      utcOffsetMinutes: 0,
    },
  });
  await setBrand({ name: 'Northwind', postalAddress: 'Pier 9', documentNote: note });
});

const setBrand = (settings: object) =>
  site.inTransaction((tx) =>
    tx('portal_branding')
      .insert({ organization_id: site.organizationId, settings: JSON.stringify(settings) })
      .onConflict('organization_id')
      .merge({ settings: JSON.stringify(settings), revision: tx.raw('portal_branding.revision + 1') }),
  );

const read = async (get: Get, path: string, headers: Record<string, string> = { accept }) => {
  const answer = await get(path, headers).responseType('blob');
  const bytes = answer.body as Buffer;
  const problems = answer.status < 400 ? [] : JSON.parse(bytes.toString()).error.details;
  return { ...answer, headers: answer.headers as Record<string, string>, bytes, problems };
};

type Json = ReturnType<typeof parseDigits>;
const written = (value: Json | undefined): string =>
  typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value ?? '');

/** What a document of this JSON says, in order. `masked`: fields that this caller sees masked. */
function textsOfJson(text: string, masked: ReadonlySet<string>): string[] {
  const { data } = parseDigits(text) as { data: Record<string, Json> };
  const { id, lines = null, ...fields } = data;
  const currency = masked.has('customerName') ? '' : ` ${written(fields['customerName'])}`;
  const facts = Object.entries(fields).flatMap(([name, value]) => {
    const isAmount = (name === 'total' || name === 'totalText') && !masked.has(name);
    return value === null ? [] : [labels[name] ?? '', `${written(value)}${isAmount ? currency : ''}`];
  });
  const table = (lines ?? []) as readonly Record<string, Json>[];
  const title = `Invoice ${written(fields['number'] ?? id)}`;
  return [
    ...['Northwind', 'Pier 9', title, ...facts],
    ...(table.length === 0 ? [] : ['Lines', 'Item', 'Item name', 'Quantity']),
    ...table.flatMap((line) => Object.values(line).map(written)),
    ...[note, `Northwind · ${title}`, 'Page 1 of 1'],
  ];
}
const squeeze = (texts: readonly string[]): string => texts.join('').replaceAll(/[\s\u202e]/gu, '');

const scalars = Object.keys(labels);
const some = <T>({ below }: Random, list: readonly T[]): T[] => list.filter(() => below(2) === 0);
const fitting: Readonly<Record<string, readonly string[]>> = {
  ...{ number: ['last4', 'hash'], total: ['hash'], seq: ['last4'], paid: ['hash'], date: ['year'] },
  ...{ modified: ['hash', 'year'], customerName: ['last4', 'hash'] },
};

/** A version with random masks, and callers with random limits. */
async function openRandom(random: Random, version: string) {
  const masks = Object.fromEntries(
    some(random, Object.entries(fitting)).flatMap(([name, kinds]) => {
      const kind = random.pick(kinds);
      return name === 'total'
        ? [
            [name, kind],
            ['totalText', kind],
          ]
        : [[name, kind]];
    }),
  );
  const { fields } = maskInvoices(masks, random.below(2) === 0 ? { itemName: 'last4' } : {});
  const scoped = withFields({ fields }, { customer: { scopable: true } }).fields;
  const endpoint = { ...invoicesEndpoint, fields: scoped, document: 'invoice', filters: [], sorts: [] };
  await site.publish({ version, endpoints: [endpoint] });
  const unmasked = random.below(3) === 0;
  const get = await site.callerWith({
    unmasked,
    ...(random.below(2) === 0 && { rows: createRowScopes(['acme']) }),
    ...(random.below(2) === 0 && {
      fields: { invoices: ['status', ...some(random, [...scalars, 'lines'])] },
    }),
  });
  return { get, masked: new Set(unmasked ? [] : Object.keys(masks)) };
}

describe('a record as PDF', () => {
  it('says what its JSON says to the same caller, and nothing else', async () => {
    let documents = 0;
    const random = createRandom(52);
    for (let number = 10; number < 22; number += 1) {
      const { get, masked } = await openRandom(random, `v${number}`);
      for (const { id } of rows.slice(0, 4)) {
        const chosen = random.below(2) === 0 ? `?fields=${['id', 'status'].join()}` : '';
        const path = `/v${number}/invoices/${id}${chosen}`;
        const json = await get(path).buffer(true);
        const pdf = await read(get, path);
        expect(pdf.status, path).toBe(json.status);
        expect(pdf.problems).toEqual(json.body.error?.details ?? []);
        if (json.status !== 200) continue;
        documents += 1;
        expect(squeeze(textsOf(await readPdf(pdf.bytes))), path).toBe(
          squeeze(textsOfJson(json.text, masked)),
        );
      }
    }
    expect(documents).toBeGreaterThan(20);
  });
});

const invoiceDocument = { ...invoicesEndpoint, document: 'invoice' };

describe('the PDF of a version that declares it', () => {
  beforeAll(() => site.publish({ version: 'v2', endpoints: [invoiceDocument] }).then(() => undefined));

  it('is a file with an entity tag that follows the record and the brand', async () => {
    const { get } = site;
    const first = await read(get, '/v2/invoices/1');
    const { etag = '' } = first.headers;
    expect(first.headers).toMatchObject({
      ...{
        'content-type': accept,
        vary: expect.stringContaining('Accept'),
        'cache-control': 'private, no-cache',
      },
      ...{
        'content-disposition': 'attachment; filename="INV-0001234.pdf"',
        etag: expect.stringMatching(/^"/),
      },
      ...{ 'content-length': String(first.bytes.length), 'x-data-generation': expect.any(String) },
    });
    const again = await read(get, '/v2/invoices/1?format=pdf', {});
    expect(again.bytes.equals(first.bytes)).toBe(true);
    const revalidate = () => read(get, '/v2/invoices/1', { accept, 'if-none-match': etag });
    expect((await revalidate()).status).toBe(304);
    expect((await get('/v2/invoices/1', { 'if-none-match': etag })).status).toBe(200);
    expect((await read(get, '/v2/invoices/1', { accept, 'if-match': '"other"' })).status).toBe(412);
    const { app, organizationId } = site;
    const { secret } = await site.key();
    const head = await supertest(app)
      .head('/api/public/v2/invoices/1')
      .set({ ...callerHeaders({ secret, organizationId }), accept });
    expect(head.headers).toMatchObject({ etag, 'content-length': String(first.bytes.length) });
    await setBrand({ name: 'Southwind' });
    const renamed = await revalidate();
    expect(renamed.status).toBe(200);
    expect(textsOf(await readPdf(renamed.bytes))).toContain('Southwind');
    await bumpGeneration(site.ctx, site.organizationId, rows.length);
    const tag = renamed.headers['etag'] ?? '';
    await expect
      .poll(async () => (await read(get, '/v2/invoices/1', { accept, 'if-none-match': tag })).status)
      .toBe(200);
  });

  it('is refused with the characters that cannot be set, and for parameters that it has not', async () => {
    const { get } = site;
    const refused = await read(get, '/v2/invoices/5');
    expect(refused.status).toBe(422);
    expect(refused.problems).toMatchObject([
      { code: 'cannot_set', message: expect.stringContaining('中文') },
    ]);
    expect((await read(get, '/v2/invoices/5?fields=number')).status).toBe(200);
    expect(
      (await read(get, '/v2/invoices/5', { accept: 'application/json, application/pdf' })).headers,
    ).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
    });
    const { status, problems } = await read(get, '/v2/invoices/1?format=docx&page=1');
    expect([status, problems.map(({ path }: { path: string }) => path).sort()]).toEqual([
      400,
      ['format', 'page'],
    ]);
    expect((await read(get, '/v2/invoices')).status).toBe(406);
    expect((await read(get, '/v2/invoices/99')).status).toBe(404);
    const hostile = await read(get, '/v2/invoices/4');
    expect(hostile.headers['content-disposition']).toBe(
      'attachment; filename="1-1-X-Evil- -b-1-b- -page- -PDF.pdf"',
    );
  });

  it('is in the layout that publishing fixed, and in no version that was published without', async () => {
    const before = await read(site.get, '/v1/invoices/1');
    expect([before.status, before.problems]).toMatchObject([
      406,
      [{ code: 'not_acceptable', path: 'Accept' }],
    ]);
    expect((await read(site.get, '/v1/invoices/1?format=pdf', {})).problems).toMatchObject([
      { code: 'unknown_parameter', path: 'format' },
    ]);
    const stored = await site.inTransaction((tx) =>
      tx('api_schemas').whereIn('version', ['v1', 'v2']).orderBy('version').select('bindings', 'openapi'),
    );
    expect(stored.map(({ bindings }) => bindings.invoice.document)).toEqual([
      undefined,
      { layout: 'invoice-1', label: 'Invoice', number: 'tranid' },
    ]);
    const [without, described] = stored.map(({ openapi }) => openapi as string);
    expect(without).not.toMatch(/pdf/i);
    const { paths } = JSON.parse(described ?? '');
    expect(paths['/v2/invoices/{id}'].get.responses).toMatchObject({
      200: { content: { [accept]: { schema: { format: 'binary' } } } },
      422: { $ref: '#/components/responses/Unsettable' },
    });
    const few = await site.callerWith({ fields: { invoices: ['status'] } });
    const { text } = await few('/openapi/v2').expect(200);
    expect(JSON.parse(text).paths['/v2/invoices/{id}'].get).toMatchObject({
      parameters: expect.arrayContaining([expect.objectContaining({ name: 'format' })]),
      responses: { 200: { content: { [accept]: expect.anything() } } },
    });
    expect(text).not.toMatch(/quantity|customerName/);
    expect(
      SchemaDocument.safeParse({ endpoints: [{ ...invoicesEndpoint, document: 'letter' }] }).success,
    ).toBe(false);
    const [old, next] = [[invoicesEndpoint], [invoiceDocument]].map((endpoints) => ({
      ...SchemaDocument.parse({ endpoints }),
      bindings: {},
    }));
    if (old === undefined || next === undefined) throw new Error('no versions');
    expect(compareVersions(old, next)).toMatchObject([
      { path: 'invoices.document', code: 'added', breaking: false },
    ]);
    expect(compareVersions(next, old)).toMatchObject([{ code: 'removed', breaking: true }]);
  });
});

it('is served to tokens of the whole service, under their row scope', async () => {
  const tokens = await openTokenSite();
  try {
    const endpoint = { ...scopableInvoices, document: 'invoice' };
    await publishVersion(tokens.ctx, tokens.organization.id, { version: 'v2', endpoints: [endpoint] });
    const token = await oneToken(tokens, await tokens.key(), { scopes: ofCustomer('ann') });
    const get: Get = (path, headers) => tokens.get(token, path, headers);
    const own = await read(get, '/v2/invoices/1');
    const { text } = await get('/v2/invoices/1').buffer(true);
    expect([own.status, JSON.parse(text).data.customerName]).toEqual([200, '**** ann']);
    const texts = textsOf(await readPdf(own.bytes));
    expect(texts).toEqual(expect.arrayContaining(['**** ann', 'invoice 1']));
    expect((await read(get, '/v2/invoices/2')).status).toBe(404);
  } finally {
    await tokens.close();
  }
});
