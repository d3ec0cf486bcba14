import { describe, expect, it } from 'vitest';
import { listIds, pluck, refusal } from '../../setup/api.ts';
import { useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization({ each: true });

const create = (name: string, { api } = org.owner) => api('post', '/teams', { name });
const make = async (name: string): Promise<string> => (await create(name)).body.id;

describe('/teams', () => {
  it('are created, returned, updated and deleted', async () => {
    const description = 'Closes the month';
    const made = await org.api('post', '/teams', { name: ' Accounting ', description });
    const [id, createdAt] = [expect.any(String), expect.any(String)];
    expect([made.status, made.body]).toEqual([
      201,
      { id, name: 'Accounting', description, memberCount: 0, createdAt },
    ]);
    const at = `/teams/${made.body.id}`;
    expect((await org.api('get', at)).body).toEqual(made.body);
    const patch = async (body: object) => (await org.api('patch', at, body)).body;
    expect(await patch({ name: 'Books' })).toMatchObject({ name: 'Books', description });
    expect(await patch({ description: null })).toMatchObject({ name: 'Books', description: '' });
    expect((await org.api('delete', at)).status).toBe(204);
    expect((await org.api('get', at)).status).toBe(404);
  });

  it('422 for a name that is taken, ignoring case; another organization may have it', async () => {
    await make('Sales');
    const second = await make('Support');
    const rename = (name: string) => org.api('patch', `/teams/${second}`, { name });
    for (const refused of [create('SALES'), rename('sales')])
      expect(await refusal(refused)).toEqual([422, 'taken']);
    expect((await rename('SUPPORT')).status).toBe(200);
    expect((await create('Sales', (await org.another()).owner)).status).toBe(201);
  });

  it('are listed newest first, filtered by name', async () => {
    const [a, b] = [await make('North 1'), await make('North 100%')];
    const ids = async (query: string) => listIds(await org.api('get', `/teams?${query}`));
    expect(await ids('')).toEqual([b, a]);
    expect(await ids('q=NORTH')).toEqual([b, a]);
    expect(await ids('q=%25')).toEqual([b]);
    expect(await ids('pageSize=1&page=2')).toEqual([a]);
    const [sigma, marked] = [await make('ΜΑΡΙΑΣ'), await make('Cafe\u0301 Zürich')];
    expect(await ids(`q=${encodeURIComponent('μαριας')}`)).toEqual([sigma]);
    expect(await ids(`q=${encodeURIComponent('CAFÉ')}`)).toEqual([marked]);
  });
});

describe('/teams/{id}/members', () => {
  it('are added once, listed newest first, and removed', async () => {
    const [team, a, b] = [await make('Team'), await org.joinBare('viewer'), await org.joinBare('viewer')];
    const at = `/teams/${team}/members`;
    const added = await org.api('post', at, { userId: a.id });
    expect([added.status, added.body]).toEqual([
      201,
      { user: { id: a.id, email: a.email, name: a.email }, addedAt: expect.any(String) },
    ]);
    await org.api('post', at, { userId: b.id });
    expect(await refusal(org.api('post', at, { userId: b.id }))).toEqual([422, 'already_a_member']);
    const list = async (query = '') => (await org.api('get', `${at}${query}`)).body;
    expect(pluck(pluck((await list()).data, 'user'), 'id')).toEqual([b.id, a.id]);
    expect((await list(`?q=${a.email}`)).pagination.total).toBe(1);
    expect((await org.api('get', `/teams/${team}`)).body.memberCount).toBe(2);
    expect((await org.api('delete', `${at}/${a.id}`)).status).toBe(204);
    expect((await org.api('delete', `${at}/${a.id}`)).status).toBe(404);
    expect((await list()).pagination.total).toBe(1);
  });

  it('422 for a person of another organization, and for one who just left', async () => {
    const [team, other, gone] = [await make('Team'), await org.another(), await org.joinBare('viewer')];
    await org.api('delete', `${org.at}/members/${gone.id}`);
    for (const userId of [other.owner.id, gone.id]) {
      const added = org.api('post', `/teams/${team}/members`, { userId });
      expect(await refusal(added)).toEqual([422, 'not_a_member']);
    }
    const insert = { organization_id: org.id, team_id: team, user_id: other.owner.id };
    const inserted = org.sql((tx) => tx('team_members').insert(insert));
    await expect(inserted).rejects.toThrow(/team_member_is_a_member/);
  });
});
