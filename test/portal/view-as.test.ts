// Members see the portal as a visitor would: with a code that works once, for as long as they belong to the
// organization, in a frame of the console and beside a session of their own.
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { refusal } from '../setup/api.ts';
import { useOrganization } from '../setup/use-organization.ts';
import { loadCompany } from './company.ts';
import { asOwner, switchOn } from './served-portal.ts';
import { openBrowser } from './visiting.ts';

const org = useOrganization({ mail: true });
const customers = [1, 2].map((id) => ({
  id,
  name: `C${id}`,
  email: `c${id}@aster.example`,
  isinactive: false,
}));
const invoices = customers.map(({ id: entity }) => ({
  ...{ id: 100 + entity, tranid: `INV-${entity}`, trandate: '2026-01-15', duedate: '2026-02-15' },
  ...{ total: 10, unpaid: 5, entity, status: 'open' },
}));

beforeAll(async () => {
  await loadCompany(org.ctx, org.id, { customers, contacts: [], invoices });
  await switchOn(await asOwner(org));
});
beforeEach(() => org.admin('rate_limits').delete());

const ask = async (body: object, api = org.api) => (await api('post', '/portal/visitors/view-as', body)).body;
const shows = async (browser: ReturnType<typeof openBrowser>): Promise<boolean[]> => {
  const { text } = await browser.get('/records/invoice');
  return [text.includes('INV-1'), text.includes('INV-2')];
};

it('opens once, shows what the visitor sees, says so, and may be framed by the console', async () => {
  const { code, address } = await ask({ email: 'C1@aster.example' });
  expect(address).toBe(`${org.ctx.settings.publicUrl}/portal/${org.slug}/view-as`);
  const browser = openBrowser(org);
  expect((await browser.post('/view-as', { code })).status).toBe(303);
  expect(await shows(browser)).toEqual([true, false]);
  const { headers, text } = await browser.get('/');
  expect(headers['content-security-policy']).toContain("frame-ancestors 'self'");
  expect(text).toContain('c1@aster.example');
  expect((await openBrowser(org).post('/view-as', { code })).status).toBe(403);
  const { data } = (await org.api('get', `${org.at}/audit-log?action=portal.view-as`)).body;
  expect(data[0].changes).toEqual({ email: 'c1@aster.example' });
});

it('leaves a session of the member’s own as it is, which no page may frame', async () => {
  const browser = openBrowser(org);
  await browser.signIn('c2@aster.example');
  expect((await browser.get('/')).headers['content-security-policy']).toContain("frame-ancestors 'none'");
  await browser.post('/view-as', { code: (await ask({ customer: '1' })).code });
  expect(await shows(browser)).toEqual([true, false]);
  await browser.post('/sign-out', {});
  const ended = await browser.get('/');
  expect(ended.text).toContain('The view has ended');
  expect(ended.headers['content-security-policy']).toContain("frame-ancestors 'self'");
  expect(await shows(browser)).toEqual([false, true]);
});

it('ends when the member leaves the organization', async () => {
  const admin = await org.join('admin');
  const browser = openBrowser(org);
  await browser.post('/view-as', { code: (await ask({ email: 'c1@aster.example' }, admin.api)).code });
  expect(await shows(browser)).toEqual([true, false]);
  await org.admin('memberships').where({ user_id: admin.id }).delete();
  expect((await browser.get('/')).status).toBe(401);
  expect((await browser.get('/')).status).toBe(303);
});

it('is refused to others, for another organization’s portal, and for those who see nothing', async () => {
  const editor = await org.join('editor');
  expect(await refusal(editor.api('post', '/portal/visitors/view-as', { customer: '1' }))).toEqual([403]);
  const other = await org.another();
  await loadCompany(org.ctx, other.id, { customers, contacts: [], invoices });
  await switchOn(await asOwner(other));
  const elsewhere = openBrowser({ ...org, slug: other.slug });
  const { code } = await ask({ email: 'c1@aster.example' });
  expect((await elsewhere.post('/view-as', { code })).status).toBe(403);
  const refused = (body: object) => refusal(org.api('post', '/portal/visitors/view-as', body));
  expect(await refused({ email: 'nobody@aster.example' })).toEqual([422, 'no_customer']);
  expect(await refused({ email: 'c1@aster.example', customer: '2' })).toEqual([422, 'unknown_customer']);
  expect(await refused({ customer: '99' })).toEqual([422, 'unknown_customer']);
  const { body } = await org.api('get', '/portal/visitors/address?email=C2%40ASTER.example');
  expect(body).toEqual({ email: 'c2@aster.example', customers: [{ id: '2', name: 'C2' }] });
});
