// Values of synced records in rejections and deletion proposals: masked without unmasked:read, and none
// without record:read.
import { afterEach, beforeAll, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { publishVersion } from '../../public/fixture.ts';
import { type Api, createApi, pluck, refusal, signedInApi } from '../../setup/api.ts';
import { testDatabase } from '../../setup/database.ts';
import { makeKey, makeMember, makeSession } from '../../setup/organization.ts';
import { useStarted } from '../../setup/use-started.ts';
import { datedFields, endOpenRuns, memoryErp, type SyncFixture, syncFixture } from '../../sync/fixture.ts';

const endpoint = {
  name: 'things',
  recordType: 'thing',
  fields: [
    { name: 'name', source: 'name', mask: 'hash' },
    { name: 'total', source: 'total' },
  ],
  filters: [],
  sorts: [],
};

const database = useStarted(() => testDatabase());
let fixture: SyncFixture;
let owner: Api;
let editor: Api;
let operator: Api;
beforeAll(async () => {
  const app = createApp(database.ctx);
  fixture = await syncFixture(database.ctx, memoryErp(datedFields));
  fixture.erp.shownAs = { number: 'total', name: 'name', date: null, amount: 'total' };
  for (let id = 1; id <= 60; id += 1) fixture.erp.put(id);
  await fixture.sync('full');
  await publishVersion(database.ctx, fixture.organizationId, { endpoints: [endpoint] });
  const session = async (userId: string) =>
    signedInApi(app, database.ctx, (await makeSession(database.ctx, userId, fixture.organizationId)).cookie);
  const member = async (role: string | readonly string[]) =>
    (await makeMember(database.ctx, fixture.organizationId, role)).id;
  owner = await session(await member('owner'));
  editor = await session(await member('editor'));
  operator = await session(await member(['sync:read', 'sync:approve-deletions']));
});
afterEach(() => endOpenRuns(database));

it('deletion proposals show labels as they are, masked, or not at all', async () => {
  for (let id = 1; id <= 30; id += 1) fixture.erp.records.delete(String(id));
  await fixture.sync('incremental');
  const { proposalId } = (await owner('get', `/sync-configs/${fixture.configId}`)).body.heldDeletions;
  const first = async (api: Api) =>
    (await api('get', `/sync-configs/${fixture.configId}/deletion-proposals/${proposalId}?limit=1`)).body;
  const common = { id: '1', lastSeenAt: expect.any(String), date: null, referencedBy: [] };
  expect((await first(owner)).records).toEqual([
    { ...common, number: '1.50', name: 'name 1', amount: '1.50' },
  ]);
  const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
  expect((await first(editor)).records).toEqual([{ ...common, number: '1.50', name: hash, amount: '1.50' }]);
  const seen = await first(operator);
  expect(seen.records).toEqual([{ ...common, number: null, name: null, amount: null }]);
  expect(seen).toMatchObject({ count: 30, evidence: { rows: 60 } });
});

it('rejections show messages that may hold a masked value to holders of unmasked:read only, and none without record:read', async () => {
  const messages: Record<string, [code: string, message: string]> = {
    '91': ['VALUE_UNSTORABLE', 'The database rejected a value: "Quagmire"'],
    '92': ['VALUE_UNREADABLE', 'name "Quagmire" is odd'],
    '93': ['VALUE_UNREADABLE', 'the label of name is odd'],
    '94': ['VALUE_UNREADABLE', 'total is not a number'],
  };
  for (const [id, [code, message]] of Object.entries(messages))
    fixture.erp.rejects.set(id, { id, code, message });
  const run = await fixture.sync('incremental');
  const shown = async (api: Api, path: string): Promise<string[]> =>
    pluck((await api('get', path)).body.data, 'message');
  const all = Object.values(messages).map(([, message]) => message);
  const hidden = 'A value of the record could not be stored; you may not read what is wrong with it';
  for (const path of [`/sync-configs/${fixture.configId}/rejections`, `/sync-runs/${run.id}/rejections`]) {
    expect(await shown(owner, path)).toEqual(all);
    expect(await shown(editor, path)).toEqual([hidden, hidden, hidden, 'total is not a number']);
    expect(await shown(operator, path)).toEqual([hidden, hidden, hidden, hidden]);
  }
});

it('a restricted key reaches neither', async () => {
  const scopes = { permissions: ['write'], versions: ['v1'] };
  const { secret } = await makeKey(database.ctx, fixture.organizationId, scopes);
  const api = createApi(createApp(database.ctx), secret);
  for (const path of ['rejections', 'deletion-proposals']) {
    const asked = api('get', `/sync-configs/${fixture.configId}/${path}`);
    expect([path, ...(await refusal(asked))]).toEqual([path, 403, 'restricted_key']);
  }
});
