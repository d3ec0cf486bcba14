// The public interface on a company's domain: not there unless the company says so, then for its own keys and tokens
// alone, and described with the address of the domain.
import supertest from 'supertest';
import { beforeAll, describe, expect, it } from 'vitest';
import { publishVersion } from '../public/fixture.ts';
import { makeKey, makeSession } from '../setup/organization.ts';
import { until } from '../setup/until.ts';
import { type Organization, useOrganization } from '../setup/use-organization.ts';
import { loadRecords } from './company.ts';
import { openServedPortal, type PortalOwner, switchOn } from './served-portal.ts';

const org = useOrganization({ dns: true });
const host = 'portal.aster-wholesale.example';
const otherHost = 'portal.birch-trading.example';
const endpoints = [
  { name: 'invoices', recordType: 'invoice', fields: [{ name: 'number', source: 'tranid' }] },
];
type Tenant = Pick<Organization, 'id'> & { secret: string };

async function open(organization: Organization, hostname: string): Promise<[PortalOwner, Tenant]> {
  const { id } = organization;
  const owner = await openServedPortal(org.ctx, organization, org.dns, hostname);
  const row = { tranid: `INV of ${hostname}`, trandate: null, duedate: null, total: 1, unpaid: 1 };
  const types = {
    tranid: 'text',
    trandate: 'date',
    duedate: 'date',
    total: 'number',
    unpaid: 'number',
  } as const;
  const more = { entity: 'integer', status: 'text' } as const;
  await loadRecords(org.ctx, id, 'invoice', { ...types, ...more }, [
    { id: 1, ...row, entity: 1, status: 'x' },
  ]);
  await publishVersion(org.ctx, id, { endpoints });
  return [owner, { id, secret: (await makeKey(org.ctx, id)).secret }];
}

let owner: PortalOwner;
let own: Tenant;
let other: Tenant;
beforeAll(async () => {
  [owner, own] = await open(org, host);
  const [theirs, tenant] = await open(await org.another(), otherHost);
  other = tenant;
  await switchOn(theirs, { publicApi: true });
});

const get = (path: string, { id, secret }: Tenant, named = host, more: Record<string, string> = {}) =>
  supertest(org.app)
    .get(path)
    .set({ host: named, authorization: `Bearer ${secret}`, 'x-tenant-id': id, ...more });
const list = '/api/public/v1/invoices';

describe('by default', () => {
  it('the public interface is not on the domain', async () => {
    for (const path of [list, '/api/public', '/api/public/openapi/v1', '/api/public/openapi/v1/preview'])
      expect([path, (await get(path, own)).status]).toEqual([path, 404]);
  });
});

describe('where the company says so', () => {
  beforeAll(async () => {
    expect((await owner.api('get', '/portal/access')).body.publicApi).toBe(false);
    await switchOn(owner, { publicApi: true });
    // What is known of a host is kept for seconds.
    await until(async () => (await get(list, own)).status === 200);
  });

  it('its keys and tokens read it there', async () => {
    const { body } = await get(list, own);
    expect(body.data).toEqual([expect.objectContaining({ number: `INV of ${host}` })]);
    const { id, secret } = await makeKey(org.ctx, org.id);
    const minted = await supertest(org.app)
      .post(`/api/platform/v1/api-keys/${id}/tokens`)
      .set({ authorization: `Bearer ${secret}` })
      .send({ tokens: [{ subject: 'ada', scopes: {} }] });
    expect(minted.status).toBe(201);
    expect((await get(list, { ...own, secret: minted.body.tokens[0].token })).status).toBe(200);
    expect((await get('/api/public', own)).body.data[0].resources[0].path).toBe(list);
  });

  it('those of another organization get the answer to an unknown key', async () => {
    const strip = ({ body: { error } }: supertest.Response) => ({ ...error, requestId: '' });
    const unknown = await get(list, { ...own, secret: `${own.secret.slice(0, -6)}AAAAAA` });
    for (const id of [other.id, own.id]) {
      const foreign = await get(list, { ...other, id });
      expect([foreign.status, strip(foreign)]).toEqual([401, strip(unknown)]);
    }
    expect((await get(list, own, otherHost)).status).toBe(401);
    expect((await get(list, other, otherHost)).status).toBe(200);
    expect((await get(list, other, '127.0.0.1')).status).toBe(200);
  });

  it('descriptions and collections name the domain, and only there', async () => {
    const at = '/api/public/openapi/v1';
    const description = await get(at, own);
    expect(description.body.servers[0].url).toBe(`https://${host}/api/public`);
    const elsewhere = await get(at, own, '127.0.0.1');
    expect(elsewhere.text).not.toContain(host);
    expect({ ...elsewhere.body, servers: [] }).toEqual({ ...description.body, servers: [] });
    expect(elsewhere.headers['etag']).not.toBe(description.headers['etag']);
    expect((await get(`${at}?as=http`, own)).text).toContain(`@baseUrl = https://${host}/api/public`);
    expect((await get(`${at}?as=http`, own, '127.0.0.1')).text).toContain(
      '@baseUrl = http://127.0.0.1/api/public',
    );
  });

  it('the reference page is there with its files', async () => {
    const page = await get('/api/public/openapi/v1/preview', own);
    const [, script = ''] = /src="([^"]*\/reference\/public\.js)"/.exec(page.text) ?? [];
    expect([page.status, (await get(script, own)).status]).toEqual([200, 200]);
  });

  it('nothing else is: neither the rest of the service nor its sessions', async () => {
    for (const path of [
      '/api/publicx',
      '/api/platform/v1/whoami',
      '/console',
      '/mcp',
      '/auth/session',
      '/docs',
    ])
      expect([path, (await get(path, own)).status]).toEqual([path, 404]);
    const { cookie } = await makeSession(org.ctx, org.owner.id, org.id);
    const asMember = supertest(org.app)
      .get('/api/public/openapi/v1')
      .set({ host, cookie, 'x-tenant-id': org.id });
    expect((await asMember).status).toBe(401);
  });

  it('it is gone once the company says otherwise', async () => {
    await switchOn(owner, { publicApi: false });
    await until(async () => (await get(list, own)).status === 404);
  });
});
