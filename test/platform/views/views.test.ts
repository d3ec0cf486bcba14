// Saved views: who may see and change them, and what they may query.
import { beforeAll, describe, expect, it } from 'vitest';
import { createId } from '../../../src/core/id.ts';
import type {} from '../../../src/db/transaction.ts';
import { listIds, listProblems, pluck, refusal } from '../../setup/api.ts';
import type { Person } from '../../setup/use-organization.ts';
import { useViews } from './fixture.ts';

const { org, settle, warehouse, body, make, readRecords, readCsv } = useViews();

describe('/views', () => {
  beforeAll(settle);
  it('are created, returned, updated and deleted', async () => {
    const filters = [{ field: 'status', operator: 'eq', value: ['open', 'late'] }];
    const sort = [{ field: 'total', direction: 'desc' }];
    const made = await org.api('post', '/views', body({ name: ' Open ', filters, sort }));
    expect([made.status, made.body]).toEqual([
      201,
      {
        id: expect.any(String),
        name: 'Open',
        recordType: 'invoice',
        columns: ['tranid', 'total'],
        filters,
        sort,
        summary: null,
        visibility: 'private',
        teamId: null,
        owner: { id: org.owner.id, email: expect.any(String), name: expect.any(String) },
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    ]);
    const at = `/views/${made.body.id}`;
    expect((await org.api('get', at)).body).toEqual(made.body);
    const changed = await org.api('patch', at, {
      columns: ['entity.name'],
      filters: null,
      visibility: 'organization',
    });
    expect(changed.body).toMatchObject({
      name: 'Open',
      columns: ['entity.name'],
      filters: [],
      sort,
      visibility: 'organization',
    });
    expect((await org.api('delete', at)).status).toBe(204);
    expect((await org.api('get', at)).status).toBe(404);
  });

  it.each<[string, object, string[]]>([
    [
      'unknown names',
      { columns: ['tranid', 'tranidd'], sort: [{ field: 'x', direction: 'asc' }] },
      ['columns[1] unknown_source', 'sort[0].field unknown_source'],
    ],
    ['a column twice', { columns: ['tranid', 'total', 'tranid'] }, ['columns[2] duplicate']],
    ['the id as a column', { columns: ['id'] }, ['columns[0] reserved_name']],
    ['a record type without a sync', { recordType: 'customer' }, ['recordType unknown_record_type']],
    [
      'a filter inside lines',
      { filters: [{ field: 'lines', operator: 'eq', value: 'x' }] },
      ['filters[0].field lines'],
    ],
    [
      'an operator that misfits',
      { filters: [{ field: 'total', operator: 'contains', value: 'abc' }] },
      ['filters[0].operator operator_misfits'],
    ],
    [
      'a value of another kind',
      { filters: [{ field: 'total', operator: 'gt', value: 'much' }] },
      ['filters[0].value invalid_value'],
    ],
    [
      'a list where one value goes',
      { filters: [{ field: 'total', operator: 'gt', value: [1, 2] }] },
      ['filters[0].value invalid_value'],
    ],
    [
      'a key to sort by twice',
      {
        sort: [
          { field: 'total', direction: 'asc' },
          { field: 'total', direction: 'desc' },
        ],
      },
      ['sort[1].field duplicate'],
    ],
    ['a team without its visibility', { teamId: createId() }, ['teamId no_team_view']],
    ['no team', { visibility: 'team' }, ['teamId team_needed']],
    ['a team that is not there', { visibility: 'team', teamId: createId() }, ['teamId unknown_team']],
  ])('422 for %s', async (_name, given, problems) => {
    const answer = await org.api('post', '/views', body(given));
    expect([answer.status, listProblems(answer)]).toEqual([422, problems]);
  });

  it('are listed newest first, filtered by name, record type and visibility', async () => {
    const [a, b] = [
      await make(org.api, { name: 'North 1' }),
      await make(org.api, { name: 'North 100%', visibility: 'organization' }),
    ];
    const ids = async (query: string) => listIds(await org.api('get', `/views?${query}`));
    expect(await ids('')).toEqual([b, a]);
    expect(await ids('q=%25')).toEqual([b]);
    expect(await ids('visibility=private&recordType=invoice')).toEqual([a]);
    expect(await ids('recordType=customer')).toEqual([]);
  });

  it('only changed parts are validated, so that a view with a retyped field can still be renamed', async () => {
    const id = await make(org.api, { filters: [{ field: 'total', operator: 'gte', value: 0 }] });
    await warehouse("update $wh.record_columns set type = 'text' where field = 'total'");
    expect((await org.api('patch', `/views/${id}`, { name: 'Other', columns: ['tranid'] })).status).toBe(200);
    const again = await org.api('patch', `/views/${id}`, {
      filters: [{ field: 'total', operator: 'gte', value: 0 }],
    });
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
    const listed = (await api('get', '/views')).body.data.some((view: { id: string }) => view.id === id)
      ? 200
      : 404;
    return [
      listed,
      (await api('get', `/views/${id}`)).status,
      (await readRecords(api, id)).status,
      (await readCsv(api, id)).status,
    ];
  };
  const all = (status: number) => [status, status, status, status];
  const change = ({ api }: Person, id: string) => api('patch', `/views/${id}`, { name: 'Other' });

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
    const seen: [string, Person, number][] = [
      ...[maker].map((person): [string, Person, number] => [own, person, 200]),
      ...[mate, other, admin, org.owner].map((person): [string, Person, number] => [own, person, 404]),
      ...[maker, mate].map((person): [string, Person, number] => [ofTeam, person, 200]),
      ...[other, admin].map((person): [string, Person, number] => [ofTeam, person, 404]),
      ...[maker, mate, other, admin].map((person): [string, Person, number] => [ofAll, person, 200]),
    ];
    for (const [id, person, status] of seen) expect(await reach(person, id)).toEqual(all(status));
    // Only its owner or a caller with member:update may change it.
    expect([
      (await change(other, own)).status,
      (await change(admin, ofTeam)).status,
      (await other.api('delete', `/views/${own}`)).status,
    ]).toEqual([404, 404, 404]);
    expect(await refusal(change(other, ofAll))).toEqual([403, 'view_owner_needed']);
    expect((await other.api('delete', `/views/${ofAll}`)).status).toBe(403);
    expect((await change(admin, ofAll)).body.owner.id).toBe(maker.id);
    // A caller with member:update may even hide it from themselves.
    expect((await admin.api('patch', `/views/${ofAll}`, { visibility: 'private' })).status).toBe(200);
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
    expect((await admin.api('patch', `/views/${id}`, { visibility: 'organization' })).body).toMatchObject({
      teamId: null,
    });
  });

  it('views survive the deletion of a team and the leaving of a person', async () => {
    const maker = await org.join('editor');
    const other = await org.join('editor');
    const teamId = await asTeam(maker, other);
    const [own, ofTeam] = [
      await make(maker.api, { name: 'My secret' }),
      await make(maker.api, { visibility: 'team', teamId }),
    ];
    await org.api('delete', `/teams/${teamId}`);
    expect((await maker.api('get', `/views/${ofTeam}`)).body).toMatchObject({
      visibility: 'private',
      teamId: null,
    });
    expect(await reach(other, ofTeam)).toEqual(all(404));
    expect((await org.api('delete', `${org.at}/members/${maker.id}?keys=revoke`)).status).toBe(204);
    for (const id of [own, ofTeam]) {
      expect(await reach(other, id)).toEqual(all(404));
      expect(await reach(org.owner, id)).toEqual(all(200));
    }
    expect((await org.api('get', `/views/${own}`)).body.owner).toBeNull();
    expect((await org.api('patch', `/views/${own}`, { visibility: 'organization' })).status).toBe(200);
    expect(await reach(other, own)).toEqual(all(200));
    const log = (await org.api('get', `${org.at}/audit-log?action=member.remove`)).body.data;
    expect(log[0].changes.viewsWithoutOwner.sort()).toEqual([own, ofTeam].sort());
    // More people can read the audit log than a private view.
    expect(
      JSON.stringify(
        (await org.api('get', `${org.at}/audit-log?targetId=${own}&action=view.create`)).body.data,
      ),
    ).not.toContain('My secret');
  });
});

