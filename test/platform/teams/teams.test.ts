import type { Express } from 'express';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { inTransaction } from '../../../src/db/transaction.ts';
import { codesOf } from '../../setup/api.ts';
import { type TestDatabase, testDatabase } from '../../setup/database.ts';
import { type World, world } from '../members/world.ts';

let database: TestDatabase;
let app: Express;
let w: World;

beforeAll(async () => {
  database = await testDatabase();
  app = createApp(database.ctx);
});
beforeEach(async () => {
  w = await world(database.ctx, app);
});
afterAll(() => database.close());

const make = async (name: string): Promise<string> => (await w.owner.api('post', '/teams', { name })).body.id;

describe('/teams', () => {
  it('are created, returned, updated and deleted', async () => {
    const made = await w.owner.api('post', '/teams', {
      name: ' Accounting ',
      description: 'Closes the month',
    });
    expect([made.status, made.body]).toEqual([
      201,
      {
        id: expect.any(String),
        name: 'Accounting',
        description: 'Closes the month',
        memberCount: 0,
        createdAt: expect.any(String),
      },
    ]);
    const at = `/teams/${made.body.id}`;
    expect((await w.owner.api('get', at)).body).toEqual(made.body);
    expect((await w.owner.api('patch', at, { name: 'Books' })).body).toMatchObject({
      name: 'Books',
      description: 'Closes the month',
    });
    expect((await w.owner.api('patch', at, { description: null })).body).toMatchObject({
      name: 'Books',
      description: '',
    });
    expect((await w.owner.api('delete', at)).status).toBe(204);
    for (const answer of [
      await w.owner.api('get', at),
      await w.owner.api('patch', at, {}),
      await w.owner.api('delete', at),
    ])
      expect(answer.status).toBe(404);
  });

  it('422 for a name that is taken, ignoring case; another organization may have it', async () => {
    await make('Sales');
    const second = await make('Support');
    expect(codesOf(await w.owner.api('post', '/teams', { name: 'SALES' }))).toEqual(['taken']);
    expect(codesOf(await w.owner.api('patch', `/teams/${second}`, { name: 'sales' }))).toEqual(['taken']);
    expect((await w.owner.api('patch', `/teams/${second}`, { name: 'SUPPORT' })).status).toBe(200);
    const other = await world(database.ctx, app);
    expect((await other.owner.api('post', '/teams', { name: 'Sales' })).status).toBe(201);
    for (const body of [{}, { name: '' }, { name: 'a\nb' }, { name: 'x'.repeat(121) }, { name: null }])
      expect((await w.owner.api('post', '/teams', body)).status).toBe(422);
  });

  it('are listed newest first, filtered by name', async () => {
    const [a, b] = [await make('North 1'), await make('North 100%')];
    const ids = async (query: string) =>
      (await w.owner.api('get', `/teams?${query}`)).body.data.map((team: { id: string }) => team.id);
    expect(await ids('')).toEqual([b, a]);
    expect(await ids('q=NORTH')).toEqual([b, a]);
    expect(await ids('q=%25')).toEqual([b]);
    expect(await ids('pageSize=1&page=2')).toEqual([a]);
    const [sigma, marked] = [await make('ΜΑΡΙΑΣ'), await make('Cafe\u0301 Zürich')];
    expect(await ids(`q=${encodeURIComponent('μαριας')}`)).toEqual([sigma]);
    expect(await ids(`q=${encodeURIComponent('CAFÉ')}`)).toEqual([marked]);
  });

  it('cannot be created by editors or viewers', async () => {
    for (const role of ['editor', 'viewer'])
      expect((await (await w.join(role)).api('post', '/teams', { name: 'x' })).body.error.message).toBe(
        'Missing required permission: team:create',
      );
  });
});

describe('/teams/{id}/members', () => {
  it('are added once, listed newest first, and removed', async () => {
    const [team, a, b] = [await make('Team'), await w.joinBare('viewer'), await w.joinBare('viewer')];
    const at = `/teams/${team}/members`;
    const added = await w.owner.api('post', at, { userId: a.id });
    expect([added.status, added.body]).toEqual([
      201,
      { user: { id: a.id, email: a.email, name: a.email }, addedAt: expect.any(String) },
    ]);
    await w.owner.api('post', at, { userId: b.id });
    expect(codesOf(await w.owner.api('post', at, { userId: b.id }))).toEqual(['already_a_member']);
    const list = async (query = '') => (await w.owner.api('get', `${at}${query}`)).body;
    expect((await list()).data.map((member: { user: { id: string } }) => member.user.id)).toEqual([
      b.id,
      a.id,
    ]);
    expect((await list(`?q=${a.email}`)).pagination.total).toBe(1);
    expect((await w.owner.api('get', `/teams/${team}`)).body.memberCount).toBe(2);
    expect((await w.owner.api('delete', `${at}/${a.id}`)).status).toBe(204);
    expect((await w.owner.api('delete', `${at}/${a.id}`)).status).toBe(404);
    expect((await list()).pagination.total).toBe(1);
  });

  it('422 for a person of another organization, and for one who just left', async () => {
    const [team, other, gone] = [
      await make('Team'),
      await world(database.ctx, app),
      await w.joinBare('viewer'),
    ];
    await w.owner.api('delete', `${w.at}/members/${gone.id}`);
    for (const userId of [other.owner.id, gone.id]) {
      const refused = await w.owner.api('post', `/teams/${team}/members`, { userId });
      expect([refused.status, codesOf(refused)]).toEqual([422, ['not_a_member']]);
    }
    const insert = { organization_id: w.id, team_id: team, user_id: other.owner.id };
    await expect(
      inTransaction({ db: database.ctx.db, organizationId: w.id }, (tx) => tx('team_members').insert(insert)),
    ).rejects.toThrow(/team_member_is_a_member/);
  });

  it("404 for another organization's team in every operation", async () => {
    const other = await world(database.ctx, app);
    const theirs = (await other.owner.api('post', '/teams', { name: 'Theirs' })).body.id;
    await other.owner.api('post', `/teams/${theirs}/members`, { userId: other.owner.id });
    for (const answer of [
      await w.owner.api('get', `/teams/${theirs}/members`),
      await w.owner.api('post', `/teams/${theirs}/members`, { userId: w.owner.id }),
      await w.owner.api('delete', `/teams/${theirs}/members/${other.owner.id}`),
    ])
      expect([answer.status, answer.body.error.message]).toEqual([404, 'Team not found']);
    expect((await other.owner.api('get', `/teams/${theirs}`)).body.memberCount).toBe(1);
  });

  it('are changed only with team:update', async () => {
    const team = await make('Team');
    const reader = await w.join(['team:read', 'team:create', 'team:delete']);
    for (const answer of [
      await reader.api('post', `/teams/${team}/members`, { userId: reader.id }),
      await reader.api('delete', `/teams/${team}/members/${reader.id}`),
    ])
      expect(answer.body.error.message).toBe('Missing required permission: team:update');
    expect((await reader.api('get', `/teams/${team}/members`)).status).toBe(200);
  });
});
