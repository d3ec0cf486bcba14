// Field mappings, sidebar and pages of an organization with synced invoices.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createId } from '../../../src/core/id.ts';
import { tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { loadInvoices } from '../../public/fixture.ts';
import { listIds, listProblems, refusal } from '../../setup/api.ts';
import { type Organization, useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization();
let other: Organization;

beforeAll(async () => {
  other = await org.another();
  for (const { id } of [org, other]) await loadInvoices(org.ctx, id, [{ id: 1, tranid: 'INV-1' }]);
});
const emptied = ['portal_field_mappings', 'portal_sidebars', 'portal_pages', 'views'];
beforeEach(async () => {
  for (const table of emptied) await org.admin(table).where({ organization_id: org.id }).delete();
});

/** Inserted directly, since only its owner could create a private one. */
async function view(of: Organization, visibility = 'organization'): Promise<string> {
  const id = createId();
  const own = { id, organization_id: of.id, owner_id: of.owner.id, visibility };
  await org.admin('views').insert({ ...own, name: 'View', record_type: 'invoice', columns: ['tranid'] });
  return id;
}
const page = async (slug: string, blocks: object[] = []): Promise<string> =>
  (await org.api('post', '/portal/pages', { slug, title: 'Page', blocks })).body.id;
const change = (id: string, body: object) => org.api('patch', `/portal/pages/${id}`, body);
const publish = (id: string, revision = 1) => org.api('post', `/portal/pages/${id}/publish`, { revision });
const setState = (source: string, state: string) =>
  org
    .admin(`${tenantSchema(org.id)}.record_columns`)
    .where({ field: source })
    .update({ state });

describe('/portal/field-mappings', () => {
  const make = (fields: object[], recordType = 'invoice') =>
    org.api('post', '/portal/field-mappings', { recordType, fields });
  const total = { source: 'total', label: 'Total', format: { type: 'currency', currency: 'EUR', digits: 2 } };

  it('are created, retrieved, updated and deleted, with their fields ordered by position', async () => {
    const made = await make([
      { source: 'tranid', label: ' Number ', position: 9 },
      { ...total, position: 2, visible: false },
      { source: 'entity.name', label: 'Customer', position: 4 },
    ]);
    expect([made.status, made.body]).toEqual([
      201,
      {
        ...{ id: expect.any(String), recordType: 'invoice', problems: [] },
        fields: [
          { ...total, visible: false, position: 0 },
          { source: 'entity.name', label: 'Customer', format: null, visible: true, position: 1 },
          { source: 'tranid', label: 'Number', format: null, visible: true, position: 2 },
        ],
        ...{ createdAt: expect.any(String), updatedAt: expect.any(String) },
      },
    ]);
    const at = `/portal/field-mappings/${made.body.id}`;
    expect((await org.api('get', at)).body).toEqual(made.body);
    const list = async (type: string) =>
      (await org.api('get', `/portal/field-mappings?recordType=${type}`)).body;
    expect((await list('invoice')).data).toEqual([made.body]);
    expect((await list('item')).pagination.total).toBe(0);
    expect(await refusal(make([total]))).toEqual([422, 'taken']);
    const { fields } = (await org.api('patch', at, { fields: [total] })).body;
    expect(fields).toEqual([{ ...total, visible: true, position: 0 }]);
    expect((await org.api('patch', at, {})).body.fields).toHaveLength(1);
    expect((await org.api('delete', at)).status).toBe(204);
    for (const method of ['get', 'delete'] as const) expect((await org.api(method, at)).status).toBe(404);
  });

  it('422 for fields that are not synced, formats that do not fit, and duplicates', async () => {
    const wrong = await make([
      { source: 'nothing', label: 'A' },
      { source: 'trandate', label: 'B', format: { type: 'number', digits: 2 } },
      { source: 'lines', label: 'C', format: { type: 'text' } },
      { source: 'tranid', label: 'D', position: 3 },
      { source: 'tranid', label: 'E', position: 3 },
    ]);
    expect([wrong.status, listProblems(wrong)]).toEqual([
      422,
      [
        'fields[0].source unknown_source',
        'fields[1].format format_does_not_fit',
        'fields[2].format format_does_not_fit',
        'fields[4].source duplicate',
        'fields[4].position duplicate',
      ],
    ]);
    const unknown = await make([{ source: 'x', label: 'x' }], 'constructor');
    expect(listProblems(unknown)).toEqual(['recordType unknown_record_type']);
  });

  it('report a field that vanished, and can still be read and updated', async () => {
    const { id } = (await make([total, { source: 'status', label: 'Status' }])).body;
    await setState('status', 'vanished');
    const at = `/portal/field-mappings/${id}`;
    expect(listProblems(await org.api('get', at))).toEqual(['fields[1].source unknown_source']);
    expect((await org.api('get', '/portal/field-mappings')).body.data[0].problems).toHaveLength(1);
    expect((await org.api('patch', at, { fields: [total] })).body.problems).toEqual([]);
    await setState('status', 'live');
  });
});

describe('/portal/sidebar', () => {
  const put = (items: unknown, revision?: number) =>
    org.api('put', '/portal/sidebar', { items, ...(revision !== undefined && { revision }) });
  const leaf = { label: 'Invoices', icon: 'file-text', kind: 'record-type', target: 'invoice' };
  const group = (label: string, children: object[]) => ({ label, kind: 'group', children });
  const groups = (depth: number): object => group('G', depth === 1 ? [] : [groups(depth - 1)]);
  const read = () => org.api('get', '/portal/sidebar');

  it('is empty at first, is stored as a whole, and is replaced only at the given revision', async () => {
    const empty = { items: [], revision: 0, problems: [], updatedAt: null };
    expect((await read()).body).toEqual(empty);
    const [viewId, pageId] = [await view(org), await page('home')];
    const more = (pageTarget: string) => [
      { label: 'V', kind: 'view', target: viewId },
      { label: 'P', kind: 'page', target: pageTarget },
    ];
    const stored = await put([leaf, group('More', more('home'))], 0);
    const shown = (item: object) => ({ icon: null, children: [], target: null, ...item });
    const code = 'not_published';
    expect([stored.status, stored.body]).toEqual([
      200,
      {
        items: [shown(leaf), shown(group('More', more(pageId).map(shown)))],
        revision: 1,
        problems: [{ path: 'items[1].children[1].target', code, message: expect.any(String) }],
        updatedAt: expect.any(String),
      },
    ]);
    for (const revision of [0, 7]) expect(await refusal(put([], revision))).toEqual([422, 'stale_revision']);
    // A new slug breaks nothing: pages are stored by id.
    await change(pageId, { slug: 'start' });
    await publish(pageId, 2);
    expect((await read()).body.problems).toEqual([]);
    // Of two concurrent requests one is stored and one is rejected.
    const both = await Promise.all([put([leaf], 1), put([], 1)]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 422]);
    expect((await put([])).body.revision).toBe(3);
  });

  it('422 for more than four levels, 200 items or 64 KiB', async () => {
    expect((await put([groups(4)])).status).toBe(200);
    expect((await put([groups(5)])).status).toBe(422);
    const many = (count: number, label = 'x') => Array.from({ length: count }, () => ({ ...leaf, label }));
    expect((await put([group('G', many(199))])).status).toBe(200);
    expect(listProblems(await put([group('G', many(199)), leaf]))).toEqual(['items too_big']);
    const target = `https://acme.example/${'x'.repeat(1_900)}`;
    const long = Array.from({ length: 40 }, () => ({ label: 'x', kind: 'link', target }));
    expect(listProblems(await put(long))).toEqual(['items too_big']);
  });

  it('422 for targets that do not exist, are missing, or belong to someone else', async () => {
    const [foreign, secret] = [await view(other), await view(org, 'private')];
    const wrong: [object, string][] = [
      [{ kind: 'view', target: foreign }, 'target unknown_view'],
      [{ kind: 'view', target: secret }, 'target unknown_view'],
      [{ kind: 'view', target: 'no id' }, 'target unknown_view'],
      [{ kind: 'page', target: 'nowhere' }, 'target unknown_page'],
      [{ kind: 'record-type', target: 'constructor' }, 'target unknown_record_type'],
      [{ kind: 'link' }, 'target target_needed'],
      [{ kind: 'group', target: 'x' }, 'target no_target'],
      [{ ...leaf, children: [leaf] }, 'children no_group'],
      ...['javascript:alert(1)', 'http://acme.example', '//acme.example', 'https:acme']
        .concat('https://me:pw@acme.example', 'https://a b', ' https://acme.example', 'https://')
        .map((target): [object, string] => [{ kind: 'link', target }, 'target bad_address']),
    ];
    const answer = await put(wrong.map(([item]) => ({ label: 'x', ...item })));
    expect(listProblems(answer)).toEqual(wrong.map(([, problem], index) => `items[${index}].${problem}`));
    for (const wrong of [{ icon: '<svg>' }, { label: '' }, { kind: 'code' }, { extra: 1 }])
      expect((await put([{ ...leaf, ...wrong }])).status).toBe(422);
  });

  it('reports a target that no longer exists', async () => {
    const [viewId, pageId] = [await view(org), await page('gone')];
    await put([
      { label: 'V', kind: 'view', target: viewId },
      { label: 'P', kind: 'page', target: pageId },
    ]);
    await org.api('delete', `/views/${viewId}`);
    await org.api('delete', `/portal/pages/${pageId}`);
    expect(listProblems(await read())).toEqual([
      'items[0].target unknown_view',
      'items[1].target unknown_page',
    ]);
  });
});

describe('/portal/pages', () => {
  const text = { type: 'text', markdown: 'Hello *you*' };

  it('are drafts until they are published, and visitors see the published version until the next one', async () => {
    const viewId = await view(org);
    const blocks = [
      { type: 'heading', level: 1, text: 'Hello' },
      text,
      { type: 'view', viewId, title: null, pageSize: 25 },
      { type: 'record-list', recordType: 'invoice', title: 'All', pageSize: 10 },
      { type: 'link', label: 'Terms', url: 'https://acme.example/terms' },
      { type: 'image', url: 'https://acme.example/a.png', alt: '' },
    ];
    const home = { slug: 'home', title: 'Home', blocks };
    const made = await org.api('post', '/portal/pages', home);
    const { id } = made.body;
    expect([made.status, made.body]).toMatchObject([
      201,
      {
        slug: 'home',
        blocks,
        status: 'draft',
        revision: 1,
        published: null,
        problems: [],
        publishedAt: null,
      },
    ]);
    const at = `/portal/pages/${id}`;
    const first = (await publish(id)).body;
    expect(first).toMatchObject({ status: 'published', published: home, publishedRevision: 1 });
    const next = { title: 'New', slug: 'new', blocks: [text] };
    expect((await change(id, { ...next, revision: 1 })).body).toMatchObject({
      ...{ ...next, revision: 2, published: first.published, publishedRevision: 1 },
    });
    for (const stale of [change(id, { title: 'x', revision: 1 }), publish(id, 1)])
      expect(await refusal(stale)).toEqual([422, 'stale_revision']);
    expect((await publish(id, 2)).body.published).toEqual(next);
    expect((await change(id, { status: 'draft' })).body).toMatchObject({
      ...{ status: 'draft', published: null, publishedRevision: null, revision: 2, title: 'New' },
    });
    expect((await org.api('delete', at)).status).toBe(204);
    for (const method of ['get', 'delete'] as const) expect((await org.api(method, at)).status).toBe(404);
  });

  it('have a unique slug among drafts and among published pages', async () => {
    const [a, b] = [await page('a'), await page('b')];
    const taken = [422, 'taken'];
    expect(await refusal(org.api('post', '/portal/pages', { slug: 'a', title: 'x' }))).toEqual(taken);
    expect(await refusal(change(b, { slug: 'a' }))).toEqual(taken);
    await publish(a);
    await change(a, { slug: 'c' });
    await change(b, { slug: 'a' });
    expect(await refusal(publish(b, 2))).toEqual([422, 'slug_published']);
    expect((await other.owner.api('post', '/portal/pages', { slug: 'a', title: 'x' })).status).toBe(201);
  });

  it('are listed without blocks, newest first, by title and status', async () => {
    const [a, b] = [await page('a', [text]), await page('b')];
    await change(a, { title: '100% North' });
    await publish(b);
    const ids = async (query: string) => listIds(await org.api('get', `/portal/pages?${query}`));
    expect(await ids('')).toEqual([b, a]);
    for (const query of ['q=NORTH', 'q=%25', 'status=draft'])
      expect([query, await ids(query)]).toEqual([query, [a]]);
    expect(await ids('status=published')).toEqual([b]);
    expect((await org.api('get', '/portal/pages')).body.data[1]).not.toHaveProperty('blocks');
  });

  it('are listed by the view that their draft or their published version shows', async () => {
    const [shown, viewId] = [await view(org), await view(org)];
    const inDraft = await page('a', [{ type: 'view', viewId: shown }]);
    const published = await page('b', [text, { type: 'view', viewId: shown }]);
    await page('c', [{ type: 'view', viewId }]);
    await publish(published);
    await change(published, { blocks: [] });
    expect(listIds(await org.api('get', `/portal/pages?viewId=${shown}`))).toEqual([published, inDraft]);
    expect((await other.owner.api('get', `/portal/pages?viewId=${shown}`)).body.data).toEqual([]);
  });

  it('422 for blocks that are not valid, too many, too large, or show what does not exist', async () => {
    const refused = async (blocks: object[]) => {
      const answer = await org.api('post', '/portal/pages', { slug: `p-${createId()}`, title: 'x', blocks });
      expect(answer.status, JSON.stringify(blocks).slice(0, 100)).toBe(422);
      return listProblems(answer);
    };
    for (const block of [
      { type: 'image', url: 'data:image/png;base64,x', alt: 'x' },
      { type: 'link', label: 'x', url: 'javascript:alert(1)' },
      { type: 'link', label: 'x', url: 'https://example.test/"onmouseover="x' },
      { type: 'link', label: 'x', url: 'https://example.test/\u202e' },
    ])
      await refused([block]);
    const long = Array.from({ length: 14 }, () => ({ type: 'text', markdown: 'x'.repeat(19_999) }));
    expect(await refused(long)).toEqual(['blocks too_big']);
    const hidden = [
      { type: 'view', viewId: await view(org, 'private') },
      { type: 'view', viewId: await view(other) },
      { type: 'record-list', recordType: 'nothing' },
    ];
    expect(await refused(hidden)).toEqual([
      'blocks[0].viewId unknown_view',
      'blocks[1].viewId unknown_view',
      'blocks[2].recordType unknown_record_type',
    ]);
  });

  it('report a view that no longer exists, and cannot be published with it', async () => {
    const viewId = await view(org);
    const id = await page('broken', [{ type: 'view', viewId }]);
    await org.api('delete', `/views/${viewId}`);
    for (const answer of [await org.api('get', `/portal/pages/${id}`), await publish(id)])
      expect(listProblems(answer)).toEqual(['blocks[0].viewId unknown_view']);
  });
});
