// GET /whoami answers every valid credential, whatever organization it acts for or fails to act for, and says
// what to do next.
import type { Express } from 'express';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { createId } from '../../../src/core/id.ts';
import { inTransaction } from '../../../src/db/transaction.ts';
import { type Answer, type Api, createApi, listIds, refusal, signedInApi } from '../../setup/api.ts';
import { type TestDatabase, testDatabase } from '../../setup/database.ts';
import { type SignInSite, startSignInSite } from '../../setup/identity-provider.ts';
import { makeKey, makeOrganization, makePerson, makeSession } from '../../setup/organization.ts';

let database: TestDatabase;
let site: SignInSite;
let app: Express;

beforeAll(async () => {
  database = await testDatabase();
  await makePerson(database.ctx, 'agent@acme.example');
  const people = [{ id: 'agent', email: 'agent@acme.example', name: 'Agent', about: '' }];
  site = await startSignInSite({ ctx: database.ctx, people, settings: { allowSignup: true } });
  app = createApp(site.ctx);
});
afterAll(async () => {
  await site.stop();
  await database.close();
});

let made = 0;
const newPerson = () => makePerson(database.ctx, `person-${(made += 1)}@acme.example`);
const signIn = async (userId: string, active: string | null = null): Promise<Api> =>
  signedInApi(app, site.ctx, (await makeSession(site.ctx, userId, active)).cookie);

/** A new organization of which the person is a member. */
async function joined(userId: string, role = 'admin'): Promise<{ id: string; slug: string }> {
  const organization = await makeOrganization(database.ctx);
  await inTransaction({ db: database.ctx.db, organizationId: organization.id }, async (tx) => {
    const found = await tx('roles').where({ name: role }).first<{ id: string }>('id');
    await tx('memberships').insert({ organization_id: organization.id, user_id: userId, role_id: found.id });
  });
  return organization;
}
const leave = (user_id: string, organizationId: string) =>
  inTransaction({ db: database.ctx.db, organizationId }, (tx) =>
    tx('memberships').where({ user_id }).delete(),
  );
const actsFor = ({ status, body: { organization, nextStep } }: Answer) => [
  ...[status, organization?.id ?? null, nextStep?.code ?? null],
];
const named = (api: Api, organizationId: string, path = '/whoami') =>
  api('get', path, undefined, { 'x-organization-id': organizationId });

describe('a person without an organization', () => {
  it('is told who they are and what to do, by session and by token', async () => {
    const person = await newPerson();
    const answer = await (await signIn(person.id))('get', '/whoami');
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      user: { id: person.id, email: person.email, name: person.email },
      ...{ organization: null, membership: null, permissions: ['organization:create'] },
      ...{ credential: { kind: 'session', id: expect.any(String) }, scopes: null, metrics: null },
      nextStep: { code: 'no_organization', message: expect.stringContaining('POST /organizations') },
    });
    const token = await createApi(app, await site.agentToken())('get', '/whoami');
    expect(actsFor(token)).toEqual([200, null, 'no_organization']);
    const user = { email: 'agent@acme.example' };
    expect(token.body).toMatchObject({ credential: { kind: 'oauth' }, user });
  });

  it('is not sent to POST /organizations where sign-up is closed', async () => {
    const closed = { ...site.ctx, settings: { ...site.ctx.settings, allowSignup: false } };
    const { cookie } = await makeSession(closed, (await newPerson()).id);
    const { body } = await signedInApi(createApp(closed), closed, cookie)('get', '/whoami');
    expect([body.permissions, body.nextStep.code]).toEqual([[], 'no_organization']);
    expect(body.nextStep.message).not.toContain('POST /organizations');
  });

  it('gets empty lists of organizations, and 403 elsewhere', async () => {
    const api = await signIn((await newPerson()).id);
    const empty = { data: [], pagination: expect.objectContaining({ total: 0 }) };
    for (const path of ['/organizations', '/whoami/organizations'])
      expect([path, (await api('get', path)).body]).toEqual([path, empty]);
    expect(await refusal(api('get', '/teams'))).toEqual([403, 'no_organization']);
  });
});

it('a person with one organization acts for it without choosing, by session and by token', async () => {
  const person = await newPerson();
  const only = await joined(person.id);
  const answer = await (await signIn(person.id))('get', '/whoami');
  expect(actsFor(answer)).toEqual([200, only.id, null]);
  const membership = { role: { name: 'admin' } };
  expect(answer.body).toMatchObject({ membership, metrics: { activeApiKeys: 0 }, nextStep: null });
});

