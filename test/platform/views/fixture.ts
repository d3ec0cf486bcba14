// An organization with four invoices, and what tests of its views call.
import { expect } from 'vitest';
import { tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { type InvoiceRow, loadInvoices } from '../../public/fixture.ts';
import type { Api } from '../../setup/api.ts';
import { useOrganization } from '../../setup/use-organization.ts';

const invoices: InvoiceRow[] = [
  {
    ...{ id: 1, tranid: 'INV-1', status: 'open', total: '-15.30', seq: '9007199254740993' },
    ...{ entityName: '=HYPERLINK("x")', trandate: '2026-01-31' },
  },
  {
    ...{ id: 2, tranid: '-15.30', status: 'paid', total: '12345678901234567890.10' },
    ...{ entityName: 'Ann, "the" boss\nBob', trandate: '2026-02-01' },
  },
  { id: 3, tranid: '', status: 'open', total: '7', lines: '[{"item":"1","quantity":2.50}]' },
  { id: 4, tranid: null, status: 'open', total: '-15.30', lastmodified: '2026-01-31T10:00:00Z', paid: true },
];

/** For the top level of a test file. */
export function useViews() {
  const maxMs = 60_000;
  const times = { maxDurationMs: maxMs, minBytesPerSecond: 1, maxSlowMs: maxMs };
  const exports = { maxRunning: 1, maxWaiting: 4, ...times };
  const org = useOrganization({ settings: { exports } });
  const body = (given: object = {}) => ({
    ...{ name: 'Open invoices', recordType: 'invoice', columns: ['tranid', 'total'] },
    ...given,
  });
  return {
    org,
    /** A new organization with the invoices takes the place of the former. */
    settle: async () => {
      await org.renew();
      await loadInvoices(org.ctx, org.id, invoices);
    },
    /** `$wh` is the schema of the organization. */
    warehouse: (text: string, values: unknown[] = []) =>
      org.ctx.db.data.query(text.replaceAll('$wh', tenantSchema(org.id)), values),
    /** Of a valid view. */
    body,
    make: async (api: Api, given: object = {}): Promise<string> => {
      const answer = await api('post', '/views', body(given));
      expect(answer.status, answer.text).toBe(201);
      return answer.body.id;
    },
    readRecords: (api: Api, id: string, query = '') => api('get', `/views/${id}/records${query}`),
    readCsv: (api: Api, id: string, query = '') =>
      api('get', `/views/${id}/records${query}`, undefined, { accept: 'text/csv' }),
  };
}
