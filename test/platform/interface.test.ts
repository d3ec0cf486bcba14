// Answers that have to agree across the groups of the management interface, and that say what to do next.
import { beforeEach, describe, expect, it } from 'vitest';
import { openKnex } from '../../src/db/connect.ts';
import { loadInvoices, publishVersion } from '../public/fixture.ts';
import { type Answer, createApi, listCodes, refusal, signedInApi } from '../setup/api.ts';
import { makePerson, makeSession } from '../setup/organization.ts';
import { useOrganization } from '../setup/use-organization.ts';

const org = useOrganization({ settings: { allowSignup: true }, each: true });

const toErrorDetail = (answer: Answer): [number, string, string] => {
  const [detail] = answer.body.error?.details ?? [];
  return [answer.status, detail?.code, detail?.message];
};
const readsOnly = async (): Promise<Answer['body']> =>
  (await org.api('post', '/api-keys', { name: 'x' })).body;

describe('the resources of an API key', () => {
  const withResources = (resources: string[], versions: string[] = []) =>
    org.api('post', '/api-keys', { name: 'x', scopes: { resources, versions } });
  beforeEach(async () => {
    await loadInvoices(org.ctx, org.id, []);
    await publishVersion(org.ctx, org.id, { version: 'v7' });
    expect((await org.api('post', '/api-schema', {})).status).toBe(201);
  });

  it('422 for a resource of no version, as for an unknown version', async () => {
    const refused = await withResources(['invoices', 'nope']);
    expect([refused.status, listCodes(refused)]).toEqual([422, ['unknown_resource']]);
    expect(refused.body.error.details[0]).toMatchObject({
      path: 'scopes.resources',
      message: expect.stringContaining('nope'),
    });
    expect(listCodes(await withResources(['nope'], ['v9']))).toEqual(['unknown_version', 'unknown_resource']);
    expect((await withResources(['invoices'])).status).toBe(201);
  });

  it('422 for a resource that none of the versions of the key has', async () => {
    expect((await withResources(['invoices'], ['v7'])).status).toBe(201);
    const refused = await withResources(['invoices'], ['v1000']);
    expect(listCodes(refused)).toContain('unknown_version');
    const [draft] = (await org.api('get', '/api-schema?status=draft')).body.data;
    expect(listCodes(await withResources(['invoices'], [draft.version]))).toEqual(['unknown_resource']);
  });

  it('may stay on a key when the resource is gone, but not be added', async () => {
    const { id } = (await withResources(['invoices'])).body;
    const change = (resources: string[]) => org.api('patch', `/api-keys/${id}`, { scopes: { resources } });
    expect(listCodes(await change(['invoices', 'nope']))).toEqual(['unknown_resource']);
    await org.ctx.db.control.transaction(async (tx) => {
      await tx.raw("select set_config('portal.organization_id', ?, true)", [org.id]);
      await tx('api_keys')
        .where({ id })
        .update({ scope_resources: ['former'] });
    });
    expect((await change(['former'])).status).toBe(200);
  });
});

it('GET /api-schema finds versions by name', async () => {
  for (const name of ['For customers', 'For partners']) await org.api('post', '/api-schema', { name });
  const found = await org.api('get', '/api-schema?q=PARTNER');
  expect([found.status, found.body.data?.map(({ name }: { name: string }) => name)]).toEqual([
    200,
    ['For partners'],
  ]);
});

it.each([
  ['get', '/teams'],
  ['get', '/whoami'],
  ['post', '/teams'],
  ['get', '/openapi'],
] as const)(
  'Accept: 406 when %s %s may not be answered as JSON, and nothing is done',
  async (method, path) => {
    expect(
      await refusal(
        org.api(method, path, method === 'post' ? { name: 'x' } : undefined, {
          accept: 'application/xml',
        }),
      ),
    ).toEqual([406, 'not_acceptable']);
    expect((await org.api('get', '/teams')).body.pagination.total).toBe(0);
    for (const accept of ['application/json', 'text/html, */*;q=0.1', 'application/*'])
      expect([accept, (await org.api('get', '/teams', undefined, { accept })).status]).toEqual([accept, 200]);
  },
);

it('a confirmation that does not match: 400 for ?purge= as for ?confirm=', async () => {
  await org.api('put', '/netsuite/connection', {
    accountId: '1234567',
    authentication: { method: 'oauth2', clientId: 'c' },
  });
  const purge = await org.api('delete', '/netsuite/connection?purge=another');
  const confirm = await org.api('delete', `/organizations/${org.id}?confirm=another`);
  expect([purge, confirm].map(({ status, body }) => [status, body.error.code])).toEqual([
    [400, 'BAD_REQUEST'],
    [400, 'BAD_REQUEST'],
  ]);
  expect([purge, confirm].map(listCodes)).toEqual([['confirmation_mismatch'], ['confirmation_mismatch']]);
  expect((await org.api('get', '/netsuite/connection')).status).toBe(200);
});

