// Deleting an organization: confirmed, complete, repeatable, and without errors in running work.
import type { Express } from 'express';
import type { Knex } from 'knex';
import supertest from 'supertest';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import type { Ctx } from '../../../src/core/ctx.ts';
import { createId } from '../../../src/core/id.ts';
import { createLog } from '../../../src/core/log.ts';
import { openKnex } from '../../../src/db/connect.ts';
import { inTransaction } from '../../../src/db/transaction.ts';
import { createTenantSchema, OrganizationGone, tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { type Api, createApi, listCodes, refusal, signedInApi } from '../../setup/api.ts';
import { type TestDatabase, testDatabase, testSettings } from '../../setup/database.ts';
import { makeKey, makeOrganization, makeSession } from '../../setup/organization.ts';
import { memoryErp, type Operation, syncFixture, until } from '../../sync/fixture.ts';

type Made = { id: string; slug: string; ownerId: string };

const lines: string[] = [];
let database: TestDatabase;
let ctx: Ctx;
let app: Express;
let admin: Knex;

beforeAll(async () => {
  database = await testDatabase({ settings: { sync: { ...testSettings.sync, pageSize: 1 } } });
  ctx = { ...database.ctx, log: createLog('error', { write: (line: string) => void lines.push(line) }) };
  app = createApp(ctx);
  admin = openKnex(database.address, null, 2);
});
beforeEach(() => {
  lines.length = 0;
});
afterAll(async () => {
  await admin.destroy();
  await database.close();
});

const ownerApi = async (id: string): Promise<Api> =>
  createApi(app, (await makeKey(ctx, id, { permissions: ['write'] })).secret);
const remove = (api: Api, { id, slug }: Pick<Made, 'id' | 'slug'>) =>
  api('delete', `/organizations/${id}?confirm=${slug}`);
const rows = async <T>(sql: string, bindings: readonly Knex.RawBinding[] = []): Promise<T[]> =>
  (await admin.raw(sql, bindings)).rows;
const hasSchema = async (id: string): Promise<boolean> =>
  (await rows<{ there: boolean }>('select to_regnamespace(?) is not null as there', [tenantSchema(id)]))[0]
    ?.there === true;

/** The number of the organization's rows per table, for tables that have any. */
async function left(id: string): Promise<Record<string, number>> {
  const tables = await rows<{ name: string }>(
    "select table_name as name from information_schema.columns where table_schema = 'public' and column_name = 'organization_id' order by 1",
  );
  const found: Record<string, number> = {};
  for (const { name } of [...tables, { name: 'organizations' }]) {
    const column = name === 'organizations' ? 'id' : 'organization_id';
    const count =
      (await rows<{ n: number }>(`select count(*)::int as n from ${name} where ${column} = ?`, [id]))[0]?.n ??
      0;
    if (count > 0) found[name] = count;
  }
  return found;
}

describe('DELETE /organizations/{id}', () => {
  it('400 unless confirmed by the slug, and nothing changes', async () => {
    const made = await makeOrganization(ctx);
    const api = await ownerApi(made.id);
    expect(await refusal(api('delete', `/organizations/${made.id}`))).toEqual([400, 'confirmation_needed']);
    expect(await refusal(remove(api, { id: made.id, slug: 'another' }))).toEqual([
      400,
      'confirmation_mismatch',
    ]);
    expect((await api('get', `/organizations/${made.id}`)).status).toBe(200);
    const { deleting_since } = await admin('organizations').where({ id: made.id }).first();
    expect(deleting_since).toBeNull();
  });

  it('204 keeps only the audit log, and does not affect other organizations', async () => {
    const [made, other] = [await makeOrganization(ctx), await makeOrganization(ctx)];
    await makeKey(ctx, other.id);
    const api = await ownerApi(made.id);
    const team = (await api('post', '/teams', { name: 'Team' }, { 'idempotency-key': 'once' })).body;
    await api('post', `/teams/${team.id}/members`, { userId: made.ownerId });
    await api('post', `/organizations/${made.id}/roles`, { name: 'Clerk', permissions: [] });
    await inTransaction({ db: ctx.db, organizationId: made.id }, async (tx) => {
      const published = {
        status: 'published',
        bindings: '{}',
        openapi: '{}',
        published_at: new Date(),
        created_by: made.ownerId,
      };
      await tx('api_schemas').insert({
        id: createId(),
        organization_id: made.id,
        version: 'v1',
        ...published,
      });
    });
    const before = await left(other.id);
    expect(Object.keys(await left(made.id))).toEqual(
      expect.arrayContaining(['api_schemas', 'idempotency_keys', 'roles', 'team_members']),
    );
    expect((await remove(api, made)).status).toBe(204);
    expect(Object.keys(await left(made.id))).toEqual(['audit_log']);
    expect(await hasSchema(made.id)).toBe(false);
    expect(await left(other.id)).toEqual(before);
    expect(await hasSchema(other.id)).toBe(true);
    const [last] = await rows<{ action: string; changes: object }>(
      'select action, changes from audit_log where organization_id = ? order by at desc limit 1',
      [made.id],
    );
    expect(last).toMatchObject({ action: 'organization.delete', changes: { slug: made.slug } });
  });

  it('ends keys immediately, on the public interface within a second, and moves sessions to the organization that is left', async () => {
    const [made, other] = [await makeOrganization(ctx), await makeOrganization(ctx)];
    await inTransaction({ db: ctx.db, organizationId: other.id }, async (tx) => {
      const role = await tx('roles').where({ name: 'viewer' }).first<{ id: string }>('id');
      await tx('memberships').insert({ organization_id: other.id, user_id: made.ownerId, role_id: role.id });
    });
    const session = signedInApi(app, ctx, (await makeSession(ctx, made.ownerId, made.id)).cookie);
    const { secret } = await makeKey(ctx, made.id);
    const read = () =>
      supertest(app)
        .get('/api/public/v1/invoices')
        .set({ authorization: `Bearer ${secret}`, 'x-tenant-id': made.id });
    expect((await read()).status).toBe(404);
    expect((await session('get', '/whoami')).body.organization.id).toBe(made.id);
    expect((await remove(session, made)).status).toBe(204);
    expect((await createApi(app, secret)('get', '/whoami')).status).toBe(401);
    expect(listCodes(await session('post', '/teams', { name: 'meant for the deleted one' }))).toEqual([
      'organization_needed',
    ]);
    expect((await session('get', '/whoami')).body.organization.id).toBe(other.id);
    const deadline = performance.now() + 1_000;
    let status = (await read()).status;
    while (status !== 401 && performance.now() < deadline) status = (await read()).status;
    expect(status === 401 ? status : (await read()).status).toBe(401);
  });

  it('ends public reads within a second, also while the records can not be deleted yet', async () => {
    const made = await makeOrganization(ctx);
    await inTransaction({ db: ctx.db, organizationId: made.id }, async (tx) => {
      const published = {
        status: 'published',
        bindings: '{}',
        openapi: '{}',
        published_at: new Date(),
        created_by: made.ownerId,
      };
      await tx('api_schemas').insert({
        id: createId(),
        organization_id: made.id,
        version: 'v1',
        ...published,
      });
    });
    const { secret } = await makeKey(ctx, made.id);
    const read = async () => {
      const headers = { authorization: `Bearer ${secret}`, 'x-tenant-id': made.id };
      return (await supertest(app).get('/api/public/openapi/v1').set(headers)).status;
    };
    expect(await read()).toBe(200);
    await admin('organizations').where({ id: made.id }).update({ deleting_since: new Date() });
    const deadline = performance.now() + 1_000;
    let status = await read();
    while (status !== 404 && performance.now() < deadline) status = await read();
    expect(status === 404 ? status : await read()).toBe(404);
  });

  it('is completed by the same request after a crash at any step', async () => {
    const afterMark = await makeOrganization(ctx);
    await admin('organizations').where({ id: afterMark.id }).update({ deleting_since: new Date() });
    const afterDrop = await makeOrganization(ctx);
    await admin('organizations').where({ id: afterDrop.id }).update({ deleting_since: new Date() });
    await admin.raw(`drop schema ${tenantSchema(afterDrop.id)} cascade`);
    for (const made of [afterMark, afterDrop]) {
      await expect(createTenantSchema(ctx, made.id)).rejects.toThrow(OrganizationGone);
      expect((await remove(await ownerApi(made.id), made)).status).toBe(204);
      expect([await left(made.id), await hasSchema(made.id)]).toEqual([{}, false]);
    }
  });

  it('happens once for two concurrent requests, with one audit entry', async () => {
    const made = await makeOrganization(ctx);
    const [a, b] = [await ownerApi(made.id), await ownerApi(made.id)];
    const answers = await Promise.all([remove(a, made), remove(b, made)]);
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses[0]).toBe(204);
    expect([204, 401, 404]).toContain(statuses[1]);
    expect(await left(made.id)).toEqual({ audit_log: 1 });
  });

  it.each<[Operation, number]>([
    ['metadata', 1],
    ['now', 1],
    ['count', 1],
    ['readPage', 1],
    ['readPage', 3],
    ['count', 2],
  ])(
    'while a run waits for the response to %s (%i): the run ends without errors and creates nothing again',
    async (operation, nth) => {
      const erp = memoryErp();
      for (const id of [1, 2, 3, 4]) erp.put(id);
      const fixture = await syncFixture(ctx, erp);
      const [organization] = await rows<Made>('select id, slug from organizations where id = ?', [
        fixture.organizationId,
      ]);
      if (organization === undefined) throw new Error('no organization');
      const api = await ownerApi(organization.id);
      let seen = 0;
      let removal: Promise<number> | null = null;
      erp.onCall = async (call) => {
        if (call.operation !== operation) return;
        seen += 1;
        if (seen !== nth) return;
        removal = remove(api, organization).then(({ status }) => status);
        await removal;
      };
      await fixture.queue();
      await fixture.work(await fixture.claim());
      // The run may end before the response arrives: it reads ahead, and a write in the meantime shows that
      // it is cancelled.
      expect(await removal).toBe(204);
      expect([await left(organization.id), await hasSchema(organization.id)]).toEqual([
        { audit_log: 1 },
        false,
      ]);
      expect(lines).toEqual([]);
    },
  );

  it('cancels a run that starts while a deletion is half complete', async () => {
    const fixture = await syncFixture(ctx);
    await admin('organizations').where({ id: fixture.organizationId }).update({ deleting_since: new Date() });
    await admin.raw(`drop schema ${fixture.schema} cascade`);
    const runId = await fixture.queue();
    await fixture.work(await fixture.claim());
    expect([(await fixture.row(runId)).status, await hasSchema(fixture.organizationId), lines]).toEqual([
      'cancelled',
      false,
      [],
    ]);
  });

  it('cancels queued runs before anything is deleted', async () => {
    const fixture = await syncFixture(ctx);
    const runId = await fixture.queue();
    const { slug } = await admin('organizations').where({ id: fixture.organizationId }).first('slug');
    // A reader of one of the organization's tables blocks dropping it; the request reports this when it takes
    // too long.
    await ctx.db.control.raw(`create table ${fixture.schema}.held (id int)`);
    const reader = await admin.transaction();
    await reader.raw(`select * from ${fixture.schema}.held`);
    const api = await ownerApi(fixture.organizationId);
    const removing = remove(api, { id: fixture.organizationId, slug });
    await until(
      async () => (await admin('sync_runs').where({ id: runId }).first('status')).status === 'cancelled',
      'the cancellation',
    );
    expect(await hasSchema(fixture.organizationId)).toBe(true);
    await reader.rollback();
    expect((await removing).status).toBe(204);
    expect(await hasSchema(fixture.organizationId)).toBe(false);
  });
});
