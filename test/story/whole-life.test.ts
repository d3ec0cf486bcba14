// The life of an organization, over HTTP only: people sign in with a real identity provider, mail goes
// through a real SMTP server, and a real DNS server proves the domain.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Background, startBackground } from '../../src/app.ts';
import { type Answer, type Api, base, createApi, listCodes } from '../setup/api.ts';
import { type TestDatabase, testDatabase, testSettings } from '../setup/database.ts';
import { type DnsServer, startDns } from '../setup/dns.ts';
import { type Browser, openBrowser, type SignInSite, startSignInSite } from '../setup/identity-provider.ts';
import { type MailServer, startMailServer } from '../setup/smtp.ts';
import { until } from '../setup/until.ts';

const people = ['founder', 'colleague', 'successor'].map((id) => ({
  id,
  email: `${id}@acme.example`,
  name: `The ${id}`,
  about: '',
}));

let database: TestDatabase;
let dns: DnsServer;
let mails: MailServer;
let site: SignInSite;
let background: Background;

beforeAll(async () => {
  [dns, mails] = await Promise.all([startDns(), startMailServer()]);
  database = await testDatabase({
    settings: {
      allowSignup: true,
      dnsServers: [dns.address],
      mail: { ...testSettings.mail, smtpUrl: mails.url },
    },
  });
  site = await startSignInSite({ ctx: database.ctx, people });
  background = await startBackground(site.ctx);
});
afterAll(async () => {
  await background.stop();
  await site.stop();
  await mails.close();
  await dns.stop();
  await database.close();
});

