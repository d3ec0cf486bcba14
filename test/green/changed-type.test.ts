// Documents whose type is changed in the ERP keep their id: they leave one record type and enter another.
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { useCompany } from './company.ts';

const company = useCompany();
beforeAll(async () => {
  await company.run('creditMemo');
  const fields = [{ name: 'number', source: 'tranid' }];
  const credits = { name: 'credits', recordType: 'creditMemo', fields, maxPageSize: 1000 };
  expect(await company.publish([credits])).toBe('v1');
});
afterEach(async () => {
  await company.control('POST', '/reset');
  for (const id of changed.splice(0)) await changeType(id, 'CustCred');
});

const readIds = async (): Promise<string[]> => (await company.readAll('v1/credits')).map(({ id }) => id);
/** Credit memos that are invoices now. */
const changed: string[] = [];
const changeType = (id: string, type: string) =>
  company.control('PATCH', `/records/transaction/${id}`, { fields: { type }, touch: 'header' });
async function becomeInvoices(ids: readonly string[]): Promise<void> {
  for (const id of ids) await changeType(id, 'CustInvc');
  changed.push(...ids);
}

describe('documents whose type is changed', () => {
  it.each(['incremental', 'full'] as const)(
    'all of them are deleted by a run (%s), and no deletion is held',
    async (mode) => {
      await company.expectSuccess('creditMemo', 'incremental');
      const ids = await readIds();
      expect(ids.length).toBeGreaterThan(0);
      await becomeInvoices(ids);
      await company.expectSuccess('creditMemo', mode, { deleted: ids.length });
      expect(await readIds()).toEqual([]);
    },
  );

  it('next to one that is hidden, which alone is held', async () => {
    await company.expectSuccess('creditMemo', 'incremental');
    const [hidden = '', ...ids] = await readIds();
    await becomeInvoices(ids);
    await company.control('PUT', '/hidden', { rows: { transaction: [Number(hidden)] } });
    const counts = { deleted: ids.length };
    await company.expectPartial('creditMemo', 'incremental', 'DELETIONS_HELD', counts);
    expect(await readIds()).toEqual([hidden]);
  });
});
