// One identity, three credentials: a key, a token and a session of the same person yield the same principal,
// and tokens and sessions can read and write in every group of the management interface.
import type { Express } from 'express';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { Caller, Principal } from '../../src/core/ctx.ts';
import { createId } from '../../src/core/id.ts';
import { unlimitedLayer } from '../../src/core/record-access.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import type { RouteGroup } from '../../src/http/route/route.ts';
import { createTokenVerifier } from '../../src/identity/access-token.ts';
import { identify } from '../../src/identity/principal.ts';
import { platformRoutes } from '../../src/platform/index.ts';
import { type Answer, type Api, apiOf } from '../setup/api.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { openBrowser, type SignInSite, startSignInSite } from '../setup/identity-provider.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { sessionApi } from '../setup/sessions.ts';

let database: TestDatabase;
let site: SignInSite;
let app: Express;
let organization: { id: string; ownerId: string };
let session: string;

beforeAll(async () => {
  database = await testDatabase();
  organization = await makeOrganization(database.ctx, { name: 'Acme', ownerEmail: 'owner@acme.example' });
  site = await startSignInSite({
    ctx: database.ctx,
    people: [{ id: 'owner', email: 'owner@acme.example', name: 'Owner of Acme', about: '' }],
  });
  app = createApp(site.ctx);
  const browser = openBrowser();
  await browser.signIn(site.origin, 'owner');
  session = browser.session();
});
afterAll(async () => {
  await site.stop();
  await database.close();
});

const identified = (given: { authorization?: string; session?: string }): Promise<Caller> =>
  identify(
    site.ctx,
    {
      authorization: given.authorization,
      sessions: given.session === undefined ? [] : [given.session],
      organization: undefined,
    },
    createTokenVerifier(site.ctx.settings.oidc, site.ctx),
  );

describe('a key, a token and a session of one person', () => {
  it('yield the same principal except for the credential and masked fields', async () => {
    const key = await makeKey(database.ctx, organization.id, { permissions: ['write'] });
    const callers = [
      await identified({ authorization: `Bearer ${key.secret}` }),
      await identified({ authorization: `Bearer ${await site.agentToken()}` }),
      await identified({ session }),
    ];
    expect(callers.map(({ credential }) => credential.kind)).toEqual(['api-key', 'oauth', 'session']);
    const principals = callers
      .map(({ principal }) => principal)
      .filter((principal): principal is Principal => principal !== undefined);
    expect(principals).toHaveLength(3);
    const [byKey, byToken, bySession] = principals.map(({ credential: _credential, ...rest }) => rest);
    expect(byKey).toMatchObject({
      user: { id: organization.ownerId, name: 'Owner of Acme' },
      organization: { id: organization.id },
    });
    expect(byKey?.permissions.size).toBeGreaterThan(20);
    expect(byKey?.reads).toEqual({ layers: [unlimitedLayer], unmasked: false });
    expect(byToken).toEqual({ ...byKey, reads: { layers: [], unmasked: true } });
    expect(bySession).toEqual(byToken);
    for (const { user, readOnly, refusal } of callers)
      expect([user.id, readOnly, refusal]).toEqual([organization.ownerId, false, undefined]);
  });

  it('can be restricted to reading: a key by its access level, a token by its scope', async () => {
    const key = await makeKey(database.ctx, organization.id);
    const byKey = await identified({ authorization: `Bearer ${key.secret}` });
    const byToken = await identified({ authorization: `Bearer ${await site.agentToken('portal:read')}` });
    expect(byToken.principal?.permissions).toEqual(byKey.principal?.permissions);
    expect([
      byKey.principal?.permissions.has('sync:read'),
      byKey.principal?.permissions.has('sync:create'),
    ]).toEqual([true, false]);
  });
});

type Pair = { read(api: Api): Promise<Answer>; write(api: Api): Promise<Answer> };

async function syncConfig(): Promise<string> {
  const id = createId();
  await inTransaction({ db: database.ctx.db, organizationId: organization.id }, (tx) =>
    tx('sync_configs').insert({
      id,
      organization_id: organization.id,
      name: id,
      record_type: id,
      mode: 'full',
      deletions: 'none',
    }),
  );
  return id;
}

async function view(): Promise<string> {
  const id = createId();
  const row = {
    id,
    organization_id: organization.id,
    owner_id: organization.ownerId,
    name: 'x',
    record_type: 'x',
    columns: ['x'],
  };
  await inTransaction({ db: database.ctx.db, organizationId: organization.id }, (tx) =>
    tx('views').insert({ ...row, visibility: 'private' }),
  );
  return id;
}

