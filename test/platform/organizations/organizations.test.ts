import type { Express } from 'express';
import { beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import type { Ctx } from '../../../src/core/ctx.ts';
import { openKnex } from '../../../src/db/connect.ts';
import { type Api, createApi, listCodes, listIds, signedInApi } from '../../setup/api.ts';
import { testDatabase } from '../../setup/database.ts';
import { makeKey, makeOrganization, makeSession } from '../../setup/organization.ts';
import { useStarted } from '../../setup/use-started.ts';

const database = useStarted(() => testDatabase({ settings: { allowSignup: true } }));
let ctx: Ctx;
let app: Express;

beforeAll(async () => {
  ctx = database.ctx;
  app = createApp(ctx);
});

const keyApi = async (organizationId: string, createdBy?: string): Promise<Api> =>
  createApi(
    app,
    (
      await makeKey(ctx, organizationId, {
        permissions: ['write'],
        ...(createdBy !== undefined && { createdBy }),
      })
    ).secret,
  );
const sessionApi = async (userId: string, active: string | null = null): Promise<Api> =>
  signedInApi(app, ctx, (await makeSession(ctx, userId, active)).cookie);
const readActiveId = async (api: Api): Promise<string | undefined> =>
  (await api('get', '/whoami')).body.organization?.id;

/** A person without an organization: their only one was deleted. */
async function loner(): Promise<string> {
  const organization = await makeOrganization(ctx);
  const api = await keyApi(organization.id);
  expect((await api('delete', `/organizations/${organization.id}?confirm=${organization.slug}`)).status).toBe(
    204,
  );
  return organization.ownerId;
}

describe('POST /organizations', () => {
  it('201 makes the signed-in person its owner and the organization active in their session', async () => {
    const person = await loner();
    const api = await sessionApi(person);
    expect((await api('get', '/teams')).status).toBe(403);
    const made = await api('post', '/organizations', { name: 'Söhne & Co' });
    expect([made.status, made.body]).toEqual([
      201,
      {
        id: expect.any(String),
        slug: 'so-hne-co',
        name: 'Söhne & Co',
        createdAt: expect.any(String),
        active: true,
        nextStep: null,
      },
    ]);
    const who = (await api('get', '/whoami')).body;
    expect([who.organization.id, who.membership.role.name, who.user.id]).toEqual([
      made.body.id,
      'owner',
      person,
    ]);
    const log = (await api('get', `/organizations/${made.body.id}/audit-log`)).body.data;
    expect(log).toMatchObject([
      { action: 'organization.create', actor: { id: person }, credential: { kind: 'session' } },
    ]);
    expect((await api('get', `/organizations/${made.body.id}/roles`)).body.pagination.total).toBe(4);
  });

  it('keeps the active organization of a session; a session that used its only organization without choosing it switches', async () => {
    const { id, ownerId } = await makeOrganization(ctx);
    const staying = await sessionApi(ownerId, id);
    expect((await staying('post', '/organizations', { name: 'Second' })).status).toBe(201);
    expect(await readActiveId(staying)).toBe(id);
    const other = await makeOrganization(ctx);
    const moving = await sessionApi(other.ownerId);
    expect(await readActiveId(moving)).toBe(other.id);
    const made = await moving('post', '/organizations', { name: 'Third' });
    expect(await readActiveId(moving)).toBe(made.body.id);
  });

  it('422 for a slug that is taken; a derived slug gets a number', async () => {
    const api = await sessionApi(await loner());
    expect((await api('post', '/organizations', { name: 'Twice', slug: 'twice' })).status).toBe(201);
    expect(listCodes(await api('post', '/organizations', { name: 'x', slug: 'twice' }))).toEqual(['taken']);
    expect((await api('post', '/organizations', { name: 'Twice' })).body.slug).toBe('twice-2');
  });

  it('201 when a thousand organizations have the name, without trying all numbers', async () => {
    const admin = openKnex(database.address, null, 1);
    await admin.raw(
      `insert into organizations (id, slug, name)
       select gen_random_uuid(), 'crowd' || case n when 1 then '' else '-' || n end, 'Crowd' from generate_series(1, 1000) n`,
    );
    await admin.destroy();
    expect(
      await (await sessionApi(await loner()))('post', '/organizations', { name: 'Crowd' }),
    ).toMatchObject({ status: 201, body: { slug: expect.stringMatching(/^crowd-[0-9a-f]{8}$/) } });
  });

  it('403 while sign-up is closed', async () => {
    const { id, ownerId } = await makeOrganization(ctx);
    const { cookie } = await makeSession(ctx, ownerId, id);
    const closedCtx = { ...ctx, settings: { ...ctx.settings, allowSignup: false } };
    const closed = signedInApi(createApp(closedCtx), closedCtx, cookie);
    expect((await closed('post', '/organizations', { name: 'x' })).status).toBe(403);
    expect((await signedInApi(app, ctx, cookie)('post', '/organizations', { name: 'x' })).status).toBe(201);
  });
});

it("GET /organizations lists a person's organizations newest first, and for a key only its own", async () => {
  const { id, ownerId } = await makeOrganization(ctx, { name: 'First of two' });
  const api = await sessionApi(ownerId, id);
  const second = (await api('post', '/organizations', { name: 'Last of two' })).body;
  const ids = async (ask: Api, query = '') => listIds(await ask('get', `/organizations${query}`));
  expect(await ids(api)).toEqual([second.id, id]);
  expect(await ids(api, '?q=FIRST')).toEqual([id]);
  expect(await ids(api, '?pageSize=1&page=2')).toEqual([id]);
  expect(await ids(await keyApi(id))).toEqual([id]);
  expect(await ids(await keyApi(id), '?q=last')).toEqual([]);
});

it('PATCH /organizations/{id} updates the given fields; 422 when the slug is taken; 404 for another organization of the caller', async () => {
  const { id, ownerId, slug } = await makeOrganization(ctx, { name: 'Before' });
  const taken = await makeOrganization(ctx);
  const api = await keyApi(id);
  expect((await api('patch', `/organizations/${id}`, { name: 'After' })).body).toMatchObject({
    id,
    name: 'After',
    slug,
  });
  expect((await api('patch', `/organizations/${id}`, { slug: `${slug}-new` })).body.slug).toBe(`${slug}-new`);
  expect((await api('get', `/organizations/${id}`)).body).toMatchObject({
    name: 'After',
    slug: `${slug}-new`,
  });
  expect(listCodes(await api('patch', `/organizations/${id}`, { slug: taken.slug }))).toEqual(['taken']);
  const session = await sessionApi(ownerId, id);
  const own = (await session('post', '/organizations', { name: 'Also mine' })).body;
  expect((await session('patch', `/organizations/${own.id}`, { name: 'x' })).status).toBe(404);
});
