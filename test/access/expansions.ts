// Records with the related records that they embed: each is what a separate request of the same reader for it
// returns, or null.
import { expect } from 'vitest';
import type { Answer } from './call.ts';
import { allows, type EndpointModel, type RelationModel, readability, seenBy } from './model.ts';
import {
  allowedNames,
  buildPath,
  type Case,
  computeExpected,
  type Expected,
  findRefusal,
  inspect,
  select,
  usability,
} from './oracle.ts';
import { fieldsText, filterText, orderText, pageText, plainQuery, toolInput } from './queries.ts';
import { createRandom, parseExact } from './random.ts';
import {
  type Answered,
  checkTagOf,
  codesIn,
  numbered,
  read,
  type Surface,
  toPage,
  toTarget,
  useTool,
} from './surfaces.ts';

const exact = (value: unknown): string => JSON.stringify(value);

/** The record that a separate request for it returns; null when there is none, or it may not be read. */
async function relatedRecord(
  { oracle, reader, version }: Case,
  { resource }: RelationModel,
  id: unknown,
): Promise<unknown> {
  const endpoint = version.endpoints.find(({ name }) => name === resource);
  if (endpoint === undefined) throw new Error(`no resource ${resource}`);
  if (id === null || id === undefined || readability(reader.access, version.version, endpoint) !== 'readable')
    return null;
  const found = (await oracle.wholeRecords(version, endpoint, plainQuery)).find((record) => record.id === id);
  if (
    found === undefined ||
    !allows(reader.access, endpoint, found, oracle.fixture.withheld(endpoint.recordType))
  )
    return null;
  return seenBy(reader.access, endpoint, found, oracle.hashes);
}

/** In the order of the declaration, whatever the order in the request. */
const chosen = ({ endpoint, seed }: Case): RelationModel[] =>
  createRandom(seed).some(endpoint.relations, 1).slice(0, 3);

/** The expected records with what they embed, as the query selects their fields. */
async function expanded(
  one: Case,
  relations: readonly RelationModel[],
  uses: Parameters<typeof computeExpected>[1],
): Promise<Expected> {
  const expected = await computeExpected(
    one,
    uses,
    relations.map(({ field }) => field),
  );
  if (expected.kind === 'refused') return expected;
  const records = await Promise.all(
    expected.records.map(async (record, at) => {
      const embedded = await Promise.all(
        relations.map(async (relation) => [
          relation.name,
          await relatedRecord(one, relation, expected.whole[at]?.[relation.field]),
        ]),
      );
      return { ...select(one.query, record), ...Object.fromEntries(embedded) };
    }),
  );
  return { ...expected, records };
}

async function checkExpand(one: Case): Promise<void> {
  const relations = chosen(one);
  if (relations.length === 0) return;
  const { version, endpoint, query, oracle, reader, seed } = one;
  // The records already have only the selected fields.
  const complete = { ...one, query: { ...query, fields: null } };
  const expand = [
    `expand=${(seed % 2 === 0 ? relations : relations.toReversed()).map(({ name }) => name).join()}`,
  ];
  const selection = [...filterText(query), ...orderText(query), ...fieldsText(query)];
  const list = await expanded(one, relations, ['filters', 'order', 'fields']);
  const path = buildPath(version, endpoint, selection, expand, pageText(query));
  const checkList = ({ text }: Answer, found: Answered): void => {
    const { records, pagination } = toPage(one, found);
    expect(exact(parseExact(text))).toBe(exact({ data: records, pagination: numbered(pagination) }));
  };
  const answer = await read(complete, path, list, {}, checkList);
  if (list.kind === 'refused') return;
  await checkTagOf(one, path, answer);
  await checkRecords(one, complete, await expanded(one, relations, ['fields']), expand);
  for (const refused of [
    await oracle.get(reader, buildPath(version, endpoint, selection, expand), {
      accept: 'application/x-ndjson',
    }),
    await oracle.get(reader, buildPath(version, endpoint, selection, expand), { accept: 'text/csv' }),
    await oracle.get(reader, `${version.version}/${endpoint.name}/changes?${expand[0]}`),
  ]) {
    expect(refused.status, refused.text).toBe(400);
    inspect(one, refused, path, { names: allowedNames(one, 'version') });
  }
}

/**
 * The ways to read the first relation of the resource, and the resource that it names; undefined when the
 * reader may not use any.
 */
export function expandedReads({
  version,
  endpoint,
  reader,
}: Case): { readonly query: string; readonly related: EndpointModel } | undefined {
  const relation = endpoint.relations.find(
    ({ field }) => usability(reader.access, endpoint, field) === 'usable',
  );
  const related = version.endpoints.find(({ name }) => name === relation?.resource);
  return relation === undefined || related === undefined
    ? undefined
    : { query: `expand=${relation.name}`, related };
}

/** One of the reader's records by its id. */
async function checkRecords(
  one: Case,
  complete: Case,
  expected: Expected,
  expand: readonly string[],
): Promise<void> {
  if (expected.kind === 'refused' || expected.whole.length === 0) return;
  const at = createRandom(one.seed).int(expected.whole.length);
  const parts = [...expand, ...fieldsText(one.query)];
  const path = `${one.version.version}/${one.endpoint.name}/${expected.whole[at]?.id}?${parts.join('&')}`;
  await read(complete, path, expected, {}, ({ text }, { records }) => {
    expect(exact(parseExact(text))).toBe(exact({ data: records[at] }));
  });
}

async function checkExpandTools(one: Case): Promise<void> {
  const relations = chosen(one);
  if (relations.length === 0) return;
  const expand = relations.map(({ name }) => name);
  const complete = { ...one, query: { ...one.query, fields: null } };
  const list = await expanded(one, relations, ['filters', 'order', 'fields']);
  const found = await useTool(
    complete,
    'query',
    { ...toTarget(one), ...toolInput(one.query), expand },
    list,
    allowedNames(one, 'version'),
  );
  if (found !== null && list.kind === 'answered') {
    const data = found['data'] as unknown[];
    expect(exact(data)).toBe(exact(toPage(one, list).records.slice(0, data.length)));
  }
  const single = await expanded(one, relations, ['fields']);
  if (single.kind === 'refused' || single.whole.length === 0) return;
  const [{ id } = { id: '' }] = single.whole;
  const input = {
    ...toTarget(one),
    id,
    expand,
    ...(one.query.fields !== null && { fields: one.query.fields }),
  };
  const record = await useTool(complete, 'get', input, single, allowedNames(one, 'version'));
  if (record !== null) expect(exact(record['data'])).toBe(exact(single.records[0]));
}

/** A field that a limited reader may not use is no way to other records. */
async function checkUndeclared(one: Case): Promise<void> {
  if (one.endpoint.relations.length > 0 || findRefusal(one, []) !== undefined) return;
  const path = buildPath(one.version, one.endpoint, [`expand=${one.endpoint.fields[0]?.name}`]);
  const answer = await one.oracle.get(one.reader, path);
  expect([answer.status, codesIn(answer)], answer.text).toEqual([400, ['unknown_parameter']]);
  inspect(one, answer, path, { names: allowedNames(one, 'resource') });
}

export const expansionSurfaces: readonly Surface[] = [
  {
    name: 'expand',
    check: async (one) => {
      await checkExpand(one);
      await checkUndeclared(one);
    },
  },
  { name: 'expand of /mcp', check: checkExpandTools },
];
