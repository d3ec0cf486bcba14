// Tokens of API keys at `/mcp`: the record tools alone, within the scopes, with a budget per key and subject.
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createApi } from '../setup/api.ts';
import { call, failedCall, openMcpSite, useMcp } from './fixture.ts';

const site = useMcp({ records: true });
let key: { id: string; secret: string };
beforeAll(async () => {
  key = await site.key(site.organization.id, { permissions: ['write'] });
});

const token = async (scopes: object, subject?: string, by = key): Promise<string> => {
  const tokens = [{ scopes, subject }];
  const answer = await createApi(site.app, by.secret)('post', `/api-keys/${by.id}/tokens`, { tokens });
  expect(answer.status, answer.text).toBe(201);
  return answer.body.tokens[0].token;
};
const bearer = (credential: string) => ({ authorization: `Bearer ${credential}` });
const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
const readStatus = async (credential: string): Promise<number> =>
  (await site.post(list, bearer(credential))).status;
const v1 = { version: 'v1', resource: 'invoices' };
const scoped = { rows: { invoices: [{ field: 'id', in: ['1', '2'] }] } };
describe('a token at /mcp', () => {
  it.each(['legacy', 'auto'] as const)(
    'lists and calls the record tools only, for %s clients',
    async (mode) => {
      const client = await site.connect(await token({}), mode);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(['describe', 'query', 'aggregate', 'get']);
      expect(client.getInstructions()).not.toContain('operation');
      expect((await call(client, 'query', v1)).isError).toBe(false);
      const id = { id: 'getWhoAmI' };
      const others = { call_operation: id, describe_operation: id, search_operations: { words: 'keys' } };
      for (const [name, input] of Object.entries(others))
        await expect(call(client, name, input)).rejects.toThrow('Unknown tool');
    },
  );

  it('reads within its scopes', async () => {
    const client = await site.connect(await token(scoped));
    const resources = ['invoices'];
    const versions = ['v1', 'v3', 'v5'].map((version) => ({ version, resources }));
    expect((await call(client, 'describe')).value).toMatchObject({ versions });
    const two = { data: [{ id: '1' }, { id: '2' }], pagination: { total: 2 } };
    expect((await call(client, 'query', v1)).value).toMatchObject(two);
    const summary = { version: 'v5', resource: 'invoices', sum: ['total'] };
    const sum = { total: '12345678901234567900.60' };
    expect((await call(client, 'aggregate', summary)).value['data']).toEqual([{ sum }]);
    expect((await call(client, 'get', { ...v1, id: '2' })).isError).toBe(false);
    expect((await failedCall(client, 'get', { ...v1, id: '3' })).code).toBe('NOT_FOUND');
    const { details } = await failedCall(client, 'query', { ...v1, resource: 'copy-1' });
    expect(details).toMatchObject([{ code: 'resource_out_of_scope' }]);
  });

  it('is refused for another organization, and needs no tenant header', async () => {
    const query = { ...list, method: 'tools/call', params: { name: 'query', arguments: v1 } };
    const headers = { ...bearer(await token({})), 'x-organization-id': site.other.id };
    const response = await site.post(query, headers);
    expect(await response.text()).toContain('organization_mismatch');
  });

  it('is counted by its subject', async () => {
    const client = await site.connect(await token(scoped, 'ann'));
    await call(client, 'query', v1);
    await call(client, 'query', { ...v1, resource: 'copy-1' });
    await site.usage.flush();
    const usage = `/api-keys/${key.id}/usage?groupBy=subject`;
    const { body } = await createApi(site.app, key.secret)('get', usage);
    const counts = { subject: 'ann', requests: 2, succeeded: 1, refused: 1 };
    expect(body.data).toContainEqual(expect.objectContaining(counts));
  });

  it('401 when it is invalid, revoked or its key is gone, and when it comes without its prefix', async () => {
    const own = await site.key();
    const valid = await token({}, 'ann', own);
    expect(await readStatus(valid)).toBe(200);
    for (const invalid of [valid.slice(4), `${valid}x`, valid.replace('pst_', 'psk_'), 'pst_'])
      expect(await readStatus(invalid)).toBe(401);
    const oauth = await site.agentToken();
    expect([await readStatus(oauth), await readStatus(`pst_${oauth}`)]).toEqual([200, 401]);
    await createApi(site.app, own.secret)('delete', `/api-keys/${own.id}/tokens?subject=ann`);
    expect(await readStatus(valid)).toBe(401);
    const next = await token({}, 'ann', own);
    expect(await readStatus(next)).toBe(200);
    await createApi(site.app, key.secret)('delete', `/api-keys/${own.id}`);
    expect(await readStatus(next)).toBe(401);
  });
});

it('the rate limit is counted per key and subject', async () => {
  const limited = await openMcpSite({ records: false, settings: { rateLimitPerMinute: 20 } });
  onTestFinished(() => limited.close());
  const made = await limited.key();
  const tokens = (subject?: string) =>
    createApi(limited.app, made.secret)('post', `/api-keys/${made.id}/tokens`, {
      tokens: [{ scopes: {}, subject }],
    });
  const [ann, again, bob, unnamed] = (
    await Promise.all([tokens('ann'), tokens('ann'), tokens('bob'), tokens()])
  ).map(({ body }): string => body.tokens[0].token);
  const spend = async (credential = '') => (await limited.post(list, bearer(credential))).status;
  for (let count = 0; count < 20; count += 1) expect(await spend(count % 2 === 0 ? ann : again)).toBe(200);
  const statuses: number[] = [];
  for (const credential of [ann, again, bob, unnamed, made.secret]) statuses.push(await spend(credential));
  expect(statuses).toEqual([429, 429, 200, 200, 200]);
});
