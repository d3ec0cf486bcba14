import type { Express } from 'express';
import { beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { assignablePermissions } from '../../../src/core/permissions.ts';
import { inTransaction, type Tx } from '../../../src/db/transaction.ts';
import { type Api, createApi } from '../../setup/api.ts';
import { testDatabase } from '../../setup/database.ts';
import { makeKey, makeMember, makeOrganization, makeSession } from '../../setup/organization.ts';
import { sessionApi } from '../../setup/sessions.ts';
import { until } from '../../setup/until.ts';
import { useStarted } from '../../setup/use-started.ts';

const database = useStarted(() => testDatabase());
let app: Express;

beforeAll(async () => {
  app = createApp(database.ctx);
});
type Scopes = Parameters<typeof makeKey>[2];
const keyApi = async (id: string, scopes: Scopes = {}) =>
  createApi(app, (await makeKey(database.ctx, id, scopes)).secret);
const readMetrics = async (api: Api) => (await api('get', '/whoami')).body.metrics;
const inOrganization = (organizationId: string, work: (tx: Tx) => Promise<unknown>) =>
  inTransaction({ db: database.ctx.db, organizationId }, work);

describe('GET /whoami', () => {
  it('returns person, organization, role, permissions, credential and metrics', async () => {
    const given = { name: 'Wholesale & Söhne', ownerEmail: 'ada@example.test' };
    const organization = await makeOrganization(database.ctx, given);
    const key = await makeKey(database.ctx, organization.id, { permissions: ['write'] });
    const { body, status } = await createApi(app, key.secret)('get', '/whoami');
    expect(status).toBe(200);
    expect(body).toEqual({
      user: { id: organization.ownerId, email: 'ada@example.test', name: 'ada@example.test' },
      organization: { id: organization.id, slug: organization.slug, name: 'Wholesale & Söhne' },
      membership: { role: { id: expect.any(String), name: 'owner' } },
      // It reads no masked field as it is: only `scopes.unmasked` would let it.
      permissions: assignablePermissions.filter((permission) => permission !== 'unmasked:read'),
      credential: { kind: 'api-key', id: key.id },
      scopes: { versions: [], resources: [], rows: null, fields: null, unmasked: false },
      metrics: {
        ...{ monthlyActiveUsers: 0, monthlyActiveVisitors: 0, activeApiKeys: 1 },
        storage: { bytes: expect.any(Number), records: 0 },
        agentCredits: {
          ...{ granted: 1_000, used: 0, remaining: 1_000 },
          resetsAt: expect.stringMatching(/^\d{4}-\d\d-01T00:00:00Z$/),
        },
      },
      nextStep: null,
    });
  });

  it('lists unmasked:read for a key that reads unmasked, and for a person', async () => {
    const { id, ownerId } = await makeOrganization(database.ctx);
    const key = await keyApi(id, { permissions: ['write'], unmasked: true });
    const person = sessionApi(app, (await makeSession(database.ctx, ownerId, id)).token);
    for (const api of [key, person])
      expect((await api('get', '/whoami')).body.permissions).toContain('unmasked:read');
  });

  it('shows a key that is restricted in what it reads no e-mail address and no metrics', async () => {
    const unnamed = await makeOrganization(database.ctx, { ownerEmail: 'grace@example.test' });
    const named = await makeOrganization(database.ctx, { ownerEmail: 'alan@example.test' });
    await database.ctx.db.control.transaction(async (tx) => {
      await tx.raw("select set_config('portal.user_id', ?, true)", [named.ownerId]);
      await tx('users').where({ id: named.ownerId }).update({ name: 'Alan' });
    });
    const restricted = [
      { versions: ['v1'] },
      { resources: ['invoices'] },
      { versions: ['v1'], permissions: ['write'] },
      { rows: { resources: {}, others: true }, permissions: ['write'] },
      { fields: { invoices: ['number'] } },
    ];
    for (const scopes of restricted)
      for (const [{ id, ownerId }, name] of [
        [unnamed, ''],
        [named, 'Alan'],
      ] as const) {
        const { status, body, text } = await (await keyApi(id, scopes))('get', '/whoami');
        expect([status, body.user, body.metrics]).toEqual([200, { id: ownerId, email: null, name }, null]);
        expect(text).not.toContain('@');
      }
    const whole = await (await keyApi(named.id))('get', '/whoami');
    expect(whole.body.user).toEqual({ id: named.ownerId, email: 'alan@example.test', name: 'Alan' });
  });

  it('counts the active people of this month, the active keys and the stored records of this organization only', async () => {
    const [mine, other] = [await makeOrganization(database.ctx), await makeOrganization(database.ctx)];
    const key = await makeKey(database.ctx, mine.id);
    await makeKey(database.ctx, other.id);
    const dead = await makeKey(database.ctx, mine.id);
    const late = await makeKey(database.ctx, mine.id);
    const member = await makeMember(database.ctx, mine.id, 'viewer');
    await inOrganization(mine.id, async (tx) => {
      await tx('api_keys').where({ id: dead.id }).update({ revoked_at: new Date() });
      const expires_at = new Date(Date.now() - 1000);
      await tx('api_keys').where({ id: late.id }).update({ expires_at });
      // A month that starts right now may be the one that is counted.
      await tx.raw(
        `insert into user_activity (organization_id, user_id, month)
         select ?, u, date_trunc('month', now() at time zone 'UTC')::date - m * interval '1 month' from unnest(?::uuid[]) u, generate_series(-1, 1) m`,
        [mine.id, [mine.ownerId, member.id]],
      );
    });
    const schema = `wh_${mine.id.replaceAll('-', '')}`;
    await database.ctx.db.data.query(
      `create table ${schema}.invoice_1 as select generate_series(1, 5000) as id, repeat('x', 100) as text`,
    );
    await database.ctx.db.data.query(
      `insert into ${schema}.record_state (record_type, id_type, generation, row_count, active_table) values ('invoice', 'integer', 1, 5000, 'invoice_1')`,
    );
    const metrics = await readMetrics(createApi(app, key.secret));
    expect(metrics).toMatchObject({ monthlyActiveUsers: 2, activeApiKeys: 1, storage: { records: 5000 } });
    expect(metrics.storage.bytes).toBeGreaterThan(500_000);
    const theirs = await readMetrics(await keyApi(other.id));
    expect(theirs).toMatchObject({ monthlyActiveUsers: 0, activeApiKeys: 2, storage: { records: 0 } });
  });

  it('counts visitors of the portal too, and once who is also a member', async () => {
    const { id, ownerId } = await makeOrganization(database.ctx, { ownerEmail: 'Both@Example.test' });
    const other = await makeOrganization(database.ctx);
    const visit = (organizationId: string, emails: string[]) =>
      inOrganization(organizationId, (tx) =>
        tx.raw(
          `insert into portal_activity (organization_id, email, month)
           select ?, e, date_trunc('month', now() at time zone 'UTC')::date - m * interval '1 month' from unnest(?::text[]) e, generate_series(-1, 1) m`,
          [organizationId, emails],
        ),
      );
    await visit(id, ['both@example.test', 'ada@customer.example']);
    await visit(other.id, ['grace@customer.example']);
    const api = await keyApi(id);
    expect(await readMetrics(api)).toMatchObject({ monthlyActiveUsers: 2, monthlyActiveVisitors: 2 });
    await inOrganization(id, (tx) =>
      tx.raw(
        `insert into user_activity (organization_id, user_id, month)
         select ?, ?, date_trunc('month', now() at time zone 'UTC')::date - m * interval '1 month' from generate_series(-1, 1) m`,
        [id, ownerId],
      ),
    );
    expect(await readMetrics(api)).toMatchObject({ monthlyActiveUsers: 2, monthlyActiveVisitors: 2 });
    expect(await readMetrics(await keyApi(other.id))).toMatchObject({
      ...{ monthlyActiveUsers: 1, monthlyActiveVisitors: 1 },
    });
  });

  it('counts each person with a session or token request this month once, and no keys', async () => {
    const { id, ownerId } = await makeOrganization(database.ctx);
    const api = await keyApi(id);
    const member = await makeMember(database.ctx, id, 'viewer');
    const activeUsers = async () => (await readMetrics(api)).monthlyActiveUsers;
    expect([await activeUsers(), await activeUsers()]).toEqual([0, 0]);
    const sessions = await Promise.all(
      [ownerId, ownerId, member.id].map((userId) => makeSession(database.ctx, userId, id)),
    );
    await until(async () => {
      // Recorded after each response, and again for a month that starts right now.
      for (const { token } of sessions)
        expect((await sessionApi(app, token)('get', '/api-keys')).status).toBe(200);
      return (await activeUsers()) === 2;
    });
  });

  it('computes agent credits from the ledger of this organization for this month', async () => {
    const [mine, other] = [await makeOrganization(database.ctx), await makeOrganization(database.ctx)];
    const api = await keyApi(mine.id);
    /** Also for the next month, which may start right now. */
    const spend = (organizationId: string, credits: number, months = [0, 1]) =>
      inOrganization(organizationId, (tx) =>
        tx.raw(
          `insert into agent_credit_entries (id, organization_id, month, credits, kind)
           select gen_random_uuid(), ?, date_trunc('month', now() at time zone 'UTC')::date + m * interval '1 month', ?, 'test' from unnest(?::int[]) m`,
          [organizationId, credits, months],
        ),
      );
    const credits = async () => (await readMetrics(api)).agentCredits;
    await spend(mine.id, 700);
    await spend(mine.id, -50);
    await spend(mine.id, 5_000, [-1]);
    await spend(other.id, 5_000);
    expect(await credits()).toMatchObject({ granted: 1_000, used: 650, remaining: 350 });
    await spend(mine.id, 900);
    expect(await credits()).toMatchObject({ granted: 1_000, used: 1_550, remaining: 0 });
    const change = inOrganization(mine.id, (tx) => tx('agent_credit_entries').update({ credits: 0 }));
    await expect(change).rejects.toThrow(/permission denied/);
  });
});