let versions = 1_000;
async function agent(): Promise<string> {
  const own = { organization_id: organization.id, version: `v${(versions += 1)}` };
  const live = { status: 'published', bindings: '{}', openapi: '{}', published_at: '2026-03-02T10:00:00Z' };
  const id = createId();
  await inTransaction({ db: database.ctx.db, organizationId: organization.id }, async (tx) => {
    await tx('api_schemas').insert({ ...own, ...live, id: createId(), created_by: organization.ownerId });
    const row = {
      id,
      organization_id: organization.id,
      name: id,
      model: 'offline',
      api_version: own.version,
    };
    await tx('agents').insert({ ...row, status: 'stopped' });
  });
  return id;
}

async function payment(): Promise<string> {
  const own = { organization_id: organization.id };
  const id = createId();
  await inTransaction({ db: database.ctx.db, organizationId: organization.id }, async (tx) => {
    const account_id = createId();
    await tx('pay_accounts').insert({ ...own, id: account_id, provider: 'sandbox' });
    await tx('pay_payments').insert({
      ...own,
      id,
      account_id,
      customer_id: 'x',
      currency: 'GBP',
      amount_minor: 1,
    });
    await tx('pay_erp_documents').insert({
      ...own,
      id: createId(),
      payment_id: id,
      kind: 'payment',
      external_id: id,
    });
    const returns = { success_url: 'x', cancel_url: 'x' };
    await tx('pay_checkouts').insert({
      ...own,
      ...returns,
      id: createId(),
      payment_id: id,
      title: 'x',
      expires_at: new Date(),
    });
  });
  return id;
}

const connection = { accountId: '1234567', authentication: { method: 'oauth2', clientId: 'client' } };

/** One reading and one writing operation per group; a group without an entry fails below. */
const groups: Partial<Record<RouteGroup, Pair>> = {
  Identity: { read: (api) => api('get', '/whoami'), write: (api) => api('delete', '/whoami/sessions') },
  'ERP connection': {
    read: async (api) => {
      await api('put', '/netsuite/connection', connection);
      return api('get', '/netsuite/connection');
    },
    write: (api) => api('put', '/netsuite/connection', connection),
  },
  Syncs: {
    read: (api) => api('get', '/sync-configs'),
    write: async (api) => api('delete', `/sync-configs/${await syncConfig()}`),
  },
  Organizations: {
    read: (api) => api('get', `/organizations/${organization.id}/members`),
    write: (api) => api('patch', `/organizations/${organization.id}`, { name: 'Acme' }),
  },
  Teams: { read: (api) => api('get', '/teams'), write: (api) => api('post', '/teams', { name: createId() }) },
  Domains: {
    read: (api) => api('get', `/organizations/${organization.id}/domains`),
    write: (api) =>
      api('post', `/organizations/${organization.id}/domains`, { hostname: `${createId()}.example` }),
  },
  // A view over a record type that isn't synced is rejected, so an existing one is changed.
  Views: {
    read: (api) => api('get', '/views'),
    write: async (api) => api('patch', `/views/${await view()}`, { name: 'Other' }),
  },
  'Portal Config': {
    read: (api) => api('get', '/portal/pages'),
    write: (api) => api('post', '/portal/pages', { slug: createId(), title: 'x' }),
  },
  'API Keys': {
    read: (api) => api('get', '/api-keys'),
    write: (api) => api('post', '/api-keys', { name: 'x' }),
  },
  // An agent for a version that doesn't exist is rejected, so an existing one is changed.
  Agents: {
    read: (api) => api('get', '/agents'),
    write: async (api) => api('patch', `/agents/${await agent()}`, { name: createId() }),
  },
  // No payable records are synced here, so a payment is retried.
  Pay: {
    read: (api) => api('get', '/pay/config'),
    write: async (api) => api('post', `/pay/payments/${await payment()}/retry-write-back`),
  },
};

const present = [
  ...new Set(platformRoutes.filter(({ access }) => access !== 'public').map(({ group }) => group)),
];

describe.each(present)('the group %s', (group) => {
  it.each(['token', 'session'] as const)('is read and written by a %s', async (kind) => {
    const pair = groups[group];
    if (pair === undefined) throw new Error(`${group} needs a reading and a writing operation here`);
    const signInAgain = async () => {
      const browser = openBrowser();
      await browser.signIn(site.origin, 'owner');
      return browser.session();
    };
    const api =
      kind === 'token'
        ? apiOf(app, await site.agentToken())
        : sessionApi(app, await signInAgain(), site.origin);
    const unauthenticated =
      kind === 'token' ? apiOf(app, 'not.a.token') : sessionApi(app, 'A'.repeat(43), site.origin);
    // One address may fail to authenticate twenty times a minute, which is less than the number of tests
    // here.
    await database.ctx.db.control.raw('delete from rate_limits');
    expect((await pair.read(unauthenticated)).status).toBe(401);
    expect((await pair.read(api)).status).toBe(200);
    expect([200, 201, 204]).toContain((await pair.write(api)).status);
  });
});
