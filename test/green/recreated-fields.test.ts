// Custom fields that are deleted and created again with another type: a run that says `succeeded` serves
// their values as the account has them.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { inTransaction } from '../../src/db/transaction.ts';
import { type Company, startCompany } from './company.ts';

const list = { values: ['Red', 'Green', 'Blue'] };
/** How each type is created, a value of it, and the canonical form of the value. */
const kinds = {
  text: { options: {}, value: 'Box 7', served: 'Box 7' },
  number: { options: {}, value: '0.5', served: '0.5' },
  date: { options: {}, value: '2011-03-02', served: '2011-03-02' },
  datetime: { options: {}, value: '2011-03-01T10:00:08Z', served: '2011-03-01T10:00:08Z' },
  boolean: { options: {}, value: 'T', served: 'true' },
  list: { options: list, value: 'Green', served: '2' },
  multiselect: { options: list, value: '1, 3', served: '1, 3' },
  reference: { options: { target: 'employee' }, value: '9100003', served: '9100003' },
} as const;
type Kind = keyof typeof kinds;
const names = Object.keys(kinds) as Kind[];

/** From text through every ordered pair of different types once, back to text. */
function everyDirection(): Kind[] {
  const left = new Map(names.map((name) => [name, names.filter((other) => other !== name)]));
  const walk = (at: Kind): Kind[] => {
    const path: Kind[] = [];
    for (let next = left.get(at)?.pop(); next !== undefined; next = left.get(at)?.pop())
      path.unshift(...walk(next));
    return [at, ...path];
  };
  return walk('text');
}

const places = {
  'a header field': {
    recordType: 'customer',
    table: 'customer',
    owner: 'customer',
    field: 'custentity_seen',
  },
  'a field of a custom record': {
    recordType: 'customrecord_complaint',
    table: 'customrecord_complaint',
    owner: 'customrecord_complaint',
    field: 'custrecord_seen',
  },
  'a field of lines': {
    recordType: 'creditMemo',
    table: 'transactionline',
    owner: 'transaction',
    field: 'custcol_seen',
  },
  'a column of a query': {
    recordType: 'rows',
    table: 'customer',
    owner: 'customer',
    field: 'custentity_asked',
  },
} as const;
type Place = (typeof places)[keyof typeof places];

/**
 * A quarter of the walk for each place, from the type at which the one before ends: together they have every
 * direction.
 */
function selectPart(walk: readonly Kind[], place: Place): Kind[] {
  const all = Object.values(places);
  const length = (walk.length - 1) / all.length;
  const from = all.indexOf(place) * length;
  return walk.slice(from, from + length + 1);
}

let company: Company;
beforeAll(async () => {
  company = await startCompany({
    erp: { profile: 'single' },
    sync: { pageSize: 40, maxAttemptsWithoutProgress: 4 },
  });
}, 120_000);
afterEach(async () => {
  company.wire.begin(async () => undefined);
  await company.control('PUT', '/hidden', {});
});
afterAll(() => company.stop());

const isLines = ({ table }: Place): boolean => table === 'transactionline';
const toSource = ({ recordType, field }: Place): string => (recordType === 'rows' ? 'seen' : field);
const toResource = ({ recordType }: Place): string => `seen${recordType.toLowerCase().replaceAll('_', '')}`;

async function recreate({ table, field }: Place, kind: Kind): Promise<void> {
  await company.control('DELETE', `/fields/${table}/${field}`).catch(() => undefined);
  await company.control('POST', '/fields', {
    table,
    name: field,
    type: kind,
    label: 'Seen',
    ...kinds[kind].options,
  });
}

async function write(place: Place, id: string, value: string): Promise<void> {
  const fields = { [place.field]: value };
  const change = isLines(place)
    ? { lines: [{ line: 1, fields }], touch: 'header' }
    : { fields, touch: 'header' };
  await company.control('PATCH', `/records/${place.owner}/${id}`, change);
}

/**
 * Creates the field with values, syncs it and publishes it as a text. Returns the path of the list, and ids
 * of records.
 */
async function serve(
  place: Place,
  value: string = kinds.text.value,
): Promise<{ path: string; ids: string[] }> {
  const { recordType } = place;
  await recreate(place, 'text');
  if (recordType === 'rows') {
    const query = `SELECT id, ${place.field} AS seen, lastmodifieddate AS changed FROM customer`;
    const body = { name: 'rows', label: 'Rows', query, keyColumn: 'id', modifiedColumn: 'changed' };
    expect((await company.api('post', '/netsuite/queries', body)).status).toBe(201);
  }
  const { path, ids } = await publishSeen(place);
  if (value === '') return { path, ids };
  for (const id of ids.slice(0, 3)) await write(place, id, value);
  expect(await company.run(recordType)).toMatchObject({ status: 'succeeded' });
  expect(Object.values(await servedValues(path))).toEqual([value, value, value]);
  return { path, ids };
}

