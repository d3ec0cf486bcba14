// Fields with several choices: their ids and names as lists in new versions, one joined text in those
// published before.
import { beforeAll, describe, expect, it } from 'vitest';
import { inTransaction } from '../../src/db/transaction.ts';
import { listProblems } from '../setup/api.ts';
import { makeKey } from '../setup/organization.ts';
import { useCompany } from './company.ts';

/**
 * The entries of the account's list of colours. One name has the separator of the joined text, and two are
 * the same.
 */
const colours = new Map([
  ['1', 'Red'],
  ['2', 'Ivory'],
  ['3', 'Pink, pale'],
  ['6', 'Blue'],
  ['7', 'Green'],
  ['8', 'Red'],
]);

const plain = { name: 'interests', source: 'custentity_interests' };
const ids = { name: 'interestIds', source: 'custentity_interests', as: 'list' };
const names = { name: 'interestNames', source: 'custentity_interests.name', as: 'list' };
const endpoint = {
  name: 'customers',
  recordType: 'customer',
  description: '',
  fields: [{ name: 'name', source: 'companyname' }, plain, ids, names],
  filters: [
    { field: 'interestIds', operators: ['eq', 'all', 'not', 'null'] },
    { field: 'interests', operators: ['eq'] },
  ],
  groups: ['interestIds', 'interestNames'],
  or: true,
  maxPageSize: 1000,
};

const company = useCompany({ erp: { profile: 'single' } });
beforeAll(async () => {
  for (const type of ['customer', 'creditMemo']) await company.expectSuccess(type, 'incremental');
  expect(await company.publish([endpoint])).toBe('v1');
});

/** The chosen ids by customer, as the account has them; null without any. */
async function chosen(): Promise<Map<string, string[] | null>> {
  const records = await company.truth('customer');
  return new Map(records.map(({ id, fields }) => [id, fields['custentity_interests']?.split(', ') ?? null]));
}
const toNames = (entries: readonly string[] | null) => entries?.map((id) => colours.get(id) ?? null) ?? null;
const list = async (query: string): Promise<string[]> => {
  const { status, text } = await company.read(`/v1/customers?fields=name&${query}`, {
    accept: 'application/x-ndjson',
  });
  expect(status, text).toBe(200);
  return text === ''
    ? []
    : text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).id);
};
const idsWhere = async (matches: (entries: readonly string[] | null) => boolean): Promise<string[]> =>
  [...(await chosen())].filter(([, entries]) => matches(entries)).map(([id]) => id);
const inOrder = (some: readonly string[]) => some.toSorted((a, b) => Number(a) - Number(b));