describe('the preview of a template', () => {
  const make = async (kind: 'email' | 'document', body: string) =>
    (
      await org.api('post', '/portal/templates', {
        key: kind,
        kind,
        subject: kind === 'email' ? 'Hello {{ name }}' : null,
        body,
      })
    ).body.id;
  const preview = (id: string, input: object) => org.api('post', `/portal/templates/${id}/preview`, input);

  it('needs no record for a mail', async () => {
    const id = await make('email', '<p>{{ organization.name }} {{ record.tranid }}</p>');
    const shown = await preview(id, { data: { name: 'Ada' } });
    expect(shown.status, shown.text).toBe(200);
    expect(shown.body.subject).toBe('Hello Ada');
    expect(shown.body.problems).toEqual([
      expect.objectContaining({ path: 'body', message: expect.stringContaining('record') }),
    ]);
  });

  it('422 for half a record, and for a document without one', async () => {
    const id = await make('email', 'x');
    for (const half of [{ recordType: 'invoice' }, { recordId: '7' }])
      expect([half, listCodes(await preview(id, half))]).toEqual([half, ['record_incomplete']]);
    expect(await refusal(preview(await make('document', 'x'), {}))).toEqual([422, 'record_needed']);
  });
});

it('a deleted team leaves no view to a team, also when the process that deletes it is of the version before', async () => {
  await loadInvoices(org.ctx, org.id, [{ id: 1 }]);
  const { id: teamId } = (await org.api('post', '/teams', { name: 'T' })).body;
  await org.api('post', `/teams/${teamId}/members`, { userId: org.owner.id });
  const view = { name: 'x', recordType: 'invoice', columns: ['tranid'], visibility: 'team', teamId };
  const { id } = (await org.api('post', '/views', view)).body;
  const admin = openKnex(org.database.address, null, 1);
  await admin('teams').where({ id: teamId }).delete();
  await admin.destroy();
  expect((await org.api('get', `/views/${id}`)).body).toMatchObject({
    visibility: 'private',
    teamId: null,
  });
});

it('POST /organizations says whether the session acts for the new organization from now on', async () => {
  const person = await makePerson(org.ctx, `founder-${org.id}@example.test`);
  const api = signedInApi(org.app, org.ctx, (await makeSession(org.ctx, person.id)).cookie);
  const first = await api('post', '/organizations', { name: 'First' });
  expect([first.status, first.body.active, first.body.nextStep]).toEqual([201, true, null]);
  const second = await api('post', '/organizations', { name: 'Second' });
  expect([second.status, second.body.active]).toEqual([201, false]);
  expect(second.body.nextStep).toContain('POST /whoami/active-organization');
  expect((await api('get', '/whoami')).body.organization.id).toBe(first.body.id);
  const header = { 'x-organization-id': second.body.id };
  expect(await api('post', '/organizations', { name: 'Third' }, header)).toMatchObject({
    status: 201,
    body: { active: false },
  });
  expect((await api('get', '/whoami')).body.organization.id).toBe(first.body.id);
});

