// The management interface through its three tools: search, describe, and call as by REST.
import type { Client } from '@modelcontextprotocol/client';
import { beforeAll, describe, expect, it } from 'vitest';
import { describeOperation } from '../../src/mcp/describe-operation.ts';
import { responseText } from '../../src/mcp/operation-tools.ts';
import { maxCharacters } from '../../src/mcp/tool.ts';
import { describePlatform, platformRoutes } from '../../src/platform/index.ts';
import { type Api, createApi } from '../setup/api.ts';
import { call, useMcp } from './fixture.ts';

const site = useMcp({ records: false });
let client: Client;
let api: Api;
beforeAll(async () => {
  const { secret } = await site.key(site.organization.id, { permissions: ['write'] });
  client = await site.connect(secret);
  api = createApi(site.app, secret);
});

const operation = (id: string, input: Record<string, unknown> = {}, by = client) =>
  call(by, 'call_operation', { id, ...input });
type Found = { id: string; permission: string; allowed: boolean };
const search = async (words: string, by = client) =>
  (await call(by, 'search_operations', { words })).value['operations'] as Found[];

describe('search_operations', () => {
  it.each([
    ['create api key', 'createApiKey'],
    ['list sync runs', 'listSyncRuns'],
    ['invite a member', 'createInvitation'],
    ['who am I', 'getWhoAmI'],
    ['revoke a key', 'deleteApiKey'],
    ['stop a running sync', 'cancelSyncRun'],
    ['change the role of a member', 'updateMember'],
    ['saved views', 'listViews'],
    ['connect the ERP', 'putErpConnection'],
    ['retire v1', 'retireApiSchema'],
    ['publish a version', 'publishApiSchema'],
    ['start a sync run', 'triggerSync'],
    ['NetSuite metadata refresh', 'refreshErpMetadata'],
    ['delete role', 'deleteRole'],
  ])('%s', async (words, id) => {
    expect((await search(words)).slice(0, 3).map((found) => found.id)).toContain(id);
  });

  it('reports what the caller may call, and lists the groups when nothing matches', async () => {
    const person = await site.connect(await site.agentToken());
    const allowed = async (words: string, id: string) =>
      (await search(words, person)).find((found) => found.id === id)?.allowed;
    expect(await allowed('list sync runs', 'listSyncRuns')).toBe(true);
    expect(await allowed('create api key', 'createApiKey')).toBe(false);
    const nothing = { operations: [], found: 0, groups: expect.arrayContaining(['Syncs']) };
    expect((await call(client, 'search_operations', { words: 'xyzzy' })).value).toMatchObject(nothing);
  });
});