describe('as lists', () => {
  it('are the ids and the names of all that was chosen, in its order', async () => {
    const served = await company.readAll('v1/customers');
    const truth = await chosen();
    expect(served).toHaveLength(truth.size);
    for (const { id, interests, interestIds, interestNames } of served) {
      const entries = truth.get(id) ?? null;
      expect([id, interests, interestIds, interestNames]).toEqual([
        id,
        entries?.join(', ') ?? null,
        entries?.map(Number) ?? null,
        toNames(entries),
      ]);
    }
    expect(served.some(({ interestNames }) => interestNames?.includes('Pink, pale'))).toBe(true);
  });

  it('are found by one entry, by any of several, by all of several, and by none', async () => {
    const has =
      (...wanted: string[]) =>
      (entries: readonly string[] | null) =>
        wanted.some((id) => entries?.includes(id) === true);
    const cases: [string, (entries: readonly string[] | null) => boolean][] = [
      ['interestIds=3', has('3')],
      ['interestIds=3&interestIds=8', has('3', '8')],
      ['interestIds=999', () => false],
      ['interestIds_all=3&interestIds_all=8', (entries) => has('3')(entries) && has('8')(entries)],
      ['interestIds_all=3', has('3')],
      ['interestIds_not=3', (entries) => !has('3')(entries)],
      ['interestIds_null=true', (entries) => entries === null],
      ['or=(interestIds:all:3,interestIds:null:true)', (entries) => entries === null || has('3')(entries)],
    ];
    for (const [query, matches] of cases) {
      const wanted = await idsWhere(matches);
      expect(inOrder(await list(query)), query).toEqual(inOrder(wanted));
    }
  });

  it('are summarized by entry, with a record in the group of each of its entries', async () => {
    const truth = [...(await chosen()).values()];
    const summary = async (by: string) => (await company.read(`/v1/customers/summary?by=${by}`)).body.data;
    const counts = new Map<string | null, number>();
    for (const entries of truth)
      for (const entry of entries ?? [null]) counts.set(entry, (counts.get(entry) ?? 0) + 1);
    const rows: { interestIds: number | null; count: number }[] = await summary('interestIds');
    expect(
      new Map(
        rows.map(({ interestIds, count }) => [interestIds === null ? null : String(interestIds), count]),
      ),
    ).toEqual(counts);
    const reds = truth.filter((entries) => entries?.includes('1') || entries?.includes('8')).length;
    const byName: { interestNames: string | null; count: number }[] = await summary('interestNames');
    expect(byName.find(({ interestNames }) => interestNames === 'Red')?.count).toBe(reds);
  });

  it('are joined by semicolons in CSV, and arrays in NDJSON', async () => {
    const id =
      (await idsWhere((entries) => entries?.join() === '3,8' || (entries?.length ?? 0) > 2))[0] ?? '';
    const entries = (await chosen()).get(id) ?? [];
    const query = `/v1/customers?id=${id}&fields=interestIds,interestNames`;
    const csv = await company.read(query, { accept: 'text/csv' });
    const cell = toNames(entries)?.join(';') ?? '';
    expect(csv.text).toBe(
      `id,interestIds,interestNames\r\n${id},${entries.join(';')},${/[,"]/.test(cell) ? `"${cell}"` : cell}\r\n`,
    );
    const { body } = await company.read(query);
    const lines = await company.read(query, { accept: 'application/x-ndjson' });
    expect(lines.text).toBe(`${JSON.stringify(body.data[0])}\n`);
  });

  it('are described with the types of their entries', async () => {
    const { body } = await company.read('/openapi/v1');
    const { properties } = body.components.schemas.Customer;
    expect(properties.interestIds).toMatchObject({
      type: ['array', 'null'],
      items: { type: ['integer', 'string'] },
    });
    expect(properties.interestNames).toMatchObject({
      type: ['array', 'null'],
      items: { type: ['string', 'null'] },
    });
    const parameters = body.paths['/v1/customers'].get.parameters as {
      name?: string;
      schema?: { type?: string };
    }[];
    expect(parameters.find(({ name }) => name === 'interestIds_all')?.schema).toMatchObject({
      type: 'array',
    });
  });
});

it('a renamed entry has its new name, and one that was read before keeps none of the old', async () => {
  await company.control('PATCH', '/fields/customer/custentity_interests', {
    values: [...colours].map(([id, name]) => ({
      id,
      name: id === '1' ? 'Blue' : id === '6' ? 'Red; "dark"' : name,
    })),
  });
  colours.set('1', 'Blue').set('6', 'Red; "dark"');
  await company.expectSuccess('customer', 'full');
  const truth = await chosen();
  for (const { id, interestNames } of await company.readAll('v1/customers'))
    expect(interestNames, id).toEqual(toNames(truth.get(id) ?? null));
  const [id = ''] = await idsWhere((entries) => entries?.join() === '6');
  if (id === '') return;
  const csv = await company.read(`/v1/customers?id=${id}&fields=interestNames`, { accept: 'text/csv' });
  expect(csv.text).toBe(`id,interestNames\r\n${id},"""Red; """"dark"""""""\r\n`);
});

it('lines have them too, and are found by them', async () => {
  const lines = {
    name: 'lines',
    source: 'lines',
    fields: [
      { name: 'materials', source: 'custcol_materials' },
      { name: 'materialIds', source: 'custcol_materials', as: 'list' },
      { name: 'materialNames', source: 'custcol_materials.name', as: 'list' },
    ],
  };
  const filters = [{ field: 'lines.materialIds', operators: ['eq'] }];
  const version = await company.publish([
    {
      name: 'credits',
      recordType: 'creditMemo',
      description: '',
      fields: [lines],
      filters,
      maxPageSize: 1000,
    },
  ]);
  const materials = ['Wood', 'Metal', 'Glass & ceramic', 'Paper', 'Fabric'];
  const truth = await company.transactions('CustCred');
  const listEntries = (record: (typeof truth)[number]) =>
    (record.lines ?? []).map(({ fields }) => fields['custcol_materials']?.split(', ') ?? null);
  // The account has lines besides those of the document, without these values.
  const byId = new Map(
    truth.map((record) => [record.id, listEntries(record).filter((entries) => entries !== null)]),
  );
  const served = await company.readAll(`${version}/credits`);
  expect(served).toHaveLength(truth.length);
  for (const { id, lines: written } of served)
    expect(
      written.filter((line: { materials: string | null }) => line.materials !== null),
      id,
    ).toEqual(
      byId.get(id)?.map((entries) => ({
        materials: entries.join(', '),
        materialIds: entries.map(Number),
        materialNames: entries.map((entry) => materials[Number(entry) - 1]),
      })),
    );
  const { body } = await company.read(
    `/${version}/credits?lines.materialIds=2&lines.materialIds=5&pageSize=1000`,
  );
  const wanted = [...byId].filter(([, each]) =>
    each.some((entries) => entries.includes('2') || entries.includes('5')),
  );
  expect(wanted.length).toBeGreaterThan(0);
  expect(inOrder(body.data.map(({ id }: { id: string }) => id))).toEqual(inOrder(wanted.map(([id]) => id)));
});

