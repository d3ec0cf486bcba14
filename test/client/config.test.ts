// Configuration as code: export, plan and apply against the service.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { listen, type Server } from '../contract/http.ts';
import { useOrganization } from '../setup/use-organization.ts';
import {
  call,
  endpoints,
  makeSetUp,
  openConfigFolder,
  openConfigSite,
  openGateway,
  type Site,
} from './config-site.ts';

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
/** An organization that is what the file says. */
async function openApplied(): Promise<Site> {
  const site = await openEmpty();
  const { code, text } = await run(site, 'apply', '--publish');
  expect(code, text).toBe(0);
  gateway.reset();
  return site;
}
const statuses = async (site: Site) =>
  (await list(site, '/api-schema')).map(
    ({ name, version, status }: Record<string, string>) => `${name} ${version} ${status}`,
  );

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
    const { code, text } = await run(site, 'export');
    expect([code, text]).toEqual([
      1,
      expect.stringContaining('Left out: webhooks "https://a.example/" refers'),
    ]);
    expect(JSON.parse(await folder.read()).webhooks).toEqual([]);
    await call(site.api, 'post', '/api-keys', { name: 'New' });
    await folder.change(({ webhooks }) =>
      webhooks.push({ url: 'https://a.example/', events: ['sync.failed'], apiKey: 'New' }),
    );
    const plan = await run(site, 'plan');
    expect(plan.text).toContain('update    webhooks "https://a.example/" (New)\n');
    expect(plan.text).toContain('apiKey: "(not covered)" → "New"');
  });

  it('leaves out who has unsubscribed', async () => {
    await staging.sql((tx) =>
      tx('subscription_recipients')
        .where({ email: 'zoe@people.example' })
        .update({ unsubscribed_at: new Date() }),
    );
    await run(staging, 'export');
    const [first] = JSON.parse(await folder.read()).subscriptions;
    expect(first.recipients).toEqual(['ada@people.example']);
    await staging.sql((tx) => tx('subscription_recipients').update({ unsubscribed_at: null }));
  });

  it('names the permission that the key lacks', async () => {
    const { secret } = await org.join(['role:read', 'team:read', 'netsuite:read', 'sync:read']);
    const { code, stderr } = await folder.runProcess(secret, gateway.url, 'export');
    expect(code).toBe(2);
    expect(stderr).toMatch(/^Missing required permission: api-schema:read \(403, request .+\)\n$/);
  });
});

