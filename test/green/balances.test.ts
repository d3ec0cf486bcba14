// Fields that the account computes from other records, such as a customer's balance: no record type without
// open and closed records leaves them to the daily scan.
import { beforeAll, expect, it } from 'vitest';
import { useCompany } from './company.ts';

const company = useCompany();
beforeAll(async () => {
  await company.expectSuccess('customer', 'incremental', {}, { mode: 'full' });
  const fields = [
    { name: 'balance', source: 'balancesearch', description: 'What the customer owes', as: 'string' },
  ];
  expect(
    await company.publish([{ name: 'customers', recordType: 'customer', fields, maxPageSize: 1000 }]),
  ).toBe('v1');
});

async function wrongBalances(): Promise<string[]> {
  const truth = new Map(
    (await company.truth('customer')).map(({ id, fields }) => [id, Number(fields['balancesearch'])]),
  );
  const served = await company.readAll('v1/customers');
  expect(served).toHaveLength(truth.size);
  return served.filter(({ id, balance }) => Number(balance) !== truth.get(id)).map(({ id }) => id);
}

it.each(['incremental', 'full'] as const)(
  "a customer's balance follows an invoice in the next %s run",
  async (mode) => {
    expect(await wrongBalances()).toEqual([]);
    const invoice = (await company.truth('transaction')).find(
      ({ fields }) => fields['type'] === 'CustInvc' && fields['entity'] !== undefined,
    );
    const due = mode === 'incremental' ? '4711.5' : '4712.25';
    await company.control('PATCH', `/records/transaction/${invoice?.id}`, {
      fields: { foreignamountunpaid: due },
      touch: 'none',
    });
    expect(await wrongBalances()).toEqual([invoice?.fields['entity']]);
    const run = await company.expectSuccess('customer', mode, { updated: 1 }, { mode });
    expect((await company.proof(run))['scan']).toBeUndefined();
    expect(await wrongBalances()).toEqual([]);
  },
);