it('a masked list is one text, and neither filters nor groups by it are allowed', async () => {
  const masked = {
    ...endpoint,
    fields: [
      { name: 'name', source: 'companyname' },
      { ...ids, mask: 'hash' },
      { ...names, mask: 'hash' },
    ],
  };
  const version = await company.publish([
    { ...masked, filters: [{ field: 'interestIds', operators: ['all'] }] },
  ]);
  const { secret } = await makeKey(company.database.ctx, company.organizationId, { unmasked: false });
  const read = (path: string) =>
    company.read(`/${version}/customers${path}`, { authorization: `Bearer ${secret}` });
  const [one = '', other = ''] = await idsWhere((entries) => entries?.join() === '3,8');
  const { body } = await read(`?id=${one}&id=${other}`);
  expect(body.data[0].interestIds).toMatch(/^[0-9a-f]{64}$/);
  expect(body.data[1].interestIds).toBe(body.data[0].interestIds);
  expect(body.data[0].interestNames).not.toBe(body.data[0].interestIds);
  expect((await read('?interestIds_all=3')).status).toBe(403);
  expect((await read('/summary?by=interestNames')).status).toBe(403);
});

const name = { name: 'name', source: 'companyname' };
const raw = { name: 'raw', source: 'custentity_interests.ids' };
it.each<[string, object, string]>([
  ['of a field that is none', { fields: [{ ...name, as: 'list' }] }, 'fields[0].as not_a_list'],
  ['of the ids of a list', { fields: [raw] }, 'fields[0].source unknown_source'],
  ['for row scopes', { fields: [{ ...ids, scopable: true }] }, 'fields[0].scopable not_scopable'],
  ['for sorting', { sorts: ['interestIds'] }, 'sorts[0] lists'],
  [
    'for parts of a text',
    { filters: [{ field: 'interestIds', operators: ['contains'] }] },
    'filters[0].operators[0] operator_misfits',
  ],
  [
    'for all of several values of a text',
    { filters: [{ field: 'name', operators: ['all'] }] },
    'filters[0].operators[0] operator_misfits',
  ],
  [
    'for counting',
    { aggregates: [{ field: 'interestIds', functions: ['count_distinct'] }] },
    'aggregates[0].functions[0] function_misfits',
  ],
  [
    'next to a field with the name of its filter',
    { fields: [name, ids, { name: 'interestIds_all', source: 'companyname' }] },
    'fields[2].name clashes_with_filter',
  ],
])('a definition of a list %s is refused', async (_what, change, problem) => {
  const given = { ...endpoint, fields: [name, ids], filters: [], groups: undefined, ...change };
  const draft = await company.api('post', '/api-schema', { name: 'Wrong', endpoints: [given] });
  const answer =
    draft.status === 201 ? await company.api('post', `/api-schema/${draft.body.id}/validate`) : draft;
  expect(listProblems(answer)).toEqual([`endpoints[0].${problem}`]);
});

it('a filter by an id that is none is refused', async () => {
  expect((await company.read('/v1/customers?interestIds=red')).body.error.details).toMatchObject([
    { path: 'interestIds', code: 'invalid_value' },
  ]);
});

