// Views and template previews under masks and without `record:read`: a version masks three fields that a view
// shows.
import { beforeAll, describe, expect, it } from 'vitest';
import { createId } from '../../../src/core/id.ts';
import { fieldsWith, invoicesEndpoint, loadInvoices, publishVersion } from '../../public/fixture.ts';
import { type Answer, type Api, createApi, listIds, listProblems, pluck, refusal } from '../../setup/api.ts';
import { makeKey } from '../../setup/organization.ts';
import { useOrganization } from '../../setup/use-organization.ts';

const masks = { number: { mask: 'last4' }, customerName: { mask: 'hash' }, date: { mask: 'year' } };
const endpoint = { ...invoicesEndpoint, fields: fieldsWith(masks) };
const rows = [
  { id: 1, tranid: 'INV-20017', entityName: 'Quagmire Shipping', trandate: '2026-01-31', total: '12.50' },
  { id: 2, tranid: 'INV-9', entityName: 'Zephyr Bakery', trandate: '2025-06-01', total: '7' },
];
const secrets = /INV|Quagmire|Zephyr|01-31|06-01/;

const org = useOrganization();
let owner: Api;
let viewer: Api;
let withoutRecords: Api;
let viewId: string;

beforeAll(async () => {
  await loadInvoices(org.ctx, org.id, rows);
  await publishVersion(org.ctx, org.id, { endpoints: [endpoint] });
  owner = await org.session(org.owner.id);
  viewer = (await org.join('viewer')).api;
  withoutRecords = (await org.join(['view:read', 'view:create', 'portal:read', 'portal:update'])).api;
  const columns = ['tranid', 'entity.name', 'trandate', 'total'];
  viewId = await make({ columns, sort: [{ field: 'id', direction: 'asc' }] });
});

async function make(given: object): Promise<string> {
  const shared = { name: 'Invoices', recordType: 'invoice', visibility: 'organization' };
  const made = await owner('post', '/views', { ...shared, ...given });
  expect(made.status, made.text).toBe(201);
  return made.body.id;
}
const read = (api: Api, id = viewId, query = ''): Promise<Answer> =>
  api('get', `/views/${id}/records${query}`);
const csv = (api: Api, id = viewId, query = ''): Promise<Answer> =>
  api('get', `/views/${id}/records${query}`, undefined, { accept: 'text/csv' });
const plain = [
  { id: '1', tranid: 'INV-20017', 'entity.name': 'Quagmire Shipping', trandate: '2026-01-31', total: 12.5 },
  { id: '2', tranid: 'INV-9', 'entity.name': 'Zephyr Bakery', trandate: '2025-06-01', total: 7 },
];
const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
const masked = [
  { id: '1', tranid: '****0017', 'entity.name': hash, trandate: '2026', total: 12.5 },
  { id: '2', tranid: '****', 'entity.name': hash, trandate: '2025', total: 7 },
];
const unmaskedKey = async (): Promise<Api> =>
  createApi(org.app, (await makeKey(org.ctx, org.id, { unmasked: true })).secret);

describe('GET /views/{id}/records', () => {
  it('shows masked fields as they are with unmasked:read, and to a key that was given that', async () => {
    for (const api of [owner, await unmaskedKey()]) {
      expect((await read(api)).body.data).toEqual(plain);
      expect((await csv(api)).text).toContain('INV-20017,Quagmire Shipping,2026-01-31,12.50');
    }
  });

  it("masks them for a viewer, for the owner's key, and in what a link of a mail opens", async () => {
    for (const [api, query] of [
      [viewer, ''],
      [viewer, '?masked=false'],
      [org.api, ''],
      [owner, '?masked=true'],
    ] as const) {
      const [json, file] = [await read(api, viewId, query), await csv(api, viewId, query)];
      expect(json.body.data).toEqual(masked);
      expect(pluck(json.body.columns, 'type')).toEqual(['text', 'text', 'text', 'number']);
      expect(file.text).toMatch(/^1,\*\*\*\*0017,[0-9a-f]{64},2026,12\.50\r$/m);
      for (const answer of [json, file]) expect(answer.text).not.toMatch(secrets);
    }
  });

  it('without record:read is 403, though the view is visible', async () => {
    for (const answer of [await read(withoutRecords), await csv(withoutRecords)]) {
      expect(await refusal(answer)).toEqual([403, 'record_read_needed']);
      expect(answer.body.error.message).toBe('Missing required permission: record:read');
    }
    expect((await withoutRecords('get', `/views/${viewId}`)).status).toBe(200);
  });
});

