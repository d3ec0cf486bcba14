import { describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { type Api, createApi, listIds, refusal, signedInApi } from '../../setup/api.ts';
import { makeKey, makeOrganization, makeSession } from '../../setup/organization.ts';
import { useOrganization } from '../../setup/use-organization.ts';

const site = useOrganization({ settings: { allowSignup: true } });

const keyApi = async (organizationId: string): Promise<Api> =>
  createApi(site.app, (await makeKey(site.ctx, organizationId, { permissions: ['write'] })).secret);
const sessionApi = async (userId: string, active: string | null = null): Promise<Api> =>
  signedInApi(site.app, site.ctx, (await makeSession(site.ctx, userId, active)).cookie);
const readActiveId = async (api: Api): Promise<string | undefined> =>
  (await api('get', '/whoami')).body.organization?.id;
const create = (api: Api, name: string, slug?: string) => api('post', '/organizations', { name, slug });

/** A person without an organization: their only one was deleted. */
async function loner(): Promise<string> {
  const { id, slug, ownerId } = await makeOrganization(site.ctx);
  const api = await keyApi(id);
  expect((await api('delete', `/organizations/${id}?confirm=${slug}`)).status).toBe(204);
  return ownerId;
}

describe('POST /organizations', () => {
  it('201 makes the signed-in person its owner and the organization active in their session', async () => {
    const person = await loner();
    const api = await sessionApi(person);
    expect((await api('get', '/teams')).status).toBe(403);
    const { status, body: made } = await create(api, 'Söhne & Co');
    expect([status, made]).toEqual([
      201,
      {
        ...{ id: expect.any(String), slug: 'so-hne-co', name: 'Söhne & Co', createdAt: expect.any(String) },
        ...{ active: true, nextStep: null },
      },
    ]);
    const who = (await api('get', '/whoami')).body;
    expect([who.organization.id, who.membership.role.name, who.user.id]).toEqual([made.id, 'owner', person]);
    const log = (await api('get', `/organizations/${made.id}/audit-log`)).body.data;
    const [actor, credential] = [{ id: person }, { kind: 'session' }];
    expect(log).toMatchObject([{ action: 'organization.create', actor, credential }]);
    expect((await api('get', `/organizations/${made.id}/roles`)).body.pagination.total).toBe(4);
  });

  it('keeps the active organization of a session; a session that used its only organization without choosing it switches', async () => {
    const { id, ownerId } = await makeOrganization(site.ctx);
    const staying = await sessionApi(ownerId, id);
    expect((await create(staying, 'Second')).status).toBe(201);
    expect(await readActiveId(staying)).toBe(id);
    const other = await makeOrganization(site.ctx);
    const moving = await sessionApi(other.ownerId);
    expect(await readActiveId(moving)).toBe(other.id);
    const made = await create(moving, 'Third');
    expect(await readActiveId(moving)).toBe(made.body.id);
  });

  it('422 for a slug that is taken; a derived slug gets a number', async () => {
    const api = await sessionApi(await loner());
    expect((await create(api, 'Twice', 'twice')).status).toBe(201);
    expect(await refusal(create(api, 'x', 'twice'))).toEqual([422, 'taken']);
    expect((await create(api, 'Twice')).body.slug).toBe('twice-2');
  });

  it('201 when a thousand organizations have the name, without trying all numbers', async () => {
    await site.admin.raw(
      `insert into organizations (id, slug, name)
       select gen_random_uuid(), 'crowd' || case n when 1 then '' else '-' || n end, 'Crowd' from generate_series(1, 1000) n`,
    );
    const { status, body } = await create(await sessionApi(await loner()), 'Crowd');
    expect([status, body.slug]).toEqual([201, expect.stringMatching(/^crowd-[0-9a-f]{8}$/)]);
  });

  it('403 while sign-up is closed', async () => {
    const { id, ownerId } = await makeOrganization(site.ctx);
    const { cookie } = await makeSession(site.ctx, ownerId, id);
    const closedCtx = { ...site.ctx, settings: { ...site.ctx.settings, allowSignup: false } };
    expect((await create(signedInApi(createApp(closedCtx), closedCtx, cookie), 'x')).status).toBe(403);
    expect((await create(signedInApi(site.app, site.ctx, cookie), 'x')).status).toBe(201);
  });
});

it("GET /organizations lists a person's organizations newest first, and for a key only its own", async () => {
  const { id, ownerId } = await makeOrganization(site.ctx, { name: 'First of two' });
  const api = await sessionApi(ownerId, id);
  const second = (await create(api, 'Last of two')).body;
  const ids = async (ask: Api, query = '') => listIds(await ask('get', `/organizations${query}`));
  expect(await ids(api)).toEqual([second.id, id]);
  expect(await ids(api, '?q=FIRST')).toEqual([id]);
  expect(await ids(api, '?pageSize=1&page=2')).toEqual([id]);
  expect(await ids(await keyApi(id))).toEqual([id]);
  expect(await ids(await keyApi(id), '?q=last')).toEqual([]);
});

it('PATCH /organizations/{id} updates the given fields; 422 when the slug is taken; 404 for another organization of the caller', async () => {
  const { id, ownerId, slug } = await makeOrganization(site.ctx, { name: 'Before' });
  const taken = await makeOrganization(site.ctx);
  const api = await keyApi(id);
  const at = `/organizations/${id}`;
  expect((await api('patch', at, { name: 'After' })).body).toMatchObject({ id, name: 'After', slug });
  const next = `${slug}-new`;
  expect((await api('patch', at, { slug: next })).body.slug).toBe(next);
  expect((await api('get', at)).body).toMatchObject({ name: 'After', slug: next });
  expect(await refusal(api('patch', at, { slug: taken.slug }))).toEqual([422, 'taken']);
  const session = await sessionApi(ownerId, id);
  const own = (await create(session, 'Also mine')).body;
  expect((await session('patch', `/organizations/${own.id}`, { name: 'x' })).status).toBe(404);
});
