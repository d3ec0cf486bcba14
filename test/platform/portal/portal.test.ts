// Field mappings, sidebar and pages of an organization with synced invoices.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createId } from '../../../src/core/id.ts';
import { tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { loadInvoices } from '../../public/fixture.ts';
import { listCodes, listIds, listProblems, pluck } from '../../setup/api.ts';
import { type Organization, useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization();
let other: Organization;

beforeAll(async () => {
  other = await org.another();
  for (const { id } of [org, other]) await loadInvoices(org.ctx, id, [{ id: 1, tranid: 'INV-1' }]);
});
const emptied = ['portal_field_mappings', 'portal_sidebars', 'portal_pages', 'views'];
beforeEach(async () => {
  for (const table of emptied) await org.sql((tx) => tx(table).where({ organization_id: org.id }).delete());
});

/** Inserted directly, since only its owner could create a private one. */
async function view(
  of: Organization,
  visibility: 'private' | 'organization' = 'organization',
): Promise<string> {
  const row = {
    organization_id: of.id,
    owner_id: of.owner.id,
    name: 'View',
    record_type: 'invoice',
    columns: ['tranid'],
    visibility,
  };
  const id = createId();
  await of.sql((tx) => tx('views').insert({ ...row, id }));
  return id;
}
const page = async (slug: string, blocks: object[] = []): Promise<string> =>
  (await org.api('post', '/portal/pages', { slug, title: 'Page', blocks })).body.id;
const setState = (source: string, state: string) =>
  org.ctx.db.data.query(`update ${tenantSchema(org.id)}.record_columns set state = $2 where field = $1`, [
    source,
    state,
  ]);

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
        id: expect.any(String),
        recordType: 'invoice',
        fields: [
          { ...total, visible: false, position: 0 },
          { source: 'entity.name', label: 'Customer', format: null, visible: true, position: 1 },
          { source: 'tranid', label: 'Number', format: null, visible: true, position: 2 },
        ],
        problems: [],
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    ]);
    const at = `/portal/field-mappings/${made.body.id}`;
    expect((await org.api('get', at)).body).toEqual(made.body);
    expect((await org.api('get', '/portal/field-mappings?recordType=invoice')).body.data).toEqual([
      made.body,
    ]);
    expect((await org.api('get', '/portal/field-mappings?recordType=item')).body.pagination.total).toBe(0);
    expect(listCodes(await make([total]))).toEqual(['taken']);
    expect((await org.api('patch', at, { fields: [total] })).body.fields).toEqual([
      { ...total, visible: true, position: 0 },
    ]);
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
    expect(listProblems(await make([{ source: 'x', label: 'x' }], 'constructor'))).toEqual([
      'recordType unknown_record_type',
    ]);
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
  const groups = (depth: number): object => ({
    label: 'G',
    kind: 'group',
    children: depth === 1 ? [] : [groups(depth - 1)],
  });

  it('is empty at first, is stored as a whole, and is replaced only at the given revision', async () => {
    expect((await org.api('get', '/portal/sidebar')).body).toEqual({
      items: [],
      revision: 0,
      problems: [],
      updatedAt: null,
    });
    const [viewId, pageId] = [await view(org), await page('home')];
    const items = [
      leaf,
      {
        label: 'More',
        kind: 'group',
        children: [
          { label: 'V', kind: 'view', target: viewId },
          { label: 'P', kind: 'page', target: 'home' },
        ],
      },
    ];
    const stored = await put(items, 0);
    const shown = (item: object) => ({ icon: null, children: [], ...item });
    expect([stored.status, stored.body]).toEqual([
      200,
      {
        items: [
          shown(leaf),
          {
            ...shown({ label: 'More', kind: 'group', target: null }),
            children: [
              shown({ label: 'V', kind: 'view', target: viewId }),
              shown({ label: 'P', kind: 'page', target: pageId }),
            ],
          },
        ],
        revision: 1,
        problems: [
          { path: 'items[1].children[1].target', code: 'not_published', message: expect.any(String) },
        ],
        updatedAt: expect.any(String),
      },
    ]);
    expect(listCodes(await put([], 0))).toEqual(['stale_revision']);
    expect(listCodes(await put([], 7))).toEqual(['stale_revision']);
    // A new slug breaks nothing: pages are stored by id.
    await org.api('patch', `/portal/pages/${pageId}`, { slug: 'start' });
    await org.api('post', `/portal/pages/${pageId}/publish`, { revision: 2 });
    expect((await org.api('get', '/portal/sidebar')).body.problems).toEqual([]);
    // Of two concurrent requests one is stored and one is rejected.
    const both = await Promise.all([put([leaf], 1), put([], 1)]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 422]);
    expect((await put([])).body.revision).toBe(3);
  });

  it('422 for more than four levels, 200 items or 64 KiB', async () => {
    expect((await put([groups(4)])).status).toBe(200);
    expect((await put([groups(5)])).status).toBe(422);
    const many = (count: number, label = 'x') => Array.from({ length: count }, () => ({ ...leaf, label }));
    expect((await put([{ label: 'G', kind: 'group', children: many(199) }])).status).toBe(200);
    expect(listProblems(await put([{ label: 'G', kind: 'group', children: many(199) }, leaf]))).toEqual([
      'items too_big',
    ]);
    const long = Array.from({ length: 40 }, () => ({
      label: 'x',
      kind: 'link',
      target: `https://acme.example/${'x'.repeat(1_900)}`,
    }));
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
      ...[
        'javascript:alert(1)',
        'http://acme.example',
        '//acme.example',
        'https:acme',
        'https://me:pw@acme.example',
        'https://a b',
        ' https://acme.example',
        'https://',
      ].map((target): [object, string] => [{ kind: 'link', target }, 'target bad_address']),
    ];
    const answer = await put(wrong.map(([item]) => ({ label: 'x', ...item })));
    expect(listProblems(answer)).toEqual(wrong.map(([, problem], index) => `items[${index}].${problem}`));
    for (const item of [
      { ...leaf, icon: '<svg>' },
      { ...leaf, label: '' },
      { ...leaf, kind: 'code' },
      { ...leaf, extra: 1 },
    ])
      expect((await put([item])).status).toBe(422);
  });

  it('reports a target that no longer exists', async () => {
    const [viewId, pageId] = [await view(org), await page('gone')];
    await put([
      { label: 'V', kind: 'view', target: viewId },
      { label: 'P', kind: 'page', target: pageId },
    ]);
    await org.api('delete', `/views/${viewId}`);
    await org.api('delete', `/portal/pages/${pageId}`);
    expect(listProblems(await org.api('get', '/portal/sidebar'))).toEqual([
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
    const made = await org.api('post', '/portal/pages', { slug: 'home', title: 'Home', blocks });
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
    const first = (await org.api('post', `${at}/publish`, { revision: 1 })).body;
    expect(first).toMatchObject({
      status: 'published',
      published: { slug: 'home', title: 'Home', blocks },
      publishedRevision: 1,
    });
    const edited = (await org.api('patch', at, { title: 'New', slug: 'new', blocks: [text], revision: 1 }))
      .body;
    expect(edited).toMatchObject({
      title: 'New',
      slug: 'new',
      blocks: [text],
      revision: 2,
      published: first.published,
      publishedRevision: 1,
    });
    expect(listCodes(await org.api('patch', at, { title: 'x', revision: 1 }))).toEqual(['stale_revision']);
    expect(listCodes(await org.api('post', `${at}/publish`, { revision: 1 }))).toEqual(['stale_revision']);
    expect((await org.api('post', `${at}/publish`, { revision: 2 })).body.published).toEqual({
      slug: 'new',
      title: 'New',
      blocks: [text],
    });
    const hidden = (await org.api('patch', at, { status: 'draft' })).body;
    expect(hidden).toMatchObject({
      status: 'draft',
      published: null,
      publishedRevision: null,
      revision: 2,
      title: 'New',
    });
    expect((await org.api('delete', at)).status).toBe(204);
    for (const method of ['get', 'delete'] as const) expect((await org.api(method, at)).status).toBe(404);
  });

  it('have a unique slug among drafts and among published pages', async () => {
    const [a, b] = [await page('a'), await page('b')];
    expect(listCodes(await org.api('post', '/portal/pages', { slug: 'a', title: 'x' }))).toEqual(['taken']);
    expect(listCodes(await org.api('patch', `/portal/pages/${b}`, { slug: 'a' }))).toEqual(['taken']);
    await org.api('post', `/portal/pages/${a}/publish`, { revision: 1 });
    await org.api('patch', `/portal/pages/${a}`, { slug: 'c' });
    await org.api('patch', `/portal/pages/${b}`, { slug: 'a' });
    expect(listCodes(await org.api('post', `/portal/pages/${b}/publish`, { revision: 2 }))).toEqual([
      'slug_published',
    ]);
    expect((await other.owner.api('post', '/portal/pages', { slug: 'a', title: 'x' })).status).toBe(201);
  });

  it('are listed without blocks, newest first, by title and status', async () => {
    const [a, b] = [await page('a', [text]), await page('b')];
    await org.api('patch', `/portal/pages/${a}`, { title: '100% North' });
    await org.api('post', `/portal/pages/${b}/publish`, { revision: 1 });
    const ids = async (query: string) => listIds(await org.api('get', `/portal/pages?${query}`));
    expect([
      await ids(''),
      await ids('q=NORTH'),
      await ids('q=%25'),
      await ids('status=draft'),
      await ids('status=published'),
    ]).toEqual([[b, a], [a], [a], [a], [b]]);
    expect((await org.api('get', '/portal/pages')).body.data[1]).not.toHaveProperty('blocks');
  });

  it('are listed by the view that their draft or their published version shows', async () => {
    const [shown, viewId] = [await view(org), await view(org)];
    const [inDraft, published] = [
      await page('a', [{ type: 'view', viewId: shown }]),
      await page('b', [text, { type: 'view', viewId: shown }]),
    ];
    await page('c', [{ type: 'view', viewId }]);
    await org.api('post', `/portal/pages/${published}/publish`, { revision: 1 });
    await org.api('patch', `/portal/pages/${published}`, { blocks: [] });
    const { body } = await org.api('get', `/portal/pages?viewId=${shown}`);
    expect(pluck(body.data, 'id')).toEqual([published, inDraft]);
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
    expect(
      await refused(Array.from({ length: 14 }, () => ({ type: 'text', markdown: 'x'.repeat(19_999) }))),
    ).toEqual(['blocks too_big']);
    expect(
      await refused([
        { type: 'view', viewId: await view(org, 'private') },
        { type: 'view', viewId: await view(other) },
        { type: 'record-list', recordType: 'nothing' },
      ]),
    ).toEqual([
      'blocks[0].viewId unknown_view',
      'blocks[1].viewId unknown_view',
      'blocks[2].recordType unknown_record_type',
    ]);
  });

  it('report a view that no longer exists, and cannot be published with it', async () => {
    const viewId = await view(org);
    const id = await page('broken', [{ type: 'view', viewId }]);
    await org.api('delete', `/views/${viewId}`);
    expect(listProblems(await org.api('get', `/portal/pages/${id}`))).toEqual([
      'blocks[0].viewId unknown_view',
    ]);
    expect(listProblems(await org.api('post', `/portal/pages/${id}/publish`, { revision: 1 }))).toEqual([
      'blocks[0].viewId unknown_view',
    ]);
  });
});