describe('describe_operation', () => {
  it('describes each operation within the size limit, with every schema that it refers to', () => {
    const document = describePlatform(site.origin);
    for (const route of platformRoutes) {
      if (route.access === 'public') continue;
      const described = describeOperation(route, document);
      const text = JSON.stringify(described);
      expect([route.id, text.length < maxCharacters]).toEqual([route.id, true]);
      const components = described['components'] as { schemas?: object } | undefined;
      const shapes = Object.keys(components?.schemas ?? {});
      const pointed = [...text.matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name]) => name);
      expect(pointed.filter((name) => !shapes.includes(name ?? ''))).toEqual([]);
    }
  });

  it('returns parameters, body, example, response and permission', async () => {
    const { value } = await call(client, 'describe_operation', { id: 'createTeam' });
    expect(value).toMatchObject({
      ...{ method: 'POST', path: '/teams', permission: 'team:create', allowed: true },
      body: { schema: { required: ['name'] }, example: { name: expect.any(String) } },
      answer: { status: 201 },
      errors: expect.arrayContaining([403, 422]),
    });
    const unknown = await call(client, 'describe_operation', { id: 'nothing' });
    expect(unknown.value.error).toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('call_operation', () => {
  const unknownId = '01993e5f-7e2a-7c58-9a52-3b1c8f0d4e21';
  const noTeam = { name: '', color: 'red' };
  it('does what the REST interface does: a secret shown once, and an audit row with the request id', async () => {
    const input = { body: { name: 'By an agent' }, idempotencyKey: 'once' };
    type Made = { status: number; body: { id: string; secret: string } };
    const made = (await operation('createApiKey', input)).value as Made;
    expect([made.status, made.body.secret]).toEqual([201, expect.stringMatching(/^psk_/)]);
    const { id } = made.body;
    const replayed = { status: 201, replayed: true, body: { ...made.body, secret: null } };
    expect((await operation('createApiKey', input)).value).toEqual(replayed);
    const { body: key } = await api('get', `/api-keys/${id}`);
    expect((await operation('getApiKey', { path: { id } })).value).toEqual({ status: 200, body: key });
    const { body } = await api('get', `/organizations/${site.organization.id}/audit-log?targetId=${id}`);
    const requestId = expect.stringMatching(/^[0-9a-f-]{36}$/);
    expect(body.data).toMatchObject([{ action: 'api-key.create', requestId }]);
    expect((await operation('deleteApiKey', { path: { id } })).value).toEqual({ status: 204, body: null });
  });

  it('accepts numbers for path and query values', async () => {
    const { value } = await operation('listApiKeys', { query: { page: 1, pageSize: 1 } });
    expect(value).toMatchObject({ status: 200, body: { pagination: { page: 1, pageSize: 1 } } });
  });

  it.each([
    ['createTeam', { body: noTeam }, () => api('post', '/teams', noTeam)],
    ['listTeams', { query: { color: 'red' } }, () => api('get', '/teams?color=red')],
    ['getTeam', { path: { id: unknownId } }, () => api('get', `/teams/${unknownId}`)],
    ['getTeam', {}, () => api('get', '/teams/x')],
  ])('%s %j gets the same error as by REST', async (id, input, rest) => {
    const { isError, value } = await operation(id, input);
    const expected = (await rest()).body.error;
    const { code, message } = value.error as { code: string; message: string };
    expect([isError, code, message]).toEqual([true, expected.code, expected.message]);
    if (id !== 'getTeam') expect((value.error as { details: unknown }).details).toEqual(expected.details);
  });

  it('403 names the permission that the person lacks', async () => {
    const person = await site.connect(await site.agentToken());
    const refused = await operation('createTeam', { body: { name: 'Agents' } }, person);
    const message = 'Missing required permission: team:create';
    expect(refused.value.error).toMatchObject({ code: 'FORBIDDEN', message });
  });

  it('returns JSON for an operation with a stream, and knows no public operations', async () => {
    const streaming = platformRoutes.find((route) => route.access !== 'public' && route.stream !== undefined);
    expect(streaming?.id).toBe('listSyncRunEvents');
    const events = await operation('listSyncRunEvents', { path: { id: unknownId } });
    expect(events.value.error).toMatchObject({ code: 'NOT_FOUND' });
    const unknown = { code: 'NOT_FOUND', details: [{ code: 'unknown_operation' }] };
    expect((await operation('getOpenApi')).value.error).toMatchObject(unknown);
  });

  it('cuts long responses after whole items, or else shows the beginning and says so', () => {
    const items = Array.from({ length: 100 }, (_, index) => ({ index, text: 'x'.repeat(1_000) }));
    const list = responseText(200, { data: items, pagination: { total: 100 } }, false);
    expect(list.length).toBeLessThanOrEqual(maxCharacters + 100);
    const { body } = JSON.parse(list) as { body: { data: unknown[]; cut: object } };
    expect(body).toMatchObject({ pagination: { total: 100 }, cut: { shown: body.data.length, of: 100 } });
    expect(body.data).toEqual(items.slice(0, body.data.length));
    const long = JSON.parse(responseText(200, { text: '"'.repeat(50_000) }, false));
    const bodyStart = expect.stringMatching(/^\{"text":"/);
    expect(long).toMatchObject({ status: 200, cut: { characters: 100_011 }, bodyStart });
  });
});
