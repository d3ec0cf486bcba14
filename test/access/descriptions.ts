// The OpenAPI description of a version, as a limited reader gets it.
import { expect } from 'vitest';
import { readability, seenBy, visibleFields } from './model.ts';
import { allowedNames, type Case, findRefusal, inspect, usability } from './oracle.ts';
import { checkRefusal } from './surfaces.ts';

type Document = {
  paths: Record<string, { get?: { parameters?: ({ name?: string } & { $ref?: string })[] } }>;
};

/** The filters, and the parameters that only some versions declare, that the reader may use. */
function usableParameters({ reader: { access }, version, endpoint }: Case): Set<string> {
  const isUsable = (field: string): boolean => usability(access, endpoint, field) === 'usable';
  const expands = endpoint.relations.some(({ field, resource }) => {
    const related = version.endpoints.find(({ name }) => name === resource);
    return (
      isUsable(field) && related !== undefined && readability(access, version.version, related) === 'readable'
    );
  });
  return new Set([
    ...endpoint.filters.filter(({ field }) => isUsable(field)).map(({ parameter }) => parameter),
    ...(endpoint.search.some(isUsable) ? ['q'] : []),
    ...(endpoint.takesOr ? ['or'] : []),
    ...(expands ? ['expand'] : []),
  ]);
}

/** All records of the version as the reader saw them at first: examples may be of any. */
const readAll = ({ oracle, reader: { access }, version }: Case): unknown[] =>
  version.endpoints.flatMap((endpoint) =>
    oracle.firstRecords(version, endpoint).map((record) => seenBy(access, endpoint, record, oracle.hashes)),
  );

export async function checkDescription(one: Case): Promise<void> {
  const { oracle, reader, version } = one;
  const path = `openapi/${version.version}`;
  const answer = await oracle.get(reader, path);
  const versionAllowed = reader.access.layers.every(
    ({ versions }) => versions.length === 0 || versions.includes(version.version),
  );
  if (!versionAllowed)
    return checkRefusal({ ...one }, answer, path, {
      kind: 'refused',
      statuses: [403],
      codes: ['version_out_of_scope'],
    });
  expect(answer.status, answer.text).toBe(200);
  // The list of changes from the version before has names of both; a reader with any limit or mask doesn't
  // get it.
  const hasMasks = version.endpoints.some(({ fields }) =>
    fields.some(({ mask, lines }) => [mask, ...lines.map((line) => line.mask)].some(Boolean)),
  );
  const isScoped = reader.access.layers.some(
    ({ versions, resources, rows, fields }) =>
      versions.length + resources.length > 0 || rows !== null || fields !== null,
  );
  const isLimited = isScoped || (hasMasks && !reader.access.unmasked);
  inspect(one, answer, path, {
    names: allowedNames(one, isLimited ? 'version' : 'all'),
    records: isScoped ? [] : readAll(one),
    hasNumbers: true,
  });
  const { paths } = JSON.parse(answer.text) as Document;
  const readable = version.endpoints.filter(
    (endpoint) => findRefusal({ ...one, endpoint }, []) === undefined,
  );
  const described = new Set(Object.keys(paths).map((key) => key.split('/')[2]));
  expect(described).toEqual(new Set(readable.map(({ name }) => name)));
  for (const endpoint of readable) {
    const visible = visibleFields(reader.access, endpoint);
    for (const { name } of visible) expect(answer.text).toContain(`"${name}"`);
    const parameters =
      paths[`/${version.version}/${endpoint.name}`]?.get?.parameters?.flatMap(({ name }) => name ?? []) ?? [];
    const declared = new Set([...endpoint.filters.map(({ parameter }) => parameter), 'q', 'or', 'expand']);
    expect(new Set(parameters.filter((parameter) => declared.has(parameter)))).toEqual(
      usableParameters({ ...one, endpoint }),
    );
  }
  const again = await oracle.get(reader, path, { 'if-none-match': answer.headers['etag'] ?? '' });
  expect([again.status, again.raw.length]).toEqual([304, 0]);
  const other = await oracle.get(oracle.whole, path);
  const byOther = await oracle.get(reader, path, { 'if-none-match': other.headers['etag'] ?? '' });
  expect(byOther.status === 304 ? other.text : byOther.text).toBe(answer.text);
}