describe('the fields of a record type', () => {
  beforeAll(settle);
  it('cannot be removed while a visible view or a team view uses them; drift names the views', async () => {
    const config = createId();
    const own = { organization_id: org.id, record_type: 'invoice' };
    await org.sql((tx) =>
      tx('sync_configs').insert({ ...own, id: config, name: 'x', mode: 'full', deletions: 'none' }),
    );
    const drift = { ...own, run_id: createId(), at: new Date() };
    await org.sql(async (tx) => {
      await tx('drift_events').insert({
        ...drift,
        id: createId(),
        kind: 'vanished',
        field: 'entity',
        from_type: 'text',
      });
      await tx('drift_events').insert({
        ...drift,
        id: createId(),
        kind: 'vanished',
        field: 'lines.rate',
        from_type: 'number',
      });
    });
    const editor = await org.join('editor');
    await make(editor.api, { columns: ['entity.name'] });
    const { id: teamId } = (await org.api('post', '/teams', { name: 'T' })).body;
    await org.api('post', `/teams/${teamId}/members`, { userId: editor.id });
    const mine = await make(org.api, {
      name: 'Mine',
      columns: ['lines'],
      sort: [{ field: 'entity', direction: 'asc' }],
    });
    const events = async () =>
      (await org.api('get', `/sync-configs/${config}/drift`)).body.data as {
        field: string;
        affects: unknown[];
        hiddenViews: number;
      }[];
    const of = async (field: string) => (await events()).find((event) => event.field === field);
    expect(await of('entity')).toMatchObject({
      affects: [{ kind: 'view', id: mine, name: 'Mine', field: 'entity' }],
      hiddenViews: 1,
    });
    expect(await of('lines.rate')).toMatchObject({
      affects: [{ kind: 'view', id: mine, name: 'Mine', field: 'lines' }],
      hiddenViews: 0,
    });
    const messages = async () => {
      const answer = await org.api('delete', `/sync-configs/${config}`);
      return [answer.status, ...pluck(answer.body.error?.details ?? [], 'message')];
    };
    expect(await messages()).toEqual([422, 'The view "Mine" uses lines, entity']);
    await make(editor.api, { visibility: 'team', teamId });
    await org.api('delete', `/views/${mine}`);
    expect(await messages()).toEqual([422, '1 view that you may not see uses it']);
    await org.api('delete', `/teams/${teamId}`);
    await org.sql((tx) => tx('views').where({ visibility: 'team' }).delete());
    expect(await messages()).toEqual([204]);
  });
});
