// Reads views by links that are restricted to the rows of a reader: what comes is what an unlimited reader is
// answered, filtered, and masked as by every version.
import { parse as parseCsv } from 'csv-parse/sync';
import { expect } from 'vitest';
import {
  allows,
  compareIds,
  type FieldModel,
  listConditions,
  readability,
  seenBy,
  visibleFields,
} from './model.ts';
import { type Case, inspect } from './oracle.ts';
import { plainQuery } from './queries.ts';
import { codesIn, type Surface } from './surfaces.ts';

/** The masks of the field's source in each version that has it. */
const listMasks = ({ oracle, endpoint }: Case, source: string) => [
  ...new Set(
    oracle.fixture.versions.flatMap(({ endpoints }) =>
      endpoints
        .filter(({ recordType }) => recordType === endpoint.recordType)
        .flatMap(({ fields }) => fields.filter((field) => field.source === source))
        .map(({ mask }) => mask),
    ),
  ),
];

/** One for each source; only where the versions agree on the mask is it known which one a link applies. */
const listColumns = (one: Case): FieldModel[] => [
  ...new Map(
    visibleFields(one.reader.access, one.endpoint)
      .filter(({ kind, source }) => kind !== 'lines' && listMasks(one, source).length === 1)
      .map((field) => [field.source, field]),
  ).values(),
];

type MadeLink = { readonly path: string; readonly columns: readonly FieldModel[]; remove(): Promise<void> };

/** Of a view of all records with the fields of the reader. Undefined where there can be none. */
export async function createLink(one: Case): Promise<MadeLink | undefined> {
  const { oracle, reader, version, endpoint } = one;
  const { service, fixture } = oracle;
  const columns = listColumns(one);
  if (readability(reader.access, version.version, endpoint) !== 'readable' || columns.length === 0)
    return undefined;
  const send = (method: 'POST' | 'DELETE', path: string, body?: object) =>
    service.call({
      method,
      path: `/api/platform/v1/views${path}`,
      headers: { authorization: `Bearer ${fixture.ownerSecret}` },
      ...(body !== undefined && { body }),
    });
  const view = {
    name: 'View',
    recordType: endpoint.recordType,
    columns: columns.map(({ source }) => source),
  };
  const made = await send('POST', '', view);
  expect(made.status, made.text).toBe(201);
  const { id } = JSON.parse(made.text) as { id: string };
  const remove = async (): Promise<void> => void (await send('DELETE', `/${id}`));
  const conditions = listConditions(reader.access, endpoint);
  const rows = conditions.map(({ source, in: values }) => ({ field: source, in: values }));
  const link = await send('POST', `/${id}/links`, { rows, raw: true });
  const isMasked = conditions.some(({ source }) => listMasks(one, source).some((mask) => mask !== null));
  expect([link.status, codesIn(link)[0]], link.text).toEqual(
    isMasked ? [422, 'masked_field'] : [201, undefined],
  );
  if (isMasked) {
    await remove();
    return undefined;
  }
  const { url } = JSON.parse(link.text) as { url: string };
  const { pathname, search } = new URL(url);
  return { path: `${pathname}${search}`, columns, remove };
}

const cell = (value: unknown): string =>
  value === null || value === undefined ? '' : String(value).replace(/^#/, '');

async function checkLink(one: Case): Promise<void> {
  const link = await createLink(one);
  if (link === undefined) return;
  const { oracle, reader, version, endpoint } = one;
  const access = { ...reader.access, unmasked: false };
  const all = await oracle.wholeRecords(version, endpoint, plainQuery);
  const records = all
    .filter((record) => allows(access, endpoint, record, oracle.fixture.withheld(endpoint.recordType)))
    .sort((a, b) => compareIds(endpoint.idType, a.id, b.id))
    .map((record) => seenBy(access, endpoint, record, oracle.hashes));
  const answer = await oracle.service.call({ path: link.path });
  await link.remove();
  expect(answer.status, answer.text).toBe(200);
  const names = new Set(link.columns.map(({ source }) => source));
  inspect(one, answer, link.path, { names, records });
  expect(answer.headers['x-total-count']).toBe(String(records.length));
  expect(parseCsv(answer.text, { bom: true })).toEqual([
    ['id', ...names],
    ...records.map((record) => [cell(record['id']), ...link.columns.map(({ name }) => cell(record[name]))]),
  ]);
}

export const linkSurface: Surface = { name: 'link to a view', check: checkLink };
