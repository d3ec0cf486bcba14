// Deleting an organization: confirmed, complete, repeatable, and without errors in running work.
import type { Express } from 'express';
import type { Knex } from 'knex';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import type { Ctx } from '../../../src/core/ctx.ts';
import { createId } from '../../../src/core/id.ts';
import { createLog } from '../../../src/core/log.ts';
import { createTenantSchema, OrganizationGone, tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { createCaller } from '../../public/fixture.ts';
import { type Api, createApi, refusal, signedInApi } from '../../setup/api.ts';
import { testSettings } from '../../setup/database.ts';
import { makeKey, makeOrganization, makeSession } from '../../setup/organization.ts';
import { useDatabase } from '../../setup/use-database.ts';
import { memoryErp, type Operation, syncFixture, until } from '../../sync/fixture.ts';

type Made = { id: string; slug: string; ownerId: string };

const lines: string[] = [];
const database = useDatabase({ settings: { sync: { ...testSettings.sync, pageSize: 1 } } });
let ctx: Ctx;
let app: Express;
let admin: Knex;

beforeAll(() => {
  ctx = { ...database.ctx, log: createLog('error', { write: (line: string) => void lines.push(line) }) };
  app = createApp(ctx);
  ({ admin } = database);
});
beforeEach(() => {
  lines.length = 0;
});

const ownerApi = async (id: string): Promise<Api> =>
  createApi(app, (await makeKey(ctx, id, { permissions: ['write'] })).secret);
const remove = (api: Api, { id, slug }: Pick<Made, 'id' | 'slug'>) =>
  api('delete', `/organizations/${id}?confirm=${slug}`);
const rows = async <T>(sql: string, bindings: readonly Knex.RawBinding[] = []): Promise<T[]> =>
  (await admin.raw(sql, bindings)).rows;
const hasSchema = async (id: string): Promise<boolean> =>
  (await rows('select where to_regnamespace(?) is not null', [tenantSchema(id)])).length === 1;
const markDeleting = (id: string) =>
  admin('organizations').where({ id }).update({ deleting_since: new Date() });
const insertVersion = ({ id, ownerId }: Made) =>
  admin('api_schemas').insert({
    ...{ id: createId(), organization_id: id, version: 'v1', status: 'published', created_by: ownerId },
    ...{ bindings: '{}', openapi: '{}', published_at: new Date() },
  });
/** Asks until that status comes, for a second at most, and once more after it. */
async function expectWithinSecond(wanted: number, ask: () => Promise<{ status: number }>): Promise<void> {
  const deadline = performance.now() + 1_000;
  let { status } = await ask();
  while (status !== wanted && performance.now() < deadline) ({ status } = await ask());
  expect(status === wanted ? status : (await ask()).status).toBe(wanted);
}

/** The number of the organization's rows per table, for tables that have any. */
async function left(id: string): Promise<Record<string, number>> {
  const tables = await rows<{ name: string }>(
    "select table_name as name from information_schema.columns where table_schema = 'public' and column_name = 'organization_id' order by 1",
  );
  const found: Record<string, number> = {};
  for (const { name } of [...tables, { name: 'organizations' }]) {
    const own = name === 'organizations' ? 'id' : 'organization_id';
    const count = (await rows(`select from ${name} where ${own} = ?`, [id])).length;
    if (count > 0) found[name] = count;
  }
  return found;
}

describe('DELETE /organizations/{id}', () => {
  it('400 unless confirmed by the slug, and nothing changes', async () => {
    const made = await makeOrganization(ctx);
    const api = await ownerApi(made.id);
    expect(await refusal(api('delete', `/organizations/${made.id}`))).toEqual([400, 'confirmation_needed']);
    const mismatch = remove(api, { id: made.id, slug: 'another' });
    expect(await refusal(mismatch)).toEqual([400, 'confirmation_mismatch']);
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
    await insertVersion(made);
    const before = await left(other.id);
    const some = ['api_schemas', 'idempotency_keys', 'roles', 'team_members'];
    expect(Object.keys(await left(made.id))).toEqual(expect.arrayContaining(some));
    expect((await remove(api, made)).status).toBe(204);
    expect(Object.keys(await left(made.id))).toEqual(['audit_log']);
    expect(await hasSchema(made.id)).toBe(false);
    expect(await left(other.id)).toEqual(before);
    expect(await hasSchema(other.id)).toBe(true);
    const log = admin('audit_log').where({ organization_id: made.id }).orderBy('at', 'desc');
    const last = await log.first('action', 'changes');
    expect(last).toEqual({
      action: 'organization.delete',
      changes: expect.objectContaining({ slug: made.slug }),
    });
  });

  it('ends keys immediately, on the public interface within a second, and moves sessions to the organization that is left', async () => {
    const [made, other] = [await makeOrganization(ctx), await makeOrganization(ctx)];
    const role = await admin('roles').where({ name: 'viewer', organization_id: other.id }).first('id');
    const membership = { organization_id: other.id, user_id: made.ownerId, role_id: role.id };
    await admin('memberships').insert(membership);
    const session = signedInApi(app, ctx, (await makeSession(ctx, made.ownerId, made.id)).cookie);
    const { secret } = await makeKey(ctx, made.id);
    const call = createCaller(app, { secret, organizationId: made.id });
    expect((await call('/v1/invoices')).status).toBe(404);
    expect((await session('get', '/whoami')).body.organization.id).toBe(made.id);
    expect((await remove(session, made)).status).toBe(204);
    expect((await createApi(app, secret)('get', '/whoami')).status).toBe(401);
    const meant = session('post', '/teams', { name: 'meant for the deleted one' });
    expect(await refusal(meant)).toEqual([400, 'organization_needed']);
    expect((await session('get', '/whoami')).body.organization.id).toBe(other.id);
    await expectWithinSecond(401, async () => call('/v1/invoices'));
  });

  it('ends public reads within a second, also while the records can not be deleted yet', async () => {
    const made = await makeOrganization(ctx);
    await insertVersion(made);
    const { secret } = await makeKey(ctx, made.id);
    const call = createCaller(app, { secret, organizationId: made.id });
    expect((await call('/openapi/v1')).status).toBe(200);
    await markDeleting(made.id);
    await expectWithinSecond(404, async () => call('/openapi/v1'));
  });

  it('is completed by the same request after a crash at any step', async () => {
    const [afterMark, afterDrop] = [await makeOrganization(ctx), await makeOrganization(ctx)];
    for (const { id } of [afterMark, afterDrop]) await markDeleting(id);
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
      const organization: Made = await admin('organizations')
        .where({ id: fixture.organizationId })
        .first('id', 'slug');
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
      expect(await left(organization.id)).toEqual({ audit_log: 1 });
      expect(await hasSchema(organization.id)).toBe(false);
      expect(lines).toEqual([]);
    },
  );

  it('cancels a run that starts while a deletion is half complete', async () => {
    const fixture = await syncFixture(ctx);
    await markDeleting(fixture.organizationId);
    await admin.raw(`drop schema ${fixture.schema} cascade`);
    const runId = await fixture.queue();
    await fixture.work(await fixture.claim());
    expect((await fixture.row(runId)).status).toBe('cancelled');
    expect([await hasSchema(fixture.organizationId), lines]).toEqual([false, []]);
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