/** As `serve`, of the field as it is. */
async function publishSeen(place: Place): Promise<{ path: string; ids: string[] }> {
  const { recordType } = place;
  if (recordType !== 'rows') await company.api('post', '/netsuite/metadata/refresh');
  expect(await company.run(recordType)).toMatchObject({ status: 'succeeded' });
  const source = toSource(place);
  const shown = isLines(place)
    ? { name: 'lines', source: 'lines', fields: [{ name: 'seen', source }] }
    : { name: 'seen', source };
  const version = await company.publish([
    {
      name: toResource(place),
      recordType,
      description: '',
      fields: [shown],
      filters: [],
      sorts: [],
      maxPageSize: 1000,
    },
  ]);
  const path = `${version}/${toResource(place)}`;
  return { path, ids: (await company.readAll(path)).map(({ id }) => id) };
}

type Value = string | boolean | null;
type Served = { id: string; seen?: Value; lines?: { seen: Value }[] };
/** The texts of the values that are served, by record. */
async function servedValues(path: string): Promise<Record<string, string>> {
  const records: Served[] = await company.readAll(path);
  return Object.fromEntries(
    records.flatMap(({ id, seen, lines }) => {
      const value = lines === undefined ? seen : lines.map((line) => line.seen).find((one) => one !== null);
      return value === null || value === undefined ? [] : [[id, String(value)]];
    }),
  );
}

/** Does the work once, before the first request whose body passes. */
function before(isDue: (question: string) => boolean, work: () => Promise<void>): void {
  let isDone = false;
  company.wire.begin(async (_count, question) => {
    if (isDone || !isDue(question)) return;
    isDone = true;
    await work();
  });
}

/** Queries for the headers of a page behind the first one. */
const isLaterPage = (question: string): boolean =>
  /SELECT .*lastmodif.* t\.id > \d+/.test(question) && !question.includes('COUNT(');

describe.each(Object.entries(places))('%s', (_name, place) => {
  let path: string;
  let ids: string[];
  beforeAll(async () => {
    ({ path, ids } = await serve(place));
  }, 120_000);

  it('is served in canonical form after each change of its type', async () => {
    const [start = 'text', ...walk] = selectPart(everyDirection(), place);
    // What the field is when this part of the walk begins.
    await recreate(place, start);
    expect(await company.run(place.recordType)).toMatchObject({ status: 'succeeded' });
    for (const [index, kind] of walk.entries()) {
      await recreate(place, kind);
      const id = ids[index % 5] ?? '';
      await write(place, id, kinds[kind].value);
      const from = walk[index - 1] ?? start;
      const run = await company.run(place.recordType, 'incremental');
      expect([from, kind, run.status, await servedValues(path)]).toEqual([
        from,
        kind,
        'succeeded',
        { [id]: kinds[kind].served },
      ]);
    }
    expect(walk).toHaveLength((names.length * (names.length - 1)) / Object.keys(places).length);
  });

  it.each([
    ['between two pages', isLaterPage],
    [
      'behind the last page',
      (question: string) => question.includes('COUNT(*)') && !question.includes('.seen'),
    ],
  ])('that becomes a time %s of a run is served as a time', async (_when, isDue) => {
    await recreate(place, 'text');
    const id = ids.at(-1) ?? '';
    for (const each of [...ids.slice(0, 3), id]) await write(place, each, kinds.text.value);
    expect(await company.run(place.recordType)).toMatchObject({ status: 'succeeded' });
    let isChanged = false;
    before(isDue, async () => {
      await recreate(place, 'datetime');
      await write(place, id, kinds.datetime.value);
      isChanged = true;
    });
    const run = await company.run(place.recordType, 'full');
    expect([isChanged, run.status, await servedValues(path)]).toEqual([
      true,
      'succeeded',
      { [id]: kinds.datetime.served },
    ]);
  });

  it('that becomes a time is not served as the ERP shows it to people where the list of fields is refused', async () => {
    await recreate(place, 'text');
    await company.control('PUT', '/hidden', { tables: ['customfield'] });
    const [id = ''] = ids;
    await write(place, id, kinds.text.value);
    expect(await company.run(place.recordType)).toMatchObject({ status: 'succeeded' });
    await recreate(place, 'datetime');
    await write(place, id, kinds.datetime.value);
    const run = await company.run(place.recordType, 'incremental');
    expect([run.status, await servedValues(path)]).toEqual(['succeeded', { [id]: kinds.datetime.served }]);
  });
});