describe('portal config apply', () => {
  it('makes another organization the same, and writes nothing the second time', async () => {
    const production = await openEmpty();
    const first = await run(production, 'apply', '--publish');
    expect(first.text).toMatch(/^Applying to "Production" at http:.+: 26 steps\n(.|\n)+\nDone: 26 steps\.$/);
    const shown = first.text.match(/whsec_\S+/g);
    expect(shown).toHaveLength(2);
    gateway.reset();
    expect(await run(production, 'apply', '--publish')).toEqual({
      code: 0,
      text: expect.stringMatching(/^Nothing to do for "Production" at http:/),
    });
    expect(gateway.listWrites()).toEqual([]);
    expect(gateway.reset().filter((each) => each.startsWith('POST'))).toEqual([]);
    await run(production, 'export');
    expect(await folder.read()).toBe(exported);
    expect(await run(production, 'plan')).toMatchObject({ code: 0 });
  });

  it('publishes nothing without --publish, and then exactly what the file describes', async () => {
    const site = await openEmpty();
    const other = { name: 'Not in the file', endpoints };
    await call(site.api, 'post', '/api-schema', other);
    const { text } = await run(site, 'apply');
    expect(text).toContain('apiSchemas "Entwurf" is a draft: publish it with --publish');
    expect(text).toMatch(/Not done: webhooks .+ waits until the API schema "Öffentlich" is published/);
    expect(gateway.listWrites().filter((each) => each.endsWith('/publish'))).toEqual([]);
    expect(await statuses(site)).toEqual([
      ...['Öffentlich v3 draft', 'Entwurf v2 draft', 'Not in the file v1 draft'],
    ]);
    const plan = await run(site, 'plan');
    expect(plan).toMatchObject({
      code: 1,
      text: expect.stringContaining('Plan for "Production": 2 to create, 0 to update'),
    });
    expect(plan.text).toContain('not in the file: apiSchemas "Not in the file"');
    expect(text).toContain('Not done: portalAccess waits until "portal config apply --publish"');
    expect(await call(site.api, 'get', '/portal/access')).toMatchObject({ enabled: false, updatedAt: null });
    expect((await run(site, 'apply', '--publish')).text).toMatch(/Done: 5 steps\.$/);
    expect(await statuses(site)).toEqual([
      ...['Öffentlich v3 published', 'Entwurf v2 published', 'Not in the file v1 draft'],
    ]);
    expect((await list(site, '/portal/pages'))[0]).toMatchObject({ status: 'published' });
    expect(await run(site, 'plan')).toMatchObject({ code: 0 });
  });

  it('changes a draft, and creates one after a published version', async () => {
    const site = await openApplied();
    const setNotes = (notes: string) =>
      folder.change(({ apiSchemas }) => Object.assign(apiSchemas[1], { notes }));
    await setNotes('Second');
    await run(site, 'apply');
    await setNotes('Third');
    await run(site, 'apply');
    expect(gateway.listWrites().map((each) => each.replace(/\w+-\w+-\S+/, '…'))).toEqual([
      'POST /api-schema',
      'PATCH /api-schema/…',
    ]);
    const [newest] = await list(site, '/api-schema');
    expect(newest).toMatchObject({ name: 'Öffentlich', status: 'draft', notes: 'Third', version: 'v3' });
  });

  it('stops with the problems of a publication that is refused', async () => {
    const site = await openEmpty();
    await folder.change(({ apiSchemas }) => {
      apiSchemas[1].endpoints[0].sorts = ['trandate', 'customer'];
      apiSchemas[1].endpoints[0].fields[4].source = 'subsidiary';
    });
    const { code, text } = await run(site, 'apply', '--publish');
    expect(code).toBe(2);
    expect(text).toContain('\napiSchemas "Öffentlich": ');
    expect(text).toMatch(/\n {2}endpoints\[0\]\.fields\[4\]\.source: invoice has no synced field/);
    expect(text).toContain('Not done: create views "Team"');
    expect(await list(site, '/views')).toEqual([]);
  });

  it('waits for the end of a publication, and stops with the problems of one that fails', async () => {
    const site = await openEmpty();
    let polls = 0;
    gateway.interfere((request, res) => {
      if (!/^GET \/api-schema\/[^?]+$/.test(request)) return false;
      polls += 1;
      const problems = [{ path: 'endpoints[0]', code: 'too_slow', message: 'A read took 9 s' }];
      const status = polls < 3 ? 'running' : 'failed';
      res.writeHead(200).end(JSON.stringify({ status: 'draft', publication: { status, problems } }));
      return true;
    });
    const { code, text } = await run(site, 'apply', '--publish');
    expect([code, polls]).toEqual([2, 3]);
    expect(text).toContain(
      'publishing apiSchemas "Entwurf"\napiSchemas "Entwurf": The publication has failed.\n  endpoints[0]: A read took 9 s\nNot done: publish apiSchemas "Entwurf"\n',
    );
  });

  it('writes nothing when a key or a member that is referred to is missing', async () => {
    const site = await openEmpty();
    await call(site.api, 'delete', `/api-keys/${await keyOf(site)}`);
    await folder.change(({ teams }) => teams[0].members.push('new@people.example'));
    const { code, text } = await run(site, 'apply', '--publish');
    expect([code, text.split('\n')]).toEqual([
      2,
      [
        'teams "Finanzen & Co. <β>": members: no member has the address new@people.example: invite this person first.',
        'webhooks "https://hooks.acme.example/portal" (Partner "Ö", Öffentlich): apiKey: there is no active API key "Partner \\"Ö\\"": create it first.',
        'webhooks "https://hooks.acme.example/portal" (Überwachung, Partner "Ö"): apiKey: there is no active API key "Partner \\"Ö\\"": create it first.',
      ],
    ]);
    expect(gateway.listWrites()).toEqual([]);
  });

  it('asks for credentials that the file cannot have', async () => {
    const site = await openEmpty();
    await folder.change((document) => {
      document.portalSignIn.openIdConnect.clientId = 'another';
      document.payments.provider = 'stripe';
    });
    const { text } = await run(site, 'apply');
    expect(text.split('\n')).toEqual([
      'portalSignIn: enter this provider with its client secret first.',
      'payments: enter the credentials of stripe first.',
    ]);
    expect(gateway.listWrites()).toEqual([]);
  });

  it('waits when there were too many requests, and says so', async () => {
    const site = await openEmpty();
    let refused = 0;
    gateway.interfere((request, res) => {
      if (!request.startsWith('POST /views') || refused > 0) return false;
      refused += 1;
      const error = { code: 'RATE_LIMIT_EXCEEDED', message: 'Too many requests; try again in 2 s' };
      res.writeHead(429, { 'retry-after': '2' }).end(JSON.stringify({ error }));
      return true;
    });
    const startedMs = performance.now();
    const { code, text } = await run(site, 'apply', '--publish');
    expect([code, refused]).toEqual([0, 1]);
    expect(performance.now() - startedMs).toBeGreaterThan(2_000);
    expect(text).toMatch(/Too many requests; try again in 2 s: waiting \d s\n/);
    await run(site, 'export');
    expect(await folder.read()).toBe(exported);
  });

  it('creates nothing twice when connections are lost after creations', async () => {
    const site = await openEmpty();
    const lost = new Set<string>();
    gateway.interfere((request, res, passed) => {
      if (!passed || !request.startsWith('POST') || lost.has(request)) return false;
      lost.add(request);
      return res.destroy() !== undefined;
    });
    const { code, text } = await run(site, 'apply', '--publish');
    expect([code, lost.size > 10]).toEqual([0, true]);
    expect(text.match(/The secret of .+ was lost with the connection: rotate it\./g)).toHaveLength(1);
    await run(site, 'export');
    expect(await folder.read()).toBe(exported);
  });

  it('stops at the first error, says what was done and what was not, and finishes when repeated', async () => {
    const site = await openEmpty();
    await folder.change(({ views }) => views[0].columns.push('nowhere'));
    const { code, text } = await run(site, 'apply', '--publish');
    expect(code).toBe(2);
    expect(text).toContain('published apiSchemas "Öffentlich"\nviews "Offene \\"Posten\\"": ');
    expect(text).toMatch(/\(422, request .+\)\n {2}columns\[3\]: .+\nNot done: create views "Offene/);
    expect(text.match(/^Not done/gm)).toHaveLength(16);
    await folder.write(exported);
    expect((await run(site, 'apply', '--publish')).text).toMatch(/Done: 16 steps\.$/);
    await run(site, 'export');
    expect(await folder.read()).toBe(exported);
  });

  it('adds and removes members of a team, and leaves them alone without the property', async () => {
    const site = await openApplied();
    await folder.change(({ teams }) => teams[0].members.pop());
    expect((await run(site, 'apply')).text).toMatch(
      /: 1 step\nupdated teams "Finanzen & Co. <β>"\nDone: 1 step\.$/,
    );
    expect((await list(site, '/teams'))[0]).toMatchObject({ memberCount: 1 });
    await folder.change(({ teams }) => delete teams[0].members);
    expect((await run(site, 'apply')).text).toMatch(/^Nothing to do for "Production"/);
    await folder.write(exported);
    await run(site, 'apply');
    expect((await list(site, '/teams'))[0]).toMatchObject({ memberCount: 2 });
  });

  it('changes the schedule of the only subscription of a view and format, in place of adding one', async () => {
    const site = await openApplied();
    await folder.change(({ subscriptions }) => Object.assign(subscriptions[2], { schedule: '0 9 * * *' }));
    expect((await run(site, 'plan')).text).toContain('schedule: "0 7 * * 1" → "0 9 * * *"');
    await run(site, 'apply');
    const found = await list(site, '/subscriptions');
    expect(found.map(({ schedule }: { schedule: string }) => schedule).sort()).toEqual([
      ...['0 7 * * 1', '0 8 1 * *', '0 9 * * *'],
    ]);
  });

  it('says where the service stores something else than the file has', async () => {
    const site = await openApplied();
    await folder.change(({ fieldMappings, teams }) => {
      Object.assign(fieldMappings[0].fields[0], { label: 'Total', position: 7 });
      Object.assign(teams[0], { description: 'Buchhaltung' });
    });
    expect((await run(site, 'apply')).text.split('\n').slice(1)).toEqual([
      'updated teams "Finanzen & Co. <β>"',
      'updated fieldMappings "invoice"',
      '  write what the service stores into the file: fields[0].position: 7 → 0',
      'Done: 2 steps.',
    ]);
  });

  it('knows what was done when the answer to a change is lost', async () => {
    const site = await openApplied();
    await folder.change(({ apiSchemas, teams, branding }) => {
      apiSchemas[0].notes = 'Changed';
      teams[0].members.pop();
      branding.name = 'Other';
    });
    await run(site, 'apply');
    await folder.change(({ apiSchemas, teams, branding }) => {
      apiSchemas[0].notes = 'Changed again';
      teams[0].members.pop();
      branding.name = 'Third';
    });
    const lost = new Set<string>();
    gateway.interfere((request, res, passed) => {
      if (!passed || /^(GET|POST)/.test(request) || lost.has(request)) return false;
      lost.add(request);
      return res.destroy() !== undefined;
    });
    expect(await run(site, 'apply')).toMatchObject({
      code: 0,
      text: expect.stringMatching(/Done: 3 steps\.$/),
    });
    expect([...lost].map((request) => request.split(' ')[0])).toEqual(['DELETE', 'PATCH', 'PUT']);
    expect(await run(site, 'plan')).toMatchObject({ code: 0 });
  });

  it('refuses the key of another organization than the one that is named', async () => {
    await folder.change(({ roles }) => roles.pop());
    expect(await run(staging, 'apply', '--organization', 'Production')).toEqual({
      ...{ code: 2, text: 'The key is of "Staging", not of "Production".' },
    });
    expect(await run(staging, 'plan', '--organization', 'Staging')).toMatchObject({ code: 0 });
  });

  it('refuses settings that were changed after they were read', async () => {
    const site = await openApplied();
    await folder.change(({ branding }) => Object.assign(branding, { name: 'Other' }));
    gateway.interfere(async (request, _res, passed) => {
      if (request.startsWith('GET /portal/branding') && passed)
        await call(site.api, 'put', '/portal/branding', { name: 'Third' });
      return false;
    });
    const { code, text } = await run(site, 'apply');
    expect(code).toBe(2);
    expect(text).toMatch(/branding: .+ \(422, request .+\)\n {2}revision: .+\nNot done: update branding$/);
  });
});

describe('portal config plan', () => {
  const status = async (site: Site, ...args: string[]) =>
    folder.runProcess(site.owner.secret, gateway.url, ...args);

  it('exits with 0 for no changes, 1 for changes and 2 for errors, and writes nothing', async () => {
    const same = await status(staging, 'plan');
    expect(same).toMatchObject({ code: 0, stderr: '' });
    expect(same.stdout).toMatch(/^unchanged roles "a"\n/);
    expect(same.stdout).toMatch(
      /\nPlan for "Staging": 0 to create, 0 to update, 24 unchanged, 0 not in the file\.\n$/,
    );
    await folder.change((document) => {
      document.roles.push({ name: 'New', permissions: [] });
      document.views.pop();
    });
    const different = await status(staging, 'plan');
    expect(different.code).toBe(1);
    expect(different.stdout).toContain('\ncreate    roles "New"\n');
    expect(different.stdout).toContain('\nnot in the file: views "Team"\n');
    await folder.write('{');
    expect(await status(staging, 'plan')).toMatchObject({ code: 2, stdout: '' });
    expect(await status(staging, 'apply', '--now')).toMatchObject({ code: 2, stdout: '' });
    expect(await status(staging, 'plans')).toMatchObject({ code: 2, stdout: '' });
    expect(gateway.listWrites()).toEqual([]);
  });

  it('leaves kinds alone that the file lacks', async () => {
    await folder.write('{ "format": 1, "roles": [] }');
    expect((await run(staging, 'plan')).text.split('\n')).toEqual([
      'not in the file: roles "a"',
      'not in the file: roles "Prüfer \\"审计\\""',
      'Plan for "Staging": 0 to create, 0 to update, 0 unchanged, 2 not in the file.',
    ]);
    expect(gateway.reset()).toHaveLength(3);
  });

  it('marks what breaks callers', async () => {
    await folder.change(({ roles, apiSchemas, views, webhooks, syncs, payments }) => {
      roles[1].permissions.shift();
      Object.assign(apiSchemas[1].endpoints[0], { fields: apiSchemas[1].endpoints[0].fields.slice(1) });
      apiSchemas[1].endpoints[0].fields[0].name = 'date';
      Object.assign(apiSchemas[1].endpoints[0], { filters: [], sorts: ['total'] });
      views[0].columns.pop();
      views[1].columns = ['total'];
      webhooks[0].enabled = false;
      webhooks[0].resources = ['invoices'];
      webhooks[1].events.pop();
      syncs[1].fields.pop();
      Object.assign(payments, { enabled: false });
    });
    const reader = await call(staging.api, 'post', '/api-keys', { name: 'Can only read' });
    const { code, text } = await folder.run(reader.secret, gateway.url, 'plan');
    const lines = text.split('\n').map((line) => line.trim());
    expect(code).toBe(1);
    expect(lines.filter((line) => line.startsWith('breaks'))).toEqual([
      'breaks callers: its members lose audit:read',
      'breaks callers: it no longer reads unpaid',
      'breaks callers: The field tranid of invoices was removed (against v1)',
      'breaks callers: The field trandate of invoices was removed (against v1)',
      'breaks callers: The filter status of invoices was removed (against v1)',
      'breaks callers: The filter status_not of invoices was removed (against v1)',
      'breaks callers: The sort trandate of invoices was removed (against v1)',
      'breaks callers: it no longer shows unpaid, in mails and by links as well',
      'breaks callers: it no longer shows tranid, in mails and by links as well',
      'breaks callers: it is disabled',
      'breaks callers: it no longer follows all resources',
      'breaks callers: it no longer sends sync.failed',
      'breaks callers: no one can pay any more',
    ]);
    expect(lines).toContain('permissions: removed ["audit:read"]');
    expect(lines).toContain('enabled: true → false');
    expect(lines.at(-1)).toBe(
      'Plan for "Staging": 0 to create, 8 to update, 16 unchanged, 0 not in the file; 8 changes break callers.',
    );
    expect(gateway.listWrites()).toEqual([]);
  });

  it('compares a draft that waits with the published version that it would succeed', async () => {
    const site = await openApplied();
    await folder.change(({ apiSchemas }) => apiSchemas[1].endpoints[0].sorts.pop());
    await run(site, 'apply');
    gateway.reset();
    const { code, text } = await run(site, 'plan');
    expect([code, gateway.listWrites()]).toEqual([0, []]);
    expect(text).toContain(
      'unchanged apiSchemas "Öffentlich"\n            breaks callers: The sort total of invoices was removed (against v2)\n',
    );
  });

  it('says what the interface cannot change', async () => {
    await folder.change(({ views, webhooks }) => {
      Object.assign(views[0], { recordType: 'customer' });
      Object.assign(webhooks[1], { signature: 'v1a' });
    });
    const { code, text } = await run(staging, 'plan');
    expect([code, text.split('\n')]).toEqual([
      2,
      [
        'views "Offene \\"Posten\\"": recordType can\'t be changed: delete the object first, or use another name.',
        'webhooks "https://hooks.acme.example/portal" (Überwachung, Partner "Ö"): signature can\'t be changed: delete the object first, or use another name.',
      ],
    ]);
  });
});

describe('a file', () => {
  const refusals: readonly (readonly [string, (document: Record<string, unknown>) => unknown, string])[] = [
    ['another format', (file) => Object.assign(file, { format: 2 }), 'format is 2, and must be 1.'],
    ['no format', (file) => delete file['format'], 'format is null, and must be 1.'],
    [
      'an unknown kind',
      (file) => Object.assign(file, { agents: [] }),
      'agents is unknown: kinds are roles, ',
    ],
    ['no list', (file) => Object.assign(file, { roles: {} }), 'roles must be an array'],
  ];
  it.each(refusals)('with %s is refused', async (_name, edit, message) => {
    await folder.change(edit);
    const { code, text } = await run(staging, 'apply');
    expect([code, text.replace(`${folder.file}: `, '')]).toEqual([2, expect.stringContaining(message)]);
    expect(gateway.listWrites()).toEqual([]);
  });

  it.each([
    ['{ "format": 1,', 'is no JSON: '],
    ['[]', 'must have an object.'],
  ])('that is %s is refused', async (text, message) => {
    await folder.write(text);
    expect((await run(staging, 'apply')).text).toContain(`${folder.file} ${message}`);
    expect(gateway.reset()).toEqual([]);
  });

  it('has all problems listed by their path', async () => {
    await folder.change(({ roles, views, apiSchemas, pages, subscriptions, payments, webhooks }) => {
      roles[0].id = 'x';
      delete roles[1].name;
      roles[1].permissions = ['view:read', 'view:reads'];
      apiSchemas[1].endpoints[0].fields[1].sorce = 'x';
      views[0].filters[0].operator = 'is';
      views[0].columns = 'tranid';
      views[1].visibility = 'private';
      pages[0].blocks[0].level = '1';
      subscriptions[0].enabled = null;
      webhooks[0].secret = 'whsec_x';
      Object.assign(webhooks[1], { description: 'x'.repeat(5_000), events: [] });
      payments.secrets = { secretKey: 'sk' };
    });
    const { code, text } = await run(staging, 'apply');
    const lines = text.split('\n').map((line) => line.replace(`${folder.file}: `, ''));
    expect([code, lines.map((line) => line.replace(/(unknown|one of).*/, '$1'))]).toEqual([
      2,
      [
        'roles[0].id is unknown',
        'roles[1].name is missing',
        'roles[1].permissions[1] must be one of',
        'apiSchemas[1].endpoints[0].fields[1].sorce is unknown',
        'views[0].columns must be an array',
        'views[0].filters[0].operator must be one of',
        'views[1] is private, which the file does not cover',
        'subscriptions[0].enabled must be a boolean',
        'webhooks[0].secret is unknown',
        expect.stringMatching(/^webhooks\[1\]\.description must have at most \d+ characters$/),
        'webhooks[1].events must have at least 1 entries',
        'pages[0].blocks[0].level must be an integer',
        'payments.secrets is unknown',
      ],
    ]);
    expect(gateway.listWrites()).toEqual([]);
  });

  it('with two objects of one name is refused', async () => {
    await folder.change(({ roles, teams }) => {
      roles.push({ name: 'A', permissions: [] });
      teams.push({ name: 'Other' });
    });
    expect((await run(staging, 'apply')).text).toBe(`${folder.file}: roles has two roles "A"`);
  });

  it('that is absent is asked for', async () => {
    await folder.remove();
    folder = await openConfigFolder();
    expect((await run(staging, 'plan')).text).toBe(
      `There is no ${folder.file}: run "portal config export" first.`,
    );
  });
});