it('a proposed draft has both lists, with filters by the ids and groups by the names', async () => {
  await company.expectSuccess('customrecord_complaint', 'incremental');
  const { body } = await company.api('post', '/api-schema/draft-from', {
    recordTypes: ['customrecord_complaint'],
  });
  const [proposed] = body.endpoints;
  expect(proposed.fields).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ name: 'reasonIds', source: 'custrecord_complaint_reasons', as: 'list' }),
      expect.objectContaining({ name: 'reasons', source: 'custrecord_complaint_reasons.name', as: 'list' }),
    ]),
  );
  expect(proposed.filters).toContainEqual({ field: 'reasonIds', operators: ['eq', 'all'] });
  expect(proposed.groups).toContain('reasons');
  await company.publish(body.endpoints);
});

it('a description that an earlier version stored as one text is made again by the next run', async () => {
  const before = await company.readAll('v1/customers');
  await inTransaction({ db: company.database.ctx.db, organizationId: company.organizationId }, (tx) =>
    tx.raw(`update erp_record_types set description =
      replace(replace(description::text, '"multiselect"', '"list"'), 'Multiple Select by ids', 'Multiple Select')::jsonb where name = 'customer'`),
  );
  await company.expectSuccess('customer', 'incremental');
  const { body } = await company.api('get', '/netsuite/metadata/customer');
  const described = body.fields.find(({ name }: { name: string }) => name === 'custentity_interests');
  expect(described).toMatchObject({ type: 'multiselect' });
  expect(await company.readAll('v1/customers')).toEqual(before);
});

it('an answer that leaves entries of the list out: they are asked for again', async () => {
  await company.control('PUT', '/faults', [
    { on: { table: 'customlist_colour', kind: 'rows' }, times: 1, dropRows: { every: 1 } },
  ]);
  await company.expectSuccess('customer', 'full');
  await company.control('PUT', '/faults', []);
  const truth = await chosen();
  for (const { id, interestNames } of await company.readAll('v1/customers'))
    expect(interestNames, id).toEqual(toNames(truth.get(id) ?? null));
});

it('a role that can no longer read the list: what is served stays, and is said to be stale', async () => {
  const before = await company.readAll('v1/customers');
  const [id = ''] = await idsWhere((entries) => entries?.join() === '3');
  await company.control('POST', '/role', { permissions: { customLists: 'none' } });
  await company.control('PATCH', `/records/customer/${id}`, { fields: { custentity_interests: '7, 2' } });
  const run = await company.expectPartial('customer', 'incremental', 'FIELDS_UNREADABLE', { updated: 1 });
  expect(run.error.message).toContain('custentity_interests');
  const listInterests = (records: readonly { id: string; interestIds: unknown; interestNames: unknown }[]) =>
    records.map((record) => [record.id, record.interestIds, record.interestNames]);
  expect(listInterests(await company.readAll('v1/customers'))).toEqual(listInterests(before));
  const staleFields = async () =>
    (await company.read('/v1/customers?pageSize=1')).headers['x-data-stale-fields'];
  expect(await staleFields()).toMatch(/interestIds.*interestNames/);
  await company.control('POST', '/role', { permissions: null });
  await company.refresh();
  await company.expectSuccess('customer', 'incremental');
  expect(await staleFields()).toBeUndefined();
  expect((await company.read(`/v1/customers/${id}`)).body.data).toMatchObject({
    interestIds: [7, 2],
    interestNames: ['Green', 'Ivory'],
  });
});

it('a role that never could read the list: ids alone', async () => {
  await company.control('POST', '/role', { permissions: { customLists: 'none' } });
  await company.refresh();
  await company.expectSuccess('item', 'incremental');
  const colourIds = { name: 'colourIds', source: 'custitem_colours', as: 'list' };
  const items = { name: 'items', recordType: 'item', description: '', filters: [], maxPageSize: 1000 };
  const version = await company.publish([{ ...items, fields: [colourIds] }]);
  const truth = new Map(
    (await company.truth('item')).map(({ id, fields }) => [id, fields['custitem_colours']]),
  );
  for (const record of await company.readAll(`${version}/items`))
    expect(record.colourIds, record.id).toEqual(truth.get(record.id)?.split(', ').map(Number) ?? null);
  const names = { ...colourIds, name: 'colours', source: 'custitem_colours.name' };
  const draft = await company.api('post', '/api-schema', {
    name: 'Named',
    endpoints: [{ ...items, fields: [names] }],
  });
  const { body } = await company.api('post', `/api-schema/${draft.body.id}/validate`);
  expect(body.problems).toMatchObject([{ path: 'endpoints[0].fields[0].as', code: 'not_a_list' }]);
});