describe('filters and sorts by masked fields', () => {
  const filter = { field: 'entity.name', operator: 'starts_with', value: 'Qu' };
  const sort = [{ field: 'tranid', direction: 'asc' }];

  it('422 for someone who sees the field masked, in a new view and in a changed one', async () => {
    const editor = (await org.join('editor')).api;
    const body = { name: 'Mine', recordType: 'invoice', columns: ['total'], filters: [filter], sort };
    const refused = await editor('post', '/views', body);
    expect([refused.status, ...listProblems(refused)]).toEqual([
      ...[422, 'filters[0].field masked_field', 'sort[0].field masked_field'],
    ]);
    const own = (await editor('post', '/views', { ...body, filters: [], sort: [] })).body.id;
    const filtered = editor('patch', `/views/${own}`, { filters: [filter] });
    expect(await refusal(filtered)).toEqual([422, 'masked_field']);
    expect((await editor('patch', `/views/${own}`, { name: 'Still mine' })).status).toBe(200);
  });

  it('hold the records back from readers who see the field masked, and such a sort is skipped', async () => {
    const filtered = await make({ columns: ['total'], filters: [filter] });
    expect((await read(owner, filtered)).body.data).toEqual([{ id: '1', total: 12.5 }]);
    const held = await read(viewer, filtered);
    expect([held.body.data, held.body.pagination.total]).toEqual([[], 0]);
    expect(listProblems(held)).toEqual(['filters[0].field masked_field']);
    expect(await refusal(csv(viewer, filtered))).toEqual([422, 'masked_field']);
    const sorted = await make({ columns: ['total'], sort: [{ field: 'tranid', direction: 'desc' }] });
    expect(listIds(await read(owner, sorted))).toEqual(['2', '1']);
    const skipped = await read(viewer, sorted);
    expect([listIds(skipped), listProblems(skipped)]).toEqual([['1', '2'], ['sort[0].field masked_field']]);
  });
});

describe('POST /portal/templates/{id}/preview', () => {
  const body =
    '{{ record.tranid }} {{ labels.entity }} {{ record.trandate }}|{% for row in rows %}{{ row.cells[0] }} {{ row.record.trandate }};{% endfor %}';
  const makeTemplate = async (): Promise<string> => {
    const template = { key: `t-${createId()}`, kind: 'email', subject: 'S', body };
    return `/portal/templates/${(await owner('post', '/portal/templates', template)).body.id}/preview`;
  };
  const preview = async (api: Api, input: object): Promise<Answer> =>
    api('post', await makeTemplate(), input);
  const record = { recordType: 'invoice', recordId: '1' };

  it('masks the record for people without unmasked:read, and the view as in every mail', async () => {
    const asked = { ...record, viewId };
    expect((await preview(owner, asked)).body.html).toBe(
      'INV-20017 Quagmire Shipping 2026-01-31|****0017 2026;**** 2025;',
    );
    const editor = (await org.join('editor')).api;
    const { html } = (await preview(editor, asked)).body;
    expect(html).toMatch(/^\*\*\*\*0017 [0-9a-f]{64} 2026\|\*\*\*\*0017 2026;\*\*\*\* 2025;$/);
  });

  it('is not replayed for a key that has come to read masked, nor without record:read', async () => {
    const { id: keyId, secret } = await makeKey(org.ctx, org.id, { permissions: ['write'], unmasked: true });
    const path = await makeTemplate();
    const once = { 'idempotency-key': 'once' };
    const again = () => createApi(org.app, secret)('post', path, record, once);
    expect((await again()).body.html).toContain('INV-20017');
    const replayed = await again();
    expect(replayed.headers['idempotency-replayed']).toBe('true');
    expect(replayed.body.html).toContain('INV-20017');
    await org.admin('api_keys').where('id', keyId).update({ scope_unmasked: false });
    const later = await again();
    expect(await refusal(later)).toEqual([422, 'key_reused']);
    expect(later.text).not.toMatch(secrets);
  });

  it('with a record or a view needs record:read; without them it does not', async () => {
    for (const asked of [record, { viewId }])
      expect(await refusal(preview(withoutRecords, asked))).toEqual([403, 'record_read_needed']);
    expect((await preview(withoutRecords, {})).status).toBe(200);
  });
});

it('GET /permissions names the operations that read records', async () => {
  const { data } = (await owner('get', `${org.at}/permissions?q=record:read`)).body;
  const [entry] = data.filter(({ name }: { name: string }) => name === 'record:read');
  expect(entry.operations).toEqual(
    expect.arrayContaining(['listViewRecords', 'createMessage', 'listMessages', 'createSubscription']),
  );
});