/** Calls the service as one of its pages does for the signed-in user. */
const createPage =
  (browser: Browser) =>
  async (method: string, path: string, body?: unknown): Promise<{ status: number; body: Answer['body'] }> => {
    const response = await browser.send(`${site.origin}${base}${path}`, {
      method: method.toUpperCase(),
      headers: { origin: site.origin, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  };
type Page = ReturnType<typeof createPage>;

async function signIn(person: string): Promise<Page> {
  const browser = openBrowser();
  const response = await browser.signIn(site.origin, person);
  expect([response.status, response.headers.get('location')]).toEqual([302, `${site.origin}/`]);
  return createPage(browser);
}

async function good(page: Page, ...[method, path, body]: Parameters<Page>): Promise<Answer['body']> {
  const answer = await page(method, path, body);
  expect(answer.status, `${method} ${path} ${JSON.stringify(answer.body)}`).toBeLessThan(300);
  return answer.body;
}

async function invitedToken(email: string): Promise<string> {
  const delivered = await until(async () => mails.delivered.find(({ to }) => to.includes(email)));
  const address = new RegExp(`${site.origin}/invitations/accept#token=([A-Za-z0-9_-]{43})`);
  const token = address.exec(delivered.mail.text ?? '')?.[1];
  if (token === undefined) throw new Error(`the mail holds no token: ${delivered.mail.text}`);
  return token;
}

describe('an organization', () => {
  let founder: Page;
  let colleague: Page;
  let organization: { id: string; slug: string };
  let at: string;
  let colleagueId: string;
  let key: { id: string; secret: string };
  const keyed = (secret: string): Api => createApi(site.app, secret);

  it('is created by a person who signs in for the first time', async () => {
    founder = await signIn('founder');
    expect((await founder('get', '/whoami')).body.nextStep.code).toBe('no_organization');
    organization = await good(founder, 'post', '/organizations', { name: 'Acme Trading' });
    at = `/organizations/${organization.id}`;
    const me = await good(founder, 'get', '/whoami');
    expect(me).toMatchObject({
      user: { email: 'founder@acme.example' },
      membership: { role: { name: 'owner' } },
      organization: { id: organization.id },
    });
    expect(me.metrics).toMatchObject({ activeApiKeys: 0, storage: { records: 0 } });
    // The sign-in is recorded after the response.
    await until(async () => (await good(founder, 'get', '/whoami')).metrics.monthlyActiveUsers === 1);
  });

  it('gets a custom role, and a colleague who accepts an invitation with it', async () => {
    const keys = ['api-key:create', 'api-key:read', 'api-key:update'];
    const permissions = [...keys, 'member:read', 'team:read', 'record:read', 'view:read'];
    const integrator = { name: 'Integrator', description: 'Looks after keys', permissions };
    const role = await good(founder, 'post', `${at}/roles`, integrator);
    await good(founder, 'post', `${at}/invitations`, { email: 'colleague@acme.example', roleId: role.id });
    const token = await invitedToken('colleague@acme.example');
    expect((await founder('post', '/invitations/accept', { token })).status).toBe(403);
    colleague = await signIn('colleague');
    expect((await good(colleague, 'post', '/invitations/accept', { token })).organization.id).toBe(
      organization.id,
    );
    expect((await colleague('post', '/invitations/accept', { token })).status).toBe(422);
    const me = await good(colleague, 'get', '/whoami');
    colleagueId = me.user.id;
    expect([me.membership.role.name, [...me.permissions].sort()]).toEqual([
      'Integrator',
      ['organization:create', ...permissions].sort(),
    ]);
    const escalating = await colleague('post', `${at}/roles`, { name: 'x', permissions: ['role:create'] });
    expect(escalating.body.error.message).toBe('Missing required permission: role:create');
  });

  it('has a team, and a domain proved by DNS', async () => {
    const team = await good(founder, 'post', '/teams', { name: 'Integration' });
    await good(founder, 'post', `/teams/${team.id}/members`, { userId: colleagueId });
    expect((await good(colleague, 'get', `/teams/${team.id}`)).memberCount).toBe(1);
    const domain = await good(founder, 'post', `${at}/domains`, { hostname: 'Portal.Acme.example.' });
    expect(domain).toMatchObject({ hostname: 'portal.acme.example', status: 'pending' });
    expect((await good(founder, 'post', `${at}/domains/${domain.id}/verify`)).status).toBe('pending');
    dns.set(domain.verification.name, { txt: ['v=spf1 -all', domain.verification.value] });
    expect((await good(founder, 'post', `${at}/domains/${domain.id}/verify`)).status).toBe('verified');
    expect((await good(founder, 'patch', `${at}/domains/${domain.id}`, { isPrimary: true })).isPrimary).toBe(
      true,
    );
  });

  it('issues keys limited to their scopes, and rotates one with a grace period', async () => {
    const fields = [{ name: 'number', source: 'tranid' }];
    const endpoints = [{ name: 'invoices', recordType: 'invoice', fields }];
    await good(founder, 'post', '/api-schema', { endpoints });
    const scopes = { resources: ['invoices'], permissions: ['read'] };
    const narrow = await good(colleague, 'post', '/api-keys', { name: 'Shop', scopes });
    const refused = await keyed(narrow.secret)('get', '/api-keys');
    expect([refused.status, listCodes(refused)]).toEqual([403, ['restricted_key']]);
    const writing = { permissions: ['write'] };
    key = await good(colleague, 'post', '/api-keys', { name: 'Deployment', scopes: writing });
    expect((await keyed(key.secret)('post', '/teams', { name: 'x' })).body.error.message).toBe(
      'Missing required permission: team:create',
    );
    const rotated = await good(colleague, 'post', `/api-keys/${key.id}/rotate`, { gracePeriodSeconds: 3600 });
    for (const secret of [key.secret, rotated.secret])
      expect((await keyed(secret)('get', '/api-keys')).status).toBe(200);
    const last = await good(colleague, 'post', `/api-keys/${key.id}/rotate`, { gracePeriodSeconds: 0 });
    for (const secret of [key.secret, rotated.secret])
      expect((await keyed(secret)('get', '/api-keys')).status).toBe(401);
    key = { id: key.id, secret: last.secret };
  });

  it('shows its owner the audit log', async () => {
    const log = await good(founder, 'get', `${at}/audit-log?pageSize=100`);
    const actions: string[] = log.data.map(({ action }: { action: string }) => action).reverse();
    const created = ['organization.create', 'role.create', 'invitation.create'];
    const story = [...created, 'invitation.accept', 'team.create', 'domain.create'];
    expect(actions.filter((action) => story.includes(action))).toEqual(story);
    const theirs = await good(founder, 'get', `${at}/audit-log?actorId=${colleagueId}&action=api-key.rotate`);
    expect(theirs.pagination.total).toBe(2);
    expect(theirs.data[0]).toMatchObject({
      actor: { email: 'colleague@acme.example' },
      credential: { kind: 'session' },
    });
    expect(JSON.stringify(log)).not.toContain(key.secret);
    expect((await colleague('get', `${at}/audit-log`)).status).toBe(403);
  });

  it('removes the colleague, whose keys keep working for another owner with no more permissions than before', async () => {
    const unsettled = await founder('delete', `${at}/members/${colleagueId}`);
    expect([unsettled.status, listCodes(unsettled as Answer)]).toEqual([
      422,
      Array(2).fill('member_has_keys'),
    ]);
    await good(founder, 'delete', `${at}/members/${colleagueId}?keys=transfer`);
    const kept = await keyed(key.secret)('get', '/whoami');
    expect([kept.status, kept.body.user.email]).toEqual([200, 'founder@acme.example']);
    expect((await keyed(key.secret)('delete', at)).status).toBe(403);
    expect((await keyed(key.secret)('post', '/teams', { name: 'x' })).body.error.message).toBe(
      'Missing required permission: team:create',
    );
    expect((await colleague('get', '/whoami')).body.nextStep.code).toBe('no_organization');
    expect((await good(founder, 'get', '/teams')).data[0].memberCount).toBe(0);
  });

  it('can be left by its founder once it has another owner', async () => {
    const leaving = () => founder('delete', `/whoami/organizations/${organization.id}?keys=revoke`);
    expect((await leaving()).body.error.details[0].code).toBe('last_owner');
    const owner = (await good(founder, 'get', `${at}/roles?q=owner`)).data[0];
    await good(founder, 'post', `${at}/invitations`, { email: 'successor@acme.example', roleId: owner.id });
    const successor = await signIn('successor');
    await good(successor, 'post', '/invitations/accept', {
      token: await invitedToken('successor@acme.example'),
    });
    expect((await leaving()).status).toBe(204);
    expect((await founder('get', '/whoami')).body.nextStep.code).toBe('no_organization');
    expect((await keyed(key.secret)('get', '/whoami')).status).toBe(401);
    const members = await good(successor, 'get', `${at}/members`);
    expect(members.data.map(({ user }: { user: { email: string } }) => user.email)).toEqual([
      'successor@acme.example',
    ]);
    expect((await good(successor, 'get', `${at}/audit-log?action=member.leave`)).pagination.total).toBe(1);
  });
});
