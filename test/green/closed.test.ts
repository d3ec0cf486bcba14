// A: closed documents whose volatile fields can still move. Those that were closed recently are compared in
// each run, all of them once a calendar day of the ERP, however few hours ago the last comparison was.
import { beforeAll, describe, expect, it } from 'vitest';
import { useCompany } from './company.ts';
import { editInvoice, erpNow, invoiceEndpoint, setClock, trueInvoices, wrongInvoices } from './invoices.ts';

describe('a document that was closed already', () => {
  // Payments leave no trace in the modification time.
  const company = useCompany({ erp: { switches: { paymentTouchesInvoice: false } } });
  beforeAll(async () => {
    await setClock(company, '2011-09-05T09:00:00Z');
    await company.expectSuccess('invoice', 'incremental', {}, { mode: 'full' });
    expect(await company.publish([invoiceEndpoint])).toBe('v1');
    expect(await wrongInvoices(company)).toEqual([]);
  });

  /** An invoice that was closed at least, or at most, as many days ago. */
  async function closed(atLeastDays: number, atMostDays: number): Promise<string> {
    const today = Date.parse((await erpNow(company)).toISOString().slice(0, 10));
    const found = (await trueInvoices(company)).find(({ fields: { closedate = '', status } }) => {
      const days = (today - Date.parse(closedate)) / 86_400_000;
      return status === 'B' && days >= atLeastDays && days <= atMostDays;
    });
    if (found === undefined) throw new Error('no such invoice');
    return found.id;
  }

  it('recently: the next run serves its new day of closing', async () => {
    const id = await closed(1, 7);
    await editInvoice(company, id, { closedate: '2011-09-05' });
    const run = await company.expectSuccess(
      'invoice',
      'incremental',
      { updated: 1 },
      { mode: 'incremental' },
    );
    expect(await wrongInvoices(company)).toEqual([]);
    const proof = await company.proof(run);
    expect(proof['scan']).toBeUndefined();
    expect(proof['open']?.facts).toMatchObject({
      closedSince: '2011-08-29',
      read: 1,
      fields: expect.arrayContaining(['closedate', 'status']),
    });
    expect(proof['open']?.facts.closed).toBeGreaterThan(0);
  });

  it('long ago: the first run of the next calendar day serves it, although fewer than 24 hours went by', async () => {
    const id = await closed(20, 10_000);
    await editInvoice(company, id, { closedate: '2011-09-05' });
    // Half past midnight in London is half past eleven in the evening in UTC.
    await setClock(company, '2011-09-05T22:30:00Z');
    expect((await company.proof(await company.run('invoice')))['scan']).toBeUndefined();
    await setClock(company, '2011-09-05T23:30:00Z');
    const run = await company.expectSuccess(
      'invoice',
      'incremental',
      { updated: 1 },
      { mode: 'incremental' },
    );
    expect(await wrongInvoices(company)).toEqual([]);
    const { scan } = await company.proof(run);
    expect(scan?.message).toMatch(
      /^All \d+ records: [a-z]+, [a-z]+, [a-z]+ and \d+ more fields were compared, 1 fetched, 0 stored here but absent in the ERP\. All other fields of records whose modification time did not move were last read in full between 2011-09-05T\d\d:\d\d:\d\dZ and /,
    );
    expect(scan?.facts.fields).toEqual(expect.arrayContaining(['closedate', 'lastmodifieddate']));
    expect((await company.proof(await company.run('invoice')))['scan']).toBeUndefined();
  });

  it('long ago: a full run serves it', async () => {
    const id = await closed(20, 10_000);
    await editInvoice(company, id, { closedate: '2011-09-01', foreignamountunpaid: '1.5' });
    await company.expectSuccess('invoice', 'full', { updated: 1 });
    expect(await wrongInvoices(company)).toEqual([]);
  });
});
