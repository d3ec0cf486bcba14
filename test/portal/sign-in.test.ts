// Visitors sign in with a mailed code: who gets one, that nothing tells known from unknown addresses, that a session
// is valid in one organization and on one host, and that it ends when the ERP names the visitor no longer.
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { useOrganization } from '../setup/use-organization.ts';
import { loadCompany } from './company.ts';
import { enablePortal, nextCode, openBrowser } from './visiting.ts';

const org = useOrganization({ mail: true });
const customers = [
  { id: 1, name: 'Aster', email: 'Orders@aster.example', isinactive: false },
  { id: 2, name: 'Birch', email: 'shared@birch.example', isinactive: false },
  { id: 3, name: 'Cedar', email: 'shared@birch.example', isinactive: false },
];
const invoices = [1, 2, 3].map((entity) => ({
  ...{ id: 100 + entity, tranid: `INV-${entity}`, trandate: '2026-01-15', duedate: '2026-02-15' },
  ...{ total: 10 * entity, unpaid: 5, entity, status: 'open' },
}));

beforeAll(async () => {
  await loadCompany(org.ctx, org.id, { customers, contacts: [], invoices });
  await enablePortal(org);
});
beforeEach(() => org.admin('rate_limits').delete());

it('is by the code of a mail to the address that the ERP has', async () => {
  const browser = openBrowser(org);
  expect((await browser.get('/')).headers['location']).toBe(
    `${browser.base}/sign-in?returnTo=${encodeURIComponent(`${browser.base}/`)}`,
  );
  expect((await browser.get('/sign-in')).text).toContain('sign-in');
  const asked = await browser.post('/sign-in', {
    email: ' ORDERS@Aster.example ',
    returnTo: `${browser.base}/records/invoice`,
  });
  expect([asked.status, asked.headers['location']]).toEqual([303, `${browser.base}/code`]);
  await org.ctx.work.waitUntilIdle('code-mails');
  expect(org.mails.delivered.at(-1)?.to).toEqual(['Orders@aster.example']);
  const entered = await browser.post('/code', { code: await nextCode(org) });
  expect([entered.status, entered.headers['location']]).toEqual([
    303,
    `${browser.origin}${browser.base}/records/invoice`,
  ]);
  const list = await browser.get('/records/invoice');
  expect(list.status).toBe(200);
  expect(list.text).toContain('INV-1');
  expect(list.text).not.toContain('INV-2');
});
