// A record type of which only some subsidiaries' records are wanted.
import { describe, expect, it } from 'vitest';
import type { RecordTypeMetadata } from '../../../src/connectors/connector.ts';
import { useStarted } from '../../setup/use-started.ts';
import { listIds, openAccount } from './simulated-account.ts';
import { toFields, transactionType } from './stored-types.ts';
import { expectErpError, firstPage, signal } from './wire.ts';

const company = useStarted(() => openAccount({ profile: 'oneworld', types: ['invoice'] }));

const sinceEver = new Date('2000-01-01T00:00:00Z');

const vendorBill = transactionType('vendorBill');
const filtered = (subsidiaries: readonly string[]): RecordTypeMetadata => ({
  ...vendorBill,
  fields: [...vendorBill.fields, ...toFields({ subsidiary: 'reference' })],
  filter: { subsidiaries },
});

describe('a filter by subsidiaries', () => {
  it('narrows every question about the record type', async () => {
    const [most = ''] = await company.first(
      "v.subsidiary from suiteql.transaction v where v.recordtype = 'vendorbill' group by 1 order by count(*) desc limit 1",
    );
    const bills = filtered([most]);
    const ids = await company.first(
      `v.id from suiteql.transaction v where v.recordtype = 'vendorbill' and v.subsidiary = ${most} order by v.id`,
    );
    const [other = ''] = await company.first(
      `v.id from suiteql.transaction v where v.recordtype = 'vendorbill' and v.subsidiary <> ${most} order by v.id limit 1`,
    );
    expect(ids.length).toBeGreaterThan(0);
    expect(listIds(await company.readAll(bills, { limit: 50 }))).toEqual(ids);
    expect(await company.connector.count(bills, signal)).toBe(ids.length);
    expect(await company.listAll(bills, { changedSince: sinceEver })).toEqual(ids);
    expect(await company.countChanged(bills, sinceEver)).toEqual({
      records: ids.length,
      withChangedLines: ids.length,
    });
    expect(await company.listWithChangedLines(bills, sinceEver)).toEqual(ids);
    const { records } = await company.readByIds(bills, ['tranid'], [other, ids[0] ?? '']);
    expect(listIds({ records })).toEqual([ids[0]]);
  });

  it('loses a record that leaves and finds one that enters', async () => {
    const [here = '', there = ''] = await company.first(
      "v.subsidiary from suiteql.transaction v where v.recordtype = 'vendorbill' group by 1 order by count(*) desc limit 2",
    );
    const bills = filtered([here]);
    const [id = ''] = await company.listAll(bills);
    const counted = await company.connector.count(bills, signal);
    const since = await company.connector.now(signal);
    const move = (subsidiary: string) => company.edit('transaction', id, { subsidiary });
    const read = () => company.readByIds(bills, ['tranid', 'lines'], [id]);
    await move(there);
    expect(await read()).toMatchObject({ records: [], rejected: [] });
    expect(await company.connector.count(bills, signal)).toBe(counted - 1);
    expect(await company.listAll(bills, { changedSince: since })).toEqual([]);
    expect(await company.listAll(filtered([there]), { changedSince: since })).toEqual([id]);
    expect(await company.connector.count(filtered([here, there]), signal)).toBeGreaterThan(counted);
    await move(here);
    expect(listIds(await read())).toEqual([id]);
    expect(await company.listAll(bills, { changedSince: since })).toEqual([id]);
  });

  it('narrows the record types that the connector knows by name', async () => {
    const invoice = company.getType('invoice');
    const [subsidiary = ''] = await company.first(
      "max(v.subsidiary) from suiteql.transaction v where v.type = 'CustInvc'",
    );
    const ids = await company.first(
      `v.id from suiteql.transaction v where v.type = 'CustInvc' and v.subsidiary = ${subsidiary} order by v.id`,
    );
    expect(ids.length).toBeLessThan(await company.connector.count(invoice, signal));
    expect(await company.listAll({ ...invoice, filter: { subsidiaries: [subsidiary] } })).toEqual(ids);
  });

  it.each([
    ['records without a subsidiary', { ...filtered(['1']), fields: vendorBill.fields }],
    [
      'a subsidiary that can’t be read',
      {
        ...filtered(['1']),
        fields: toFields({ subsidiary: 'reference' }).map((field) => ({ ...field, syncable: false })),
      },
    ],
    ['several subsidiaries per record', { ...filtered(['1']), fields: toFields({ subsidiary: 'list' }) }],
    ['an id that is no number', filtered(['1) OR (1 = 1'])],
    ['no subsidiary', filtered([])],
  ])('is refused for %s', async (_what, recordType) => {
    const page = { ...firstPage, recordType, fields: [], limit: 1 };
    await expectErpError(company.connector.count(recordType, signal), 'query', 'FIELD_NOT_SYNCABLE');
    await expectErpError(company.connector.readPage(page), 'query', 'FIELD_NOT_SYNCABLE');
  });
});
