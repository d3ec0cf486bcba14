// Which numbers of a record type are amounts of money, as the ERP describes them: what `/summary` and the
// tools of agents add up.

import { beforeAll, describe, expect, it } from 'vitest';
import { createId } from '../../../src/core/id.ts';
import { fullAccess } from '../../../src/core/record-access.ts';
import { createReadEngine, createVersionTools, getRecordTools } from '../../../src/public/index.ts';
import { setAccount } from '../../setup/erp-account.ts';
import { useStarted } from '../../setup/use-started.ts';
import { type Get, invoicesEndpoint, openSite } from '../fixture.ts';

const functions = ['sum', 'avg', 'min', 'max'];
const summarized = (aggregates: readonly object[]) => ({
  endpoints: [{ ...invoicesEndpoint, aggregates, groups: ['status', 'paid'] }],
});
const bothDeclared = summarized([
  { field: 'total', functions },
  { field: 'seq', functions },
]);

const site = useStarted(() => {
  const rows = [
    { id: 1, status: 'EUR', total: '1.5', seq: '2' },
    { id: 2, status: 'USD', total: '2.25', seq: '3' },
  ];
  return openSite({ rows, versions: [] });
});
let get: Get;
let aggregate: (version: string, input: object) => Promise<string>;

/** The status is the currency of the total. `seq` is no amount, or one in a currency that no field tells. */
const describeInvoices = (seq: object, hasCurrencies: boolean): Promise<void> =>
  describeAs(
    {
      fields: [
        { name: 'total', currency: 'status' },
        { name: 'seq', ...seq },
      ],
    },
    hasCurrencies,
  );

async function describeAs(description: object, hasCurrencies: boolean): Promise<void> {
  const own = { organization_id: site.organizationId };
  const head = JSON.stringify({ name: 'invoice', label: 'Invoice' });
  const described = { description: JSON.stringify(description), described_at: new Date() };
  await site.inTransaction(async (tx) => {
    await tx('erp_record_types').where(own).delete();
    await tx('erp_record_types').insert({ ...own, name: 'invoice', position: 0, head, ...described });
    await setAccount(tx, site.organizationId, { hasCurrencies });
  });
}

beforeAll(async () => {
  ({ get } = site);
  const reads = createReadEngine(site.ctx);
  aggregate = async (version, input) => {
    const tools = createVersionTools(getRecordTools({ reads }), site.tenant, {
      version,
      reads: fullAccess,
      maxCharacters: 10_000,
    });
    const found = tools.find(({ name }) => name === 'aggregate')?.run({ resource: 'invoices', ...input });
    return (found ?? Promise.reject(new Error('no tool'))).catch(({ message }: Error) => message);
  };
});

describe('a number', () => {
  it('that is no amount is added up whatever the currencies, by clients and by agents', async () => {
    await describeInvoices({}, true);
    await site.publish(bothDeclared);
    expect((await get('/v1/invoices/summary?sum=seq&avg=seq')).body.data).toEqual([
      { sum: { seq: '5' }, avg: { seq: '2.5' } },
    ]);
    expect((await get('/v1/invoices/summary?sum=seq&sum=total')).body.error.details).toMatchObject([
      { code: 'several_currencies' },
    ]);
    expect(JSON.parse(await aggregate('v1', { field: 'seq' }))).toMatchObject({ count: 2, sum: '5' });
    expect(await aggregate('v1', { field: 'total' })).toContain('several currencies are not added up');
    expect(JSON.parse(await aggregate('v1', { field: 'total', groupBy: 'status' })).totalGroups).toBe(2);
  });

  it('of a version from before amounts were known needs the currency', async () => {
    await site.inTransaction(async (tx) => {
      const { bindings, endpoints, ...v1 } = await tx('api_schemas').where({ version: 'v1' }).first();
      expect(bindings.invoice).toMatchObject({ currency: 'status', amounts: { total: 'status' } });
      const { amounts: _, ...invoice } = bindings.invoice;
      const json = { endpoints: JSON.stringify(endpoints), bindings: JSON.stringify({ invoice }) };
      await tx('api_schemas').insert({ ...v1, ...json, id: createId(), version: 'v2' });
    });
    expect((await get('/v2/invoices/summary?sum=seq')).body.error.details).toMatchObject([
      { code: 'several_currencies' },
    ]);
    expect((await get('/v2/invoices/summary?sum=seq&status=EUR')).body.data).toEqual([{ sum: { seq: '2' } }]);
  });

  it('that is an amount in a currency that no field tells is not published without saying so, and not added up by agents', async () => {
    await describeInvoices({ currency: null }, true);
    const publish = (version: string, aggregates: readonly object[]) =>
      site.publish({ version, ...summarized(aggregates) });
    const total = { field: 'total', functions };
    await expect(publish('v3', [total, { field: 'seq', functions }])).rejects.toThrow(
      /several_currencies.*No field tells the currency/,
    );
    await publish('v3', [total, { field: 'seq', functions, currency: 'none' }]);
    expect((await get('/v3/invoices/summary?sum=seq')).body.data).toEqual([{ sum: { seq: '5' } }]);
    expect(JSON.parse(await aggregate('v3', { field: 'seq' }))).toMatchObject({ sum: '5' });
    await publish('v4', [total]);
    for (const groupBy of [undefined, 'status'])
      expect(await aggregate('v4', { field: 'seq', groupBy })).toContain('whose currency no field tells');
  });

  it('of a record type with a currency is an amount in it, unless the ERP or the version says otherwise', async () => {
    const fields = [
      { name: 'total', type: 'number' },
      { name: 'seq', type: 'integer' },
    ];
    await describeAs({ currencyField: 'status', fields }, true);
    const version = 'v7';
    await site.publish({ ...bothDeclared, version });
    expect((await get(`/${version}/invoices/summary?sum=total`)).body.error.details).toMatchObject([
      { code: 'several_currencies' },
    ]);
    expect((await get(`/${version}/invoices/summary?sum=total&status=EUR`)).body.data).toEqual([
      { sum: { total: '1.5' } },
    ]);
    expect((await get(`/${version}/invoices/summary?sum=seq`)).body.data).toEqual([{ sum: { seq: '5' } }]);
  });
});
