// H: clocks that are set back by an hour. A change in the repeated hour may carry the time of the hour
// before; the next run serves it.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Run, useCompany } from './company.ts';
import { editInvoice, erpNow, invoiceEndpoint, setClock, trueInvoices, wrongInvoices } from './invoices.ts';

const hourMs = 3_600_000;
const company = useCompany();
let ids: string[];
beforeAll(async () => {
  // Half an hour before the clocks of London go back from 2:00 to 1:00 local time.
  await setClock(company, '2011-10-30T00:30:00Z');
  await company.expectSuccess('invoice', 'incremental', {}, { mode: 'full' });
  expect(await company.publish([invoiceEndpoint])).toBe('v1');
  ids = (await trueInvoices(company)).map(({ id }) => id);
});

const id = (at: number): string => ids[at] ?? '';
const toIsoSeconds = (at: Date): string => at.toISOString().replace(/\.\d+Z$/, 'Z');
const hourBack = async (): Promise<string> =>
  toIsoSeconds(new Date((await erpNow(company)).getTime() - hourMs));
const expectServed = async (run: Run, updated: number) => {
  expect(run).toMatchObject({ status: 'succeeded', counts: { updated } });
  expect(await wrongInvoices(company)).toEqual([]);
};

describe('a change with the time of the hour before', () => {
  it('is served by the next incremental run, without a scan', async () => {
    await company.run('invoice'); // the high-water mark is at its latest
    await editInvoice(company, id(3), { memo: 'an hour back' }, await hourBack());
    const run = await company.run('invoice');
    await expectServed(run, 1);
    const proof = await company.proof(run);
    expect(proof['scan']).toBeUndefined();
    expect(proof['changed']?.facts).toMatchObject({ read: 1 });
    await company.expectSuccess('invoice', 'incremental', { fetched: 0, updated: 0 });
  });

  it('is served after a full run during which it was made', async () => {
    await company.run('invoice', 'full');
    await editInvoice(company, id(4), { memo: 'during a full run' }, await hourBack());
    await expectServed(await company.run('invoice'), 1);
    await editInvoice(company, id(5), { memo: 'before a full run' }, await hourBack());
    await expectServed(await company.run('invoice', 'full'), 1);
  });
});

describe('the hour that London repeats on 30 October 2011', () => {
  it('every change is served by the next run, whichever of the two hours its time is taken for', async () => {
    for (let minute = 35; minute <= 155; minute += 20) {
      await setClock(company, toIsoSeconds(new Date(Date.parse('2011-10-30T00:00:00Z') + minute * 60_000)));
      const local = minute >= 60 && minute < 120; // 1:00 to 2:00 happens twice
      await editInvoice(company, id(minute), { memo: `at ${minute}` }, local ? await hourBack() : 'header');
      await editInvoice(company, id(minute + 5), { memo: `at ${minute}, rightly` }, 'header');
      await expectServed(await company.run('invoice'), 2);
    }
  });
});
