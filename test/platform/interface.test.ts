// Answers that have to agree across the groups of the management interface, and that say what to do next.
import { beforeEach, describe, expect, it } from 'vitest';
import { loadInvoices, publishVersion } from '../public/fixture.ts';
import { type Answer, createApi, listCodes, pluck, refusal, signedInApi } from '../setup/api.ts';
import { makePerson, makeSession } from '../setup/organization.ts';
import { useOrganization } from '../setup/use-organization.ts';

const org = useOrganization({ settings: { allowSignup: true }, each: true });

const toErrorDetail = (answer: Answer): [number, string, string] => {
  const [detail] = answer.body.error?.details ?? [];
  return [answer.status, detail?.code, detail?.message];
};
const connect = () => {
  const authentication = { method: 'oauth2', clientId: 'c' };
  return org.api('put', '/netsuite/connection', { accountId: '1234567', authentication });
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
    expect(await refusal(refused)).toEqual([422, 'unknown_resource']);
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
    const former = { scope_resources: ['former'] };
    await org.admin('api_keys').where({ id }).update(former);
    expect((await change(['former'])).status).toBe(200);
  });
});

it('GET /api-schema finds versions by name', async () => {
  for (const name of ['For customers', 'For partners']) await org.api('post', '/api-schema', { name });
  const found = await org.api('get', '/api-schema?q=PARTNER');
  expect([found.status, pluck(found.body.data, 'name')]).toEqual([200, ['For partners']]);
});

it.each([
  ['get', '/teams'],
  ['get', '/whoami'],
  ['post', '/teams'],
  ['get', '/openapi'],
] as const)(
  'Accept: 406 when %s %s may not be answered as JSON, and nothing is done',
  async (method, path) => {
    const body = method === 'post' ? { name: 'x' } : undefined;
    const asked = org.api(method, path, body, { accept: 'application/xml' });
    expect(await refusal(asked)).toEqual([406, 'not_acceptable']);
    expect((await org.api('get', '/teams')).body.pagination.total).toBe(0);
    for (const accept of ['application/json', 'text/html, */*;q=0.1', 'application/*'])
      expect([accept, (await org.api('get', '/teams', undefined, { accept })).status]).toEqual([accept, 200]);
  },
);

it('a confirmation that does not match: 400 for ?purge= as for ?confirm=', async () => {
  await connect();
  for (const path of ['/netsuite/connection?purge=another', `${org.at}?confirm=another`]) {
    const refused = await org.api('delete', path);
    expect(refused.body.error.code).toBe('BAD_REQUEST');
    expect(await refusal(refused)).toEqual([400, 'confirmation_mismatch']);
  }
  expect((await org.api('get', '/netsuite/connection')).status).toBe(200);
});

