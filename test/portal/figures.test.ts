// What an organization and the operator learn of the visitors of its portal, and how often a visitor may ask.
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { useOrganization } from '../setup/use-organization.ts';
import { loadCompany } from './company.ts';
import { asOwner, type PortalOwner, switchOn } from './served-portal.ts';
import { openBrowser } from './visiting.ts';

const org = useOrganization({ mail: true });
const customers = [{ id: 1, name: 'Aster', email: 'orders@aster.example', isinactive: false }];
const invoices = [{ id: 101, tranid: 'INV-1', trandate: '2026-01-15', total: 10, unpaid: 5, entity: 1 }];
const known = 'orders@aster.example';
let owner: PortalOwner;

beforeAll(async () => {
  await loadCompany(org.ctx, org.id, { customers, invoices });
  owner = await asOwner(org);
  await switchOn(owner);
});
beforeEach(() => org.admin('rate_limits').delete());

it('a visitor is active from the sign-in on, and a member who looks at the portal as one is not', async () => {
  const visitors = async () => (await owner.api('get', '/whoami')).body.metrics.monthlyActiveVisitors;
  const { body } = await owner.api('post', '/portal/visitors/view-as', { email: known });
  const viewer = openBrowser(org);
  await viewer.post('/view-as', { code: body.code });
  expect((await viewer.get('/')).status).toBe(200);
  expect(await visitors()).toBe(0);
  const browser = openBrowser(org);
  await browser.signIn(known);
  expect(await visitors()).toBe(1);
});