describe('a person with several organizations', () => {
  it('is told to choose one; the header x-organization-id chooses it for a request, in a session as in a token', async () => {
    const person = await newPerson();
    const [first, second] = [await joined(person.id), await joined(person.id, 'viewer')];
    const api = await signIn(person.id);
    const unchosen = await api('get', '/whoami');
    expect(actsFor(unchosen)).toEqual([200, null, 'organization_needed']);
    expect(unchosen.body.nextStep.message).toContain('POST /whoami/active-organization');
    expect(listIds(await api('get', '/organizations'))).toEqual([second.id, first.id]);
    expect(await refusal(api('get', '/teams'))).toEqual([400, 'organization_needed']);
    expect(actsFor(await named(api, second.id))).toEqual([200, second.id, null]);
    expect((await named(api, first.id, '/teams')).status).toBe(200);
    expect((await api('post', '/whoami/active-organization', { organizationId: first.id })).status).toBe(200);
    expect(actsFor(await api('get', '/whoami'))).toEqual([200, first.id, null]);
    expect(actsFor(await named(api, second.id))).toEqual([200, second.id, null]);
    const refused = await api('post', '/teams', { name: 'x' }, { 'x-organization-id': second.id });
    const { error } = refused.body;
    expect([refused.status, error.message]).toEqual([403, 'Missing required permission: team:create']);
  });

  it.each(['another organization', 'no organization', 'garbage', ''])(
    'is told that they are no member when the header names %s',
    async (what) => {
      const person = await newPerson();
      const own = await joined(person.id);
      const another = (await makeOrganization(database.ctx)).id;
      const ids = { 'another organization': another, 'no organization': createId() };
      const header = Object.entries(ids).find(([name]) => name === what)?.[1] ?? what;
      for (const api of [await signIn(person.id), await signIn(person.id, own.id)]) {
        expect(actsFor(await named(api, header))).toEqual([200, null, 'not_a_member']);
        expect(await refusal(named(api, header, '/teams'))).toEqual([403, 'not_a_member']);
      }
      const token = createApi(app, await site.agentToken());
      expect(actsFor(await named(token, header))[1]).toBeNull();
    },
  );
});

describe('a session whose active organization is gone', () => {
  type Lost = { id: string; slug: string };
  const gone: [string, (userId: string, organization: Lost, api: Api) => Promise<unknown>][] = [
    ['was left', (userId, { id }) => leave(userId, id)],
    ['was deleted', (_, { id, slug }, api) => api('delete', `/organizations/${id}?confirm=${slug}`)],
  ];

  it.each(gone)('chooses the one that is left when it %s', async (_name, end) => {
    const person = await newPerson();
    const [lost, left] = [await joined(person.id, 'owner'), await joined(person.id)];
    const api = await signIn(person.id, lost.id);
    await end(person.id, lost, api);
    // A page that still shows the former organization must not change the remaining one.
    const team = api('post', '/teams', { name: 'meant for the lost one' });
    expect(await refusal(team)).toEqual([400, 'organization_needed']);
    expect((await api('get', '/teams')).body.data).toEqual([]);
    expect(actsFor(await api('get', '/whoami'))).toEqual([200, left.id, null]);
    expect((await api('post', '/teams', { name: 'in the remaining one' })).status).toBe(201);
    const log = `/organizations/${left.id}/audit-log?action=session.choose-organization`;
    const [row] = (await api('get', log)).body.data;
    expect(row).toMatchObject({ changes: { organizationId: { from: null, to: left.id } } });
  });

  it.each(gone)(
    'asks for a choice among several, and says so when none is left, when it %s',
    async (_name, end) => {
      const person = await newPerson();
      const lost = await joined(person.id, 'owner');
      const [second, third] = [await joined(person.id), await joined(person.id)];
      const api = await signIn(person.id, lost.id);
      await end(person.id, lost, api);
      expect(actsFor(await api('get', '/whoami'))).toEqual([200, null, 'organization_needed']);
      expect((await api('get', '/organizations')).body.data).toHaveLength(2);
      await leave(person.id, second.id);
      await leave(person.id, third.id);
      expect(actsFor(await api('get', '/whoami'))).toEqual([200, null, 'no_organization']);
    },
  );
});

describe('an API key', () => {
  it('acts for its organization only, and says so when the header names another one', async () => {
    const [own, other] = [await makeOrganization(database.ctx), await makeOrganization(database.ctx)];
    const key = await makeKey(database.ctx, own.id);
    const api = createApi(app, key.secret);
    expect(actsFor(await named(api, own.id))).toEqual([200, own.id, null]);
    for (const organizationId of [other.id, 'garbage']) {
      const answer = await named(api, organizationId);
      expect(actsFor(answer)).toEqual([200, null, 'organization_mismatch']);
      expect(answer.body.credential).toEqual({ kind: 'api-key', id: key.id });
      expect(await refusal(named(api, organizationId, '/api-keys'))).toEqual([400, 'organization_mismatch']);
    }
  });

  it('shows no address of its creator when it is restricted, whatever the header says', async () => {
    const own = await makeOrganization(database.ctx, { ownerEmail: 'Creator@acme.example' });
    const other = await makeOrganization(database.ctx);
    const api = createApi(app, (await makeKey(database.ctx, own.id, { versions: ['v1'] })).secret);
    for (const organizationId of [own.id, other.id, 'garbage']) {
      const answer = await named(api, organizationId);
      expect([answer.status, answer.body.user.email]).toEqual([200, null]);
      expect(answer.text.toLowerCase()).not.toContain('creator@acme.example');
    }
  });

  it('401 when it is invalid, whatever the header says', async () => {
    expect((await named(createApi(app, 'psk_wrong'), createId())).status).toBe(401);
  });
});
