// Saved views: who may see and change them, and what they may query.
import { beforeAll, describe, expect, it } from 'vitest';
import { createId } from '../../../src/core/id.ts';
import type {} from '../../../src/db/transaction.ts';
import { listIds, listProblems, pluck, refusal } from '../../setup/api.ts';
import type { Person } from '../../setup/use-organization.ts';
import { useViews } from './fixture.ts';

const { org, settle, warehouse, body, make, readRecords, readCsv } = useViews();

const change = ({ api }: Pick<Person, 'api'>, id: string, columns: object = { name: 'Other' }) =>
  api('patch', `/views/${id}`, columns);
const by = (field: string, direction: 'asc' | 'desc' = 'asc') => ({ field, direction });
const where = (field: string, operator: string, value: unknown) => ({
  filters: [{ field, operator, value }],
});

describe('/views', () => {
  beforeAll(settle);
  it('are created, returned, updated and deleted', async () => {
    const { filters } = where('status', 'eq', ['open', 'late']);
    const sort = [by('total', 'desc')];
    const made = await org.api('post', '/views', body({ name: ' Open ', filters, sort }));
    const text = expect.any(String);
    expect([made.status, made.body]).toEqual([
      201,
      {
        ...{ id: text, name: 'Open', recordType: 'invoice', columns: ['tranid', 'total'], filters, sort },
        ...{ summary: null, visibility: 'private', teamId: null, createdAt: text, updatedAt: text },
        owner: { id: org.owner.id, email: text, name: text },
      },
    ]);
    const at = `/views/${made.body.id}`;
    expect((await org.api('get', at)).body).toEqual(made.body);
    const given = { columns: ['entity.name'], visibility: 'organization' };
    const changed = await change(org, made.body.id, { ...given, filters: null });
    expect(changed.body).toMatchObject({ ...given, name: 'Open', filters: [], sort });
    expect((await org.api('delete', at)).status).toBe(204);
    expect((await org.api('get', at)).status).toBe(404);
  });

  it.each<[string, object, string[]]>([
    [
      'unknown names',
      { columns: ['tranid', 'tranidd'], sort: [by('x')] },
      ['columns[1] unknown_source', 'sort[0].field unknown_source'],
    ],
    ['a column twice', { columns: ['tranid', 'total', 'tranid'] }, ['columns[2] duplicate']],
    ['the id as a column', { columns: ['id'] }, ['columns[0] reserved_name']],
    ['a record type without a sync', { recordType: 'customer' }, ['recordType unknown_record_type']],
    ['a filter inside lines', where('lines', 'eq', 'x'), ['filters[0].field lines']],
    ['an operator that misfits', where('total', 'contains', 'abc'), ['filters[0].operator operator_misfits']],
    ['a value of another kind', where('total', 'gt', 'much'), ['filters[0].value invalid_value']],
    ['a list where one value goes', where('total', 'gt', [1, 2]), ['filters[0].value invalid_value']],
    ['a sort key twice', { sort: [by('total'), by('total', 'desc')] }, ['sort[1].field duplicate']],
    ['a team without its visibility', { teamId: createId() }, ['teamId no_team_view']],
    ['no team', { visibility: 'team' }, ['teamId team_needed']],
    ['a team that is not there', { visibility: 'team', teamId: createId() }, ['teamId unknown_team']],
  ])('422 for %s', async (_name, given, problems) => {
    const answer = await org.api('post', '/views', body(given));
    expect([answer.status, listProblems(answer)]).toEqual([422, problems]);
  });

  it('are listed newest first, filtered by name, record type and visibility', async () => {
    const a = await make(org.api, { name: 'North 1' });
    const b = await make(org.api, { name: 'North 100%', visibility: 'organization' });
    const ids = async (query: string) => listIds(await org.api('get', `/views?${query}`));
    expect(await ids('')).toEqual([b, a]);
    expect(await ids('q=%25')).toEqual([b]);
    expect(await ids('visibility=private&recordType=invoice')).toEqual([a]);
    expect(await ids('recordType=customer')).toEqual([]);
  });

  it('only changed parts are validated, so that a view with a retyped field can still be renamed', async () => {
    const id = await make(org.api, where('total', 'gte', 0));
    await warehouse("update $wh.record_columns set type = 'text' where field = 'total'");
    expect((await change(org, id, { name: 'Other', columns: ['tranid'] })).status).toBe(200);
    const again = await change(org, id, where('total', 'gte', 0));
    expect([again.status, listProblems(again)]).toEqual([422, ['filters[0].operator operator_misfits']]);
  });
});