describe('the role of members and invitations', () => {
  const email = () => `guest-${Math.random().toString(36).slice(2)}@example.test`;
  const invite = (role: object) => org.api('post', `${org.at}/invitations`, { email: email(), ...role });

  it('is taken by id or by name, and answered with its id', async () => {
    const viewer = org.role('viewer');
    for (const role of [{ roleId: viewer }, { role: 'viewer' }]) {
      const invited = await invite(role);
      expect([role, invited.status, invited.body.roleId, invited.body.role]).toEqual([
        role,
        201,
        viewer,
        { id: viewer, name: 'viewer' },
      ]);
    }
    const member = await org.join('editor');
    const at = `${org.at}/members/${member.id}`;
    expect((await org.api('patch', at, { role: 'viewer' })).body).toMatchObject({
      roleId: viewer,
      role: { name: 'viewer' },
    });
    expect((await org.api('patch', at, { roleId: org.role('admin') })).body).toMatchObject({
      roleId: org.role('admin'),
    });
    for (const answer of [
      (await org.api('get', `${org.at}/members`)).body.data,
      (await org.api('get', `${org.at}/invitations`)).body.data,
    ])
      for (const one of answer) expect(one.roleId).toBe(one.role.id);
    expect(
      (await org.api('get', `${org.at}/members?role=admin`)).body.data.map(
        ({ user }: Answer['body']) => user.id,
      ),
    ).toEqual([member.id]);
  });

  it('422 for an unknown name, for both at once, and for an invitation with neither', async () => {
    const unknown = await invite({ role: 'captain' });
    expect([unknown.status, unknown.body.error.details[0].path]).toEqual([422, 'role']);
    expect((await invite({ role: 'viewer', roleId: org.role('viewer') })).status).toBe(422);
    expect((await invite({})).status).toBe(422);
    const member = await org.join('editor');
    const patch = (body: object) => org.api('patch', `${org.at}/members/${member.id}`, body);
    for (const body of [
      { role: 'captain' },
      { role: 'viewer', roleId: org.role('viewer') },
      { role: '' },
      { role: null },
    ])
      expect([body, (await patch(body)).status]).toEqual([body, 422]);
    expect((await patch({ role: 'VIEWER' })).body.role.name).toBe('viewer');
    expect(
      (await org.api('get', `${org.at}/members?role=viewer&roleId=${org.role('editor')}`)).body.data,
    ).toEqual([]);
  });

  it('403 for a name as for an id of a role with more than the caller may grant', async () => {
    const admin = await org.join('admin');
    for (const role of [{ role: 'owner' }, { roleId: org.role('owner') }])
      expect((await admin.api('post', `${org.at}/invitations`, { email: email(), ...role })).status).toBe(
        403,
      );
  });
});

describe('a key made with a name only', () => {
  it('reads, and the 403 of a write says how to make one that writes', async () => {
    const { secret } = await readsOnly();
    const refused = await createApi(org.app, secret)('post', '/teams', { name: 'x' });
    expect(refused.body.error.message).toBe('Missing required permission: team:create');
    expect(toErrorDetail(refused)).toEqual([
      403,
      'read_only',
      expect.stringContaining('"permissions": ["write"]'),
    ]);
    const advised = /\{.*\}/.exec(refused.body.error.details[0].message)?.[0] ?? '';
    const writing = await org.api('post', '/api-keys', JSON.parse(advised));
    expect((await createApi(org.app, writing.body.secret)('post', '/teams', { name: 'x' })).status).toBe(201);
  });

  it('is not the advice where the person lacks the permission', async () => {
    const viewer = await org.join('viewer');
    expect((await viewer.api('post', '/teams', { name: 'x' })).body.error.details ?? []).toEqual([]);
  });
});

describe('without a connection', () => {
  it.each([
    ['get', '/netsuite/connection'],
    ['post', '/netsuite/connection/test'],
    ['get', '/netsuite/metadata/invoice'],
    ['delete', '/netsuite/connection'],
  ] as const)('%s %s says to set one up', async (method, path) => {
    expect(toErrorDetail(await org.api(method, path))).toEqual([
      404,
      'no_connection',
      'Set up the connection first',
    ]);
  });

  it.each([
    ['/netsuite/metadata/refresh', undefined],
    ['/sync-configs', { name: 'x', recordType: 'invoice' }],
    ['/netsuite/queries', { name: 'x', label: 'x', query: 'SELECT id, itemid FROM item', keyColumn: 'id' }],
  ])('post %s says to set one up', async (path, body) => {
    const refused = await org.api('post', path, body);
    expect(toErrorDetail(refused)).toEqual([422, 'no_connection', 'Set up the connection first']);
  });

  it.each([
    ['get', '/netsuite/metadata/invoice', 404],
    ['post', '/sync-configs', 422],
  ] as const)('with one but no metadata, %s %s says to refresh it', async (method, path, status) => {
    await org.api('put', '/netsuite/connection', {
      accountId: '1234567',
      authentication: { method: 'oauth2', clientId: 'c' },
    });
    const body = method === 'post' ? { name: 'x', recordType: 'invoice' } : undefined;
    expect(toErrorDetail(await org.api(method, path, body))).toEqual([
      status,
      'no_metadata',
      expect.stringContaining('refresh the metadata'),
    ]);
  });

  it('the list of record types is empty and says what to do', async () => {
    const list = async () => (await org.api('get', '/netsuite/metadata')).body;
    expect(await list()).toMatchObject({
      data: [],
      pagination: { total: 0 },
      refreshedAt: null,
      notListed: { code: 'no_connection' },
    });
    await org.api('put', '/netsuite/connection', {
      accountId: '1234567',
      authentication: { method: 'oauth2', clientId: 'c' },
    });
    const message = expect.stringContaining('refresh the metadata');
    expect(await list()).toMatchObject({
      data: [],
      refreshedAt: null,
      notListed: { code: 'no_metadata', message },
    });
  });
});
