// Visitors sign in with a mailed code: who gets one, that nothing tells known from unknown addresses, that neither
// guessing nor asking often helps an attacker or locks the visitor out, that a session is valid in one organization
// and on one host, and that it shows nothing more once the ERP names the visitor no longer.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { type OrganizationSite, useOrganization } from '../setup/use-organization.ts';
import { customerTypes, loadCompany, loadRecords } from './company.ts';
import { addDomain, asOwner, switchOn } from './served-portal.ts';
import { nextCode, openBrowser } from './visiting.ts';

const org = useOrganization({ mail: true, dns: true });
const host = 'portal.aster-wholesale.example';
const customers = [
  { id: 1, name: 'Aster', email: 'Orders@aster.example', isinactive: false },
  { id: 2, name: 'Birch', email: 'shared@birch.example', isinactive: false },
  { id: 3, name: 'Cedar', email: 'shared@birch.example', isinactive: false },
  { id: 4, name: 'Dove', email: 'info@bücher.example', isinactive: false },
];
const invoices = customers.map(({ id: entity }) => ({
  ...{ id: 100 + entity, tranid: `INV-${entity}`, trandate: '2026-01-15', duedate: '2026-02-15' },
  ...{ total: 10 * entity, unpaid: 5, entity, status: 'open' },
}));
const company = { customers, contacts: [], invoices };

beforeAll(async () => {
  await loadCompany(org.ctx, org.id, company);
  const owner = await asOwner(org);
  await switchOn(owner);
  await addDomain(owner, org.dns, host);
});
beforeEach(() => org.admin('rate_limits').delete());

const known = 'orders@aster.example';
const wrong = (code: string): string =>
  String((Number(code.replace(' ', '')) + 1) % 1_000_000).padStart(6, '0');
const mailsTo = async (): Promise<string[]> => {
  await org.ctx.work.waitUntilIdle('code-mails');
  return org.mails.delivered.splice(0).flatMap(({ to }) => to);
};

describe.each([
  ['below the address of the service', {}],
  ['on a domain', { host }],
])('a visitor %s', (_title, at) => {
  it('signs in with the code of a mail, which goes to the address as the ERP has it', async () => {
    const browser = openBrowser(org, at);
    const { base, origin } = browser;
    const list = `${base}/records/invoice`;
    const refused = await browser.get('/records/invoice');
    expect(refused.headers['location']).toBe(`${base}/sign-in?returnTo=${encodeURIComponent(list)}`);
    expect((await browser.get('/sign-in')).status).toBe(200);
    const asked = await browser.post('/sign-in', { email: ' ORDERS@Aster.example ', returnTo: list });
    expect([asked.status, asked.headers['location']]).toEqual([303, `${base}/code`]);
    await org.ctx.work.waitUntilIdle('code-mails');
    const [mail] = org.mails.delivered.slice(-1);
    expect(mail?.to).toEqual(['Orders@aster.example']);
    expect(mail?.mail.text).toContain(`${origin}${base}/code?request=`);
    const entered = await browser.post('/code', { code: await nextCode(org) });
    expect([entered.status, entered.headers['location']]).toEqual([303, `${origin}${list}`]);
    const { status, text, headers } = await browser.get('/records/invoice');
    expect([status, headers['cache-control']]).toEqual([200, 'private, no-store']);
    expect(text).toContain('INV-1');
    expect(text).not.toContain('INV-2');
    await browser.post('/sign-out', {});
    expect((await browser.get('/records/invoice')).status).toBe(303);
  });

  it('who chose no customer of several sees none, and may choose no one else’s', async () => {
    const browser = openBrowser(org, at);
    await browser.signIn('shared@birch.example');
    const choice = await browser.get('/records/invoice');
    expect(choice.text).toContain('Birch');
    expect(choice.text).not.toContain('INV-');
    expect((await browser.post('/customer', { customer: '1' })).status).toBe(404);
    await browser.post('/customer', { customer: '3' });
    const { text } = await browser.get('/records/invoice');
    expect([text.includes('INV-3'), text.includes('INV-2')]).toEqual([true, false]);
  });
});