describe.each(Object.entries(places).filter(([, { recordType }]) => recordType !== 'rows'))(
  '%s that only queries have',
  (_name, place) => {
    it('stays when the first records lose their values of it', async () => {
      await company.control('DELETE', `/fields/${place.table}/${place.field}`).catch(() => undefined);
      await company.control('POST', '/fields', {
        ...{ table: place.table, name: place.field, type: 'text', label: 'Seen', isOnlyInQueries: true },
      });
      const ids = (await company.truth(place.owner))
        .filter(({ fields }) => !isLines(place) || fields['type'] === 'CustCred')
        .map(({ id }) => id)
        .sort((a, b) => Number(a) - Number(b));
      const [first = '', last = ''] = [ids[0], ids.at(-1)];
      await write(place, first, 'Box 1');
      const { path } = await publishSeen(place);
      await write(place, first, '');
      await write(place, last, 'Box 2');
      await company.api('post', '/netsuite/metadata/refresh');
      const run = await company.run(place.recordType);
      expect([run.status, run.error, await servedValues(path)]).toEqual([
        'succeeded',
        null,
        { [last]: 'Box 2' },
      ]);
    });
  },
);

it('a description that an earlier version stored is made again, because it says nothing of the list', async () => {
  const place = places['a header field'];
  const { path, ids } = await serve(place);
  await inTransaction({ db: company.database.ctx.db, organizationId: company.organizationId }, (tx) =>
    tx.raw("update erp_record_types set description = description - 'listedTypes' where name = 'customer'"),
  );
  await recreate(place, 'datetime');
  await write(place, ids[0] ?? '', kinds.datetime.value);
  expect(await company.run('customer', 'incremental')).toMatchObject({ status: 'succeeded', attempt: 1 });
  expect(await servedValues(path)).toEqual({ [ids[0] ?? '']: kinds.datetime.served });
});

describe('a column of a query that names no custom field', () => {
  const edit = (id: string, comments: string) =>
    company.control('PATCH', `/records/customer/${id}`, { fields: { comments }, touch: 'header' });
  const define = async (name: string, seen: string) => {
    const query = `SELECT id, ${seen} AS seen, lastmodifieddate AS changed FROM customer`;
    const body = { name, label: name, query, keyColumn: 'id', modifiedColumn: 'changed' };
    expect((await company.api('post', '/netsuite/queries', body)).status).toBe(201);
    expect(await company.run(name)).toMatchObject({ status: 'succeeded' });
    const fields = [{ name: 'seen', source: 'seen' }];
    const version = await company.publish([
      { name, recordType: name, description: '', fields, filters: [], sorts: [], maxPageSize: 1000 },
    ]);
    return `${version}/${name}`;
  };

  it('and was empty when it was defined is described again at its first value', async () => {
    const path = await define('dated', "CASE WHEN comments = 'dated' THEN lastmodifieddate END");
    const [{ id }] = await company.readAll(path);
    await edit(id, 'dated');
    const [{ fields }] = [await company.control('GET', `/records/customer/${id}`)];
    expect(await company.run('dated', 'incremental')).toMatchObject({ status: 'succeeded', mode: 'full' });
    expect(await servedValues(path)).toEqual({ [id]: `${fields.lastmodifieddate.slice(0, 19)}Z` });
  });

  it('and has texts that look like dates is described again once', async () => {
    const path = await define('noted', "CASE WHEN comments LIKE '%:%' THEN comments END");
    const [{ id: one }, { id: other }] = await company.readAll(path);
    await edit(one, 'Order: 7');
    expect(await company.run('noted', 'incremental')).toMatchObject({
      status: 'succeeded',
      mode: 'incremental',
    });
    const descriptions = async (id: string, comments: string) => {
      let described = 0;
      company.wire.begin(async (_count, question) => {
        if (question.includes('COUNT(DISTINCT t.id) AS different')) described += 1;
      });
      await edit(id, comments);
      expect(await company.run('noted', 'incremental')).toMatchObject({
        status: 'succeeded',
        mode: 'incremental',
      });
      return described;
    };
    expect(await descriptions(other, '3/1/2011 10:00')).toBe(1);
    expect(await descriptions(one, '4/1/2011 11:30')).toBe(0);
    expect(await servedValues(path)).toEqual({ [one]: '4/1/2011 11:30', [other]: '3/1/2011 10:00' });
  });
});