describe('the preview of a template', () => {
  const make = async (kind: 'email' | 'document', body: string) => {
    const subject = kind === 'email' ? 'Hello {{ name }}' : null;
    return (await org.api('post', '/portal/templates', { key: kind, kind, subject, body })).body.id;
  };
  const preview = (id: string, input: object) => org.api('post', `/portal/templates/${id}/preview`, input);

  it('needs no record for a mail', async () => {
    const id = await make('email', '<p>{{ organization.name }} {{ record.tranid }}</p>');
    const shown = await preview(id, { data: { name: 'Ada' } });
    expect(shown.status, shown.text).toBe(200);
    expect(shown.body.subject).toBe('Hello Ada');
    const problem = { path: 'body', message: expect.stringContaining('record') };
    expect(shown.body.problems).toEqual([expect.objectContaining(problem)]);
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
  await org.admin('teams').where({ id: teamId }).delete();
  const { body } = await org.api('get', `/views/${id}`);
  expect(body).toMatchObject({ visibility: 'private', teamId: null });
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
  const third = await api('post', '/organizations', { name: 'Third' }, header);
  expect([third.status, third.body.active]).toEqual([201, false]);
  expect((await api('get', '/whoami')).body.organization.id).toBe(first.body.id);
});

describe('the role of members and invitations', () => {
  const email = () => `guest-${Math.random().toString(36).slice(2)}@example.test`;
  const invite = (role: object, api = org.api) =>
    api('post', `${org.at}/invitations`, { email: email(), ...role });

  it('is taken by id or by name, and answered with its id', async () => {
    const viewer = org.role('viewer');
    for (const role of [{ roleId: viewer }, { role: 'viewer' }]) {
      const invited = await invite(role);
      expect([role, invited.status, invited.body.roleId]).toEqual([role, 201, viewer]);
      expect(invited.body.role).toEqual({ id: viewer, name: 'viewer' });
    }
    const member = await org.join('editor');
    const patch = async (role: object) =>
      (await org.api('patch', `${org.at}/members/${member.id}`, role)).body;
    expect(await patch({ role: 'viewer' })).toMatchObject({ roleId: viewer, role: { name: 'viewer' } });
    expect(await patch({ roleId: org.role('admin') })).toMatchObject({ roleId: org.role('admin') });
    const list = async (what: string) => (await org.api('get', `${org.at}/${what}`)).body.data;
    for (const one of [...(await list('members')), ...(await list('invitations'))])
      expect(one.roleId).toBe(one.role.id);
    expect(await list('members?role=admin')).toMatchObject([{ user: { id: member.id } }]);
  });

  it('422 for an unknown name, for both at once, and for an invitation with neither', async () => {
    const unknown = await invite({ role: 'captain' });
    expect([unknown.status, unknown.body.error.details[0].path]).toEqual([422, 'role']);
    const both = { role: 'viewer', roleId: org.role('viewer') };
    expect((await invite(both)).status).toBe(422);
    expect((await invite({})).status).toBe(422);
    const member = await org.join('editor');
    const patch = (body: object) => org.api('patch', `${org.at}/members/${member.id}`, body);
    for (const body of [{ role: 'captain' }, both, { role: '' }, { role: null }])
      expect([body, (await patch(body)).status]).toEqual([body, 422]);
    expect((await patch({ role: 'VIEWER' })).body.role.name).toBe('viewer');
    const query = `role=viewer&roleId=${org.role('editor')}`;
    expect((await org.api('get', `${org.at}/members?${query}`)).body.data).toEqual([]);
  });

  it('403 for a name as for an id of a role with more than the caller may grant', async () => {
    const admin = await org.join('admin');
    for (const role of [{ role: 'owner' }, { roleId: org.role('owner') }])
      expect((await invite(role, admin.api)).status).toBe(403);
  });
});

describe('a key made with a name only', () => {
  it('reads, and the 403 of a write says how to make one that writes', async () => {
    const { secret } = await readsOnly();
    const refused = await createApi(org.app, secret)('post', '/teams', { name: 'x' });
    expect(refused.body.error.message).toBe('Missing required permission: team:create');
    const advice = expect.stringContaining('"permissions": ["write"]');
    expect(toErrorDetail(refused)).toEqual([403, 'read_only', advice]);
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
  const refreshFirst = expect.stringContaining('refresh the metadata');
  it.each([
    ['get', '/netsuite/connection'],
    ['post', '/netsuite/connection/test'],
    ['get', '/netsuite/metadata/invoice'],
    ['delete', '/netsuite/connection'],
  ] as const)('%s %s says to set one up', async (method, path) => {
    const refused = await org.api(method, path);
    expect(toErrorDetail(refused)).toEqual([404, 'no_connection', 'Set up the connection first']);
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
    await connect();
    const body = method === 'post' ? { name: 'x', recordType: 'invoice' } : undefined;
    const refused = await org.api(method, path, body);
    expect(toErrorDetail(refused)).toEqual([status, 'no_metadata', refreshFirst]);
  });

  it('the list of record types is empty and says what to do', async () => {
    const list = async () => (await org.api('get', '/netsuite/metadata')).body;
    const empty = { data: [], refreshedAt: null };
    const notListed = { code: 'no_connection' };
    expect(await list()).toMatchObject({ ...empty, pagination: { total: 0 }, notListed });
    await connect();
    expect(await list()).toMatchObject({
      ...empty,
      notListed: { code: 'no_metadata', message: refreshFirst },
    });
  });
});
