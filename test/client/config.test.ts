// Configuration as code against the service.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { listen, type Server } from '../contract/http.ts';
import { useOrganization } from '../setup/use-organization.ts';
import { call, makeSetUp, openConfigFolder, openConfigSite, openGateway, type Site } from './config-site.ts';

const org = useOrganization({ erp: {} });
let server: Server;
let gateway: Awaited<ReturnType<typeof openGateway>>;
let folder: Awaited<ReturnType<typeof openConfigFolder>>;
let staging: Site;
let secrets: string[];
let exported: string;

const run = (site: Site, ...args: string[]) => folder.run(site.owner.secret, gateway.url, ...args);
const list = async ({ api }: Site, path: string) => (await call(api, 'get', path)).data;
const keyOf = async (site: Site): Promise<string> =>
  (await list(site, '/api-keys')).find(({ name }: { name: string }) => name.startsWith('Partner')).id;
const openEmpty = () => openConfigSite(org, { name: 'Production' });

beforeAll(async () => {
  server = await listen(org.app);
  folder = await openConfigFolder();
  gateway = await openGateway(server);
  staging = await openConfigSite(org, { name: 'Staging' });
  const shown = await makeSetUp(org, { ...staging, keyId: await keyOf(staging) });
  secrets = [...shown, staging.owner.secret, `sealed-${staging.id}`];
  expect(await run(staging, 'export')).toMatchObject({ code: 0 });
  exported = await folder.read();
});
afterAll(async () => {
  gateway.stop();
  await server.stop();
  await folder.remove();
});
beforeEach(async () => {
  await folder.write(exported);
  gateway.reset();
});
afterEach(() => gateway.interfere(() => false));

describe('portal config export', () => {
  it('writes the same bytes each time, with the kinds in their order', async () => {
    const { text } = await run(staging, 'export');
    expect(text).toContain('subscriptions 3, webhooks 2');
    expect(await folder.read()).toBe(exported);
    expect(exported.endsWith('\n}\n')).toBe(true);
    expect(Object.keys(JSON.parse(exported))).toEqual([
      ...['format', 'roles', 'teams', 'queries', 'syncs', 'apiSchemas', 'views', 'templates'],
      ...['subscriptions', 'webhooks', 'fieldMappings', 'pages', 'sidebar', 'portalAccess', 'branding'],
      ...['portalSignIn', 'payments'],
    ]);
    expect(gateway.listWrites()).toEqual([]);
  });

  it('has no secrets, ids, times or private views', () => {
    expect(secrets.every((secret) => secret.length > 10)).toBe(true);
    for (const secret of secrets) expect(exported).not.toContain(secret);
    expect(exported).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-|\d{4}-\d\d-\d\dT|psk_|whsec_|Meine|"secret/);
  });

  it('has references by name, and the newest version of each name', () => {
    const { views, subscriptions, webhooks, pages, apiSchemas } = JSON.parse(exported);
    expect(views[1]).toMatchObject({ name: 'Team', team: 'Finanzen & Co. <β>' });
    expect(subscriptions[2]).toMatchObject({ view: 'Offene "Posten"', template: 'mahnung' });
    expect(webhooks[0]).toMatchObject({ apiKey: 'Partner "Ö"', apiSchema: 'Öffentlich' });
    expect(pages[0].blocks[1]).toMatchObject({ type: 'view', view: 'Offene "Posten"' });
    expect(apiSchemas.map(({ name }: { name: string }) => name)).toEqual(['Entwurf', 'Öffentlich']);
  });

  it('refuses two objects with one name, and says which', async () => {
    const site = await openEmpty();
    const view = { name: 'Twice', recordType: 'invoice', columns: ['tranid'], visibility: 'organization' };
    for (let count = 0; count < 2; count += 1) await call(site.api, 'post', '/views', view);
    expect(await run(site, 'export')).toEqual({
      ...{ code: 2, text: 'The organization has two views "Twice": change or delete one of them.' },
    });
    expect(await folder.read()).toBe(exported);
  });

  it('names what it leaves out, because it refers to what the file does not cover', async () => {
    const site = await openEmpty();
    const keyId = await keyOf(site);
    await call(site.api, 'post', '/webhooks', { url: 'https://a.example/', events: ['sync.failed'], keyId });
    await call(site.api, 'delete', `/api-keys/${keyId}`);
    const { text } = await run(site, 'export');
    expect(text).toContain('Left out: webhooks "https://a.example/" refers to something that the file');
    expect(JSON.parse(await folder.read()).webhooks).toEqual([]);
  });

  it('names the permission that the key lacks', async () => {
    const { secret } = await org.join(['role:read', 'team:read', 'netsuite:read', 'sync:read']);
    const { code, stderr } = await folder.runProcess(secret, gateway.url, 'export');
    expect(code).toBe(2);
    expect(stderr).toMatch(/^Missing required permission: api-schema:read \(403, request .+\)\n$/);
  });
});
