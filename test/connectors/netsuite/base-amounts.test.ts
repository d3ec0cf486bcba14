// Amounts of transactions in their own currency and in the base currency of their subsidiary, both as the
// account's ledger has them.
import { describe, expect, it } from 'vitest';
import type { SourceRecord } from '../../../src/connectors/source-records.ts';
import { useStarted } from '../../setup/use-started.ts';
import { openAccount } from './simulated-account.ts';

const names = ['invoice', 'creditMemo', 'customerPayment', 'salesOrder'];
const company = useStarted(() => openAccount({ profile: 'oneworld', types: names }));

const readAll = async (name: string, fields: readonly string[]): Promise<readonly SourceRecord[]> =>
  (await company.readAll(company.getType(name), { fields })).records;
const minor = (text: string | null | undefined): number => Math.round(Number(text ?? '0') * 100);

describe.each(names)('%s', (name) => {
  it('has its currency, its rate, and its total in both currencies', () => {
    const fields = new Map(company.getType(name).fields.map((field) => [field.name, field]));
    for (const field of ['currency', 'exchangerate', 'foreigntotal', 'basetotalaftertaxes', 'subsidiary'])
      expect([field, fields.get(field)?.syncable]).toEqual([field, true]);
    expect(fields.get('foreigntotal')?.currency).toBe('currency');
    expect(fields.get('basetotalaftertaxes')?.currency).toBeNull();
  });

  it('its base total is that of its rate, within the rounding of its lines', async () => {
    const records = await readAll(name, ['currency', 'exchangerate', 'foreigntotal', 'basetotalaftertaxes']);
    expect(records.length).toBeGreaterThan(100);
    expect(records.some(({ values }) => values['exchangerate'] !== '1')).toBe(true);
    const wrong = records.filter(({ values }) => {
      const product = Number(values['foreigntotal']) * Number(values['exchangerate']) * 100;
      return Math.abs(product - minor(values['basetotalaftertaxes'])) > 10;
    });
    expect(wrong.map(({ id, values }) => ({ id, ...values }))).toEqual([]);
  });
});

it('lines of an invoice have both amounts, which sum up to its totals before tax', async () => {
  const records = await readAll('invoice', [
    'exchangerate',
    'foreigntotal',
    'taxtotal',
    'basetotalaftertaxes',
    'lines',
  ]);
  const foreign = records.filter(({ values }) => values['exchangerate'] !== '1');
  expect(foreign.length).toBeGreaterThan(10);
  const sumLines = (record: SourceRecord, field: string): number =>
    (record.lines ?? []).reduce((sum, line) => sum + minor(line[field]), 0);
  for (const record of foreign) {
    expect(-sumLines(record, 'foreignamount')).toBe(
      minor(record.values['foreigntotal']) - minor(record.values['taxtotal']),
    );
    const base =
      -sumLines(record, 'netamount') +
      minor(record.values['taxtotal']) * Number(record.values['exchangerate']);
    expect(Math.abs(base - minor(record.values['basetotalaftertaxes']))).toBeLessThan(1);
  }
});