describe('an address', () => {
  it('that is unknown gets the same response and no mail, and so do look-alikes of a known one', async () => {
    const texts = new Set<string>();
    const alike = ['orders@àster.example', 'orders+x@aster.example', 'info@bucher.example'];
    for (const email of [known, 'nobody@elsewhere.example', ...alike]) {
      const browser = openBrowser(org);
      const { status, text, headers } = await browser.post('/sign-in', { email });
      const page = await browser.get('/code');
      texts.add(
        JSON.stringify([
          status,
          text,
          headers['location'],
          page.text.replaceAll(/[^<>\s"]*@[^<>\s"]*|Printed on [^<]*/g, '@'),
        ]),
      );
    }
    expect([...texts].slice(1)).toEqual([]);
    expect(await mailsTo()).toEqual(['Orders@aster.example']);
    await openBrowser(org).post('/sign-in', { email: 'info@xn--bcher-kva.example' });
    expect(await mailsTo()).toEqual(['info@bücher.example']);
  });

  it.each([
    'no address',
    'a@b',
    '',
    `${'x'.repeat(300)}@aster.example`,
    'a@b.example\r\nBcc: c@d.example',
    'ordеrs@aster.example',
  ])('that is none is refused in the form: %j', async (email) => {
    const answer = await openBrowser(org).post('/sign-in', { email });
    expect([answer.status, answer.headers['set-cookie']]).toEqual([422, undefined]);
    expect(await mailsTo()).toEqual([]);
  });

  it('that is blocked gets no code, and a session of it ends at once', async () => {
    const browser = openBrowser(org);
    await browser.signIn('info@bücher.example');
    expect((await browser.get('/')).status).toBe(200);
    const [entry] = (await org.api('get', '/portal/visitors?q=info')).body.data;
    expect(entry.lastSignInAt).not.toBeNull();
    await org.api('patch', `/portal/visitors/${entry.id}`, { blocked: true });
    expect((await browser.get('/')).status).toBe(303);
    await browser.post('/sign-in', { email: 'info@bücher.example' });
    expect(await mailsTo()).toEqual([]);
    await org.api('patch', `/portal/visitors/${entry.id}`, { blocked: false });
    expect((await browser.get('/')).status).toBe(200);
  });
});

describe('a code', () => {
  it('works once, in the browser that asked for it; the link of the mail signs no one in', async () => {
    const browser = openBrowser(org);
    await browser.post('/sign-in', { email: known });
    const code = await nextCode(org);
    const other = openBrowser(org);
    expect((await other.post('/code', { code })).status).toBe(400);
    const link = await other.get('/code?request=01a22565-fd4e-767e-996b-a0154d903461');
    expect([link.status, link.text.includes('name="code"')]).toEqual([200, false]);
    const before = new Map(browser.held);
    expect((await browser.post('/code', { code })).status).toBe(303);
    const again = openBrowser(org);
    for (const [name, value] of before) again.held.set(name, value);
    expect((await again.post('/code', { code })).status).toBe(400);
  });

  it('can be guessed five times, counted over all processes', async () => {
    const processes = Array.from({ length: 5 }, () => createApp(org.ctx));
    const browser = openBrowser(org);
    await browser.post('/sign-in', { email: known });
    const code = await nextCode(org);
    const statuses: number[] = [];
    for (const app of processes) {
      const elsewhere = openBrowser(org, { app });
      for (const [name, value] of browser.held) elsewhere.held.set(name, value);
      statuses.push((await elsewhere.post('/code', { code: wrong(code) })).status);
    }
    expect(statuses).toEqual([400, 400, 400, 400, 400]);
    expect((await browser.post('/code', { code })).status).toBe(429);
  });

  it('of 20 tries a day is not exceeded with new codes, while a browser that signed in before still can', async () => {
    const own = openBrowser(org);
    await own.signIn(known);
    await own.post('/sign-out', {});
    const attacker = openBrowser(org);
    const statuses = new Set<number>();
    for (let request = 0; request < 5; request += 1) {
      await org.admin('rate_limits').whereLike('key', 'code-mails%').delete();
      await org.admin('rate_limits').whereLike('key', 'failed%').delete();
      await attacker.post('/sign-in', { email: known });
      const code = await nextCode(org);
      for (let guess = 0; guess < 5; guess += 1)
        statuses.add((await attacker.post('/code', { code: wrong(code) })).status);
    }
    expect([...statuses]).toEqual([400, 429]);
    await org.admin('rate_limits').whereLike('key', 'failed%').delete();
    await attacker.post('/sign-in', { email: known });
    expect((await attacker.post('/code', { code: await nextCode(org) })).status).toBe(429);
    expect((await own.signIn(known)).status).toBe(303);
  });
});