describe('who sees a view', () => {
  beforeAll(settle);
  const asTeam = async (...members: Person[]): Promise<string> => {
    const { id } = (await org.api('post', '/teams', { name: `Team ${createId()}` })).body;
    for (const { id: userId } of members) await org.api('post', `/teams/${id}/members`, { userId });
    return id;
  };
  const reach = async ({ api }: Person, id: string): Promise<number[]> => {
    const isListed = listIds(await api('get', '/views')).includes(id);
    return [
      isListed ? 200 : 404,
      (await api('get', `/views/${id}`)).status,
      (await readRecords(api, id)).status,
      (await readCsv(api, id)).status,
    ];
  };
  const all = (status: number) => [status, status, status, status];

  it('its owner, its team, or everyone; 404 for anyone else', async () => {
    const [maker, mate, other, admin] = [
      await org.join('editor'),
      await org.join('viewer'),
      await org.join('editor'),
      await org.join('admin'),
    ];
    const teamId = await asTeam(maker, mate);
    const own = await make(maker.api);
    const ofTeam = await make(maker.api, { visibility: 'team', teamId });
    const ofAll = await make(maker.api, { visibility: 'organization' });
    const seen: [string, Person[], number][] = [
      [own, [maker], 200],
      [own, [mate, other, admin, org.owner], 404],
      [ofTeam, [maker, mate], 200],
      [ofTeam, [other, admin], 404],
      [ofAll, [maker, mate, other, admin], 200],
    ];
    for (const [id, people, status] of seen)
      for (const person of people) expect(await reach(person, id)).toEqual(all(status));
    // Only its owner or a caller with member:update may change it.
    for (const refused of [change(other, own), change(admin, ofTeam), other.api('delete', `/views/${own}`)])
      expect((await refused).status).toBe(404);
    expect(await refusal(change(other, ofAll))).toEqual([403, 'view_owner_needed']);
    expect((await other.api('delete', `/views/${ofAll}`)).status).toBe(403);
    expect((await change(admin, ofAll)).body.owner.id).toBe(maker.id);
    // A caller with member:update may even hide it from themselves.
    expect((await change(admin, ofAll, { visibility: 'private' })).status).toBe(200);
    expect(await reach(admin, ofAll)).toEqual(all(404));
    expect(await reach(maker, ofAll)).toEqual(all(200));
    // After leaving the team, the view is no longer visible.
    await org.api('delete', `/teams/${teamId}/members/${mate.id}`);
    expect(await reach(mate, ofTeam)).toEqual(all(404));
  });

  it('views are shared with a team by its members and by callers with team:update', async () => {
    const editor = await org.join('editor');
    const teamId = await asTeam();
    const refused = await editor.api('post', '/views', body({ visibility: 'team', teamId }));
    expect([refused.status, listProblems(refused)]).toEqual([422, ['teamId not_in_team']]);
    const admin = await org.join('admin');
    const id = await make(admin.api, { visibility: 'team', teamId });
    expect((await change(admin, id, { visibility: 'organization' })).body).toMatchObject({ teamId: null });
  });

  it('views survive the deletion of a team and the leaving of a person', async () => {
    const maker = await org.join('editor');
    const other = await org.join('editor');
    const teamId = await asTeam(maker, other);
    const own = await make(maker.api, { name: 'My secret' });
    const ofTeam = await make(maker.api, { visibility: 'team', teamId });
    await org.api('delete', `/teams/${teamId}`);
    const { visibility, teamId: team } = (await maker.api('get', `/views/${ofTeam}`)).body;
    expect([visibility, team]).toEqual(['private', null]);
    expect(await reach(other, ofTeam)).toEqual(all(404));
    expect((await org.api('delete', `${org.at}/members/${maker.id}?keys=revoke`)).status).toBe(204);
    for (const id of [own, ofTeam]) {
      expect(await reach(other, id)).toEqual(all(404));
      expect(await reach(org.owner, id)).toEqual(all(200));
    }
    expect((await org.api('get', `/views/${own}`)).body.owner).toBeNull();
    expect((await change(org, own, { visibility: 'organization' })).status).toBe(200);
    expect(await reach(other, own)).toEqual(all(200));
    const readLog = async (query: string) => (await org.api('get', `${org.at}/audit-log?${query}`)).body.data;
    const [removal] = await readLog('action=member.remove');
    expect(removal.changes.viewsWithoutOwner.sort()).toEqual([own, ofTeam].sort());
    // More people can read the audit log than a private view.
    const creation = await readLog(`targetId=${own}&action=view.create`);
    expect(JSON.stringify(creation)).not.toContain('My secret');
  });
});

it('the fields of a record type cannot be removed while a visible view or a team view uses them; drift names the views', async () => {
  await settle();
  const config = createId();
  const own = { organization_id: org.id, record_type: 'invoice' };
  const sync = { ...own, id: config, name: 'x', mode: 'full', deletions: 'none' };
  await org.admin('sync_configs').insert(sync);
  const drift = { ...own, run_id: createId(), at: new Date(), kind: 'vanished' };
  await org.admin('drift_events').insert([
    { ...drift, id: createId(), field: 'entity', from_type: 'text' },
    { ...drift, id: createId(), field: 'lines.rate', from_type: 'number' },
  ]);
  const editor = await org.join('editor');
  await make(editor.api, { columns: ['entity.name'] });
  const { id: teamId } = (await org.api('post', '/teams', { name: 'T' })).body;
  await org.api('post', `/teams/${teamId}/members`, { userId: editor.id });
  const mine = await make(org.api, { name: 'Mine', columns: ['lines'], sort: [by('entity')] });
  const { data } = (await org.api('get', `/sync-configs/${config}/drift`)).body;
  const affects = (field: string) => [{ kind: 'view', id: mine, name: 'Mine', field }];
  const events = [
    { field: 'entity', affects: affects('entity'), hiddenViews: 1 },
    { field: 'lines.rate', affects: affects('lines'), hiddenViews: 0 },
  ];
  for (const event of events) expect(data).toContainEqual(expect.objectContaining(event));
  const messages = async () => {
    const answer = await org.api('delete', `/sync-configs/${config}`);
    return [answer.status, ...pluck(answer.body.error?.details ?? [], 'message')];
  };
  expect(await messages()).toEqual([422, 'The view "Mine" uses lines, entity']);
  await make(editor.api, { visibility: 'team', teamId });
  await org.api('delete', `/views/${mine}`);
  expect(await messages()).toEqual([422, '1 view that you may not see uses it']);
  await org.api('delete', `/teams/${teamId}`);
  await org.admin('views').where({ organization_id: org.id, visibility: 'team' }).delete();
  expect(await messages()).toEqual([204]);
});