describe('a session', () => {
  it('is valid in its organization and on its host alone', async () => {
    const browser = openBrowser(org);
    await browser.signIn(known);
    const other = await org.another();
    await loadCompany(org.ctx, other.id, company);
    await switchOn(await asOwner(other));
    const site: Pick<OrganizationSite, 'app' | 'ctx' | 'slug' | 'mails'> = { ...org, slug: other.slug };
    const elsewhere = openBrowser(site);
    const session = browser.held.get(`portal_visitor_${org.id}`) ?? '';
    expect(session).not.toBe('');
    elsewhere.held.set(`portal_visitor_${other.id}`, session);
    expect((await elsewhere.get('/')).status).toBe(303);
    const onDomain = openBrowser(org, { host });
    onDomain.held.set('__Host-portal_visitor', session);
    expect((await onDomain.get('/')).status).toBe(303);
    expect((await browser.get('/')).status).toBe(200);
  });

  it('is of the portal alone: it is no member, and a member’s is no visitor', async () => {
    const browser = openBrowser(org);
    await browser.signIn(known);
    const session = browser.held.get(`portal_visitor_${org.id}`) ?? '';
    const whoami = await org.api('get', '/whoami', undefined, {
      authorization: '',
      cookie: `portal_session=${session}`,
    });
    expect(whoami.status).toBe(401);
  });

  it('shows nothing more once the ERP names the visitor no longer, and what another customer has after a move', async () => {
    const browser = openBrowser(org);
    await browser.signIn(known);
    expect((await browser.get('/records/invoice')).text).toContain('INV-1');
    const moved = customers.map((one) => ({
      ...one,
      email: one.id === 4 ? known : one.id === 1 ? null : one.email,
    }));
    await loadRecords(org.ctx, org.id, 'customer', customerTypes, moved);
    const { text } = await browser.get('/records/invoice');
    expect([text.includes('INV-4'), text.includes('INV-1')]).toEqual([true, false]);
    await loadRecords(org.ctx, org.id, 'customer', customerTypes, moved.slice(1, 3));
    expect((await browser.get('/records/invoice')).status).toBe(403);
    await loadRecords(org.ctx, org.id, 'customer', customerTypes, customers);
    expect((await browser.get('/records/invoice')).text).toContain('INV-1');
  });

  it('is listed with the others of the visitor, who ends one or all of them', async () => {
    const [one, other] = [openBrowser(org), openBrowser(org)];
    await one.signIn(known);
    await other.signIn(known);
    const ids = async () => [
      ...new Set(
        [...(await one.get('/profile')).text.matchAll(/name="session" value="([^"]+)"/g)].map(([, id]) => id),
      ),
    ];
    const [id] = await ids();
    expect(id).toBeDefined();
    await one.post('/sessions/end', { all: '1' });
    expect([(await one.get('/')).status, (await other.get('/')).status]).toEqual([303, 303]);
  });
});

describe('forms', () => {
  it('of another origin are refused', async () => {
    const browser = openBrowser(org, { host });
    for (const origin of [
      'https://evil.example',
      'null',
      new URL(org.ctx.settings.publicUrl).origin,
      `http://${host}`,
    ])
      expect((await browser.post('/sign-in', { email: known }, { origin })).status).toBe(403);
    expect(await mailsTo()).toEqual([]);
  });

  it.each([
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '/../console',
    '/portal/other',
    'javascript:alert(1)',
  ])('lead to pages of the portal alone: not to %s', async (returnTo) => {
    const browser = openBrowser(org);
    await browser.post('/sign-in', { email: known, returnTo });
    const { headers } = await browser.post('/code', { code: await nextCode(org) });
    expect(headers['location']).toBe(`${browser.origin}${browser.base}/`);
  });
});

describe('a host', () => {
  const get = (path: string, headers: Record<string, string>) =>
    openBrowser(org, { host }).get(path, { accept: 'application/json', ...headers });

  it('of a domain serves its portal and nothing else', async () => {
    for (const path of [
      '/console',
      '/api/platform/v1/whoami',
      '/api/public/v1/x',
      '/mcp',
      '/auth/session',
      '/docs',
      `/portal/${org.slug}/`,
    ])
      expect([path, (await get(path, {})).status]).toEqual([path, 404]);
  });

  it('that no portal has is 404 for everything, whatever other headers say', async () => {
    for (const named of ['portal.elsewhere.example', `${host}.evil.example`, `evil-${host}`])
      expect((await get('/', { host: named, 'x-forwarded-host': host })).status).toBe(404);
    expect((await get('/', { 'x-forwarded-host': 'portal.elsewhere.example' })).status).toBe(303);
  });

  it('is known in any case and with a port', async () => {
    for (const named of [host.toUpperCase(), `${host}:8443`])
      expect((await get('/', { host: named })).headers['location']).toMatch(/^\/sign-in/);
  });
});
