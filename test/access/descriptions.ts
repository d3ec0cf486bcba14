// The OpenAPI description of a version, as a limited reader gets it.
import { expect } from 'vitest';
import { checkRefusal } from './doors.ts';
import { visibleFields } from './model.ts';
import { allowedNames, type Case, inspect, refusalOf } from './oracle.ts';

type Document = { paths: Record<string, { get?: { parameters?: ({ name?: string } & { $ref?: string })[] } }> };

export async function checkDescription(one: Case): Promise<void> {
  const { oracle, reader, version } = one;
  const path = `openapi/${version.version}`;
  const answer = await oracle.get(reader, path);
  const versionAllowed = reader.access.layers.every(({ versions }) => versions.length === 0 || versions.includes(version.version));
  if (!versionAllowed) return checkRefusal({ ...one }, answer, path, { kind: 'refused', statuses: [403], codes: ['version_out_of_scope'] });
  expect(answer.status, answer.text).toBe(200);
  // The list of changes from the version before has names of both; a reader with any limit doesn't get it.
  const isLimited = reader.access.layers.some(
    ({ versions, resources, rows, fields }) => versions.length + resources.length > 0 || rows !== null || fields !== null,
  );
  inspect(one, answer, path, { names: allowedNames(one, isLimited ? 'version' : 'all'), hasExamples: true });
  const { paths } = JSON.parse(answer.text) as Document;
  const readable = version.endpoints.filter((endpoint) => refusalOf({ ...one, endpoint }, []) === undefined);
  const described = new Set(Object.keys(paths).map((key) => key.split('/')[2]));
  expect(described).toEqual(new Set(readable.map(({ name }) => name)));
  for (const endpoint of readable) {
    const visible = visibleFields(reader.access, endpoint);
    for (const { name } of visible) expect(answer.text).toContain(`"${name}"`);
    const usable = new Set(['id', ...visible.filter(({ mask }) => mask === null || reader.access.unmasked).map(({ name }) => name)]);
    const parameters = paths[`/${version.version}/${endpoint.name}`]?.get?.parameters?.flatMap(({ name }) => name ?? []) ?? [];
    const unusable = endpoint.filters.filter(({ field }) => !usable.has(field)).map(({ parameter }) => parameter);
    expect(parameters.filter((parameter) => unusable.includes(parameter))).toEqual([]);
  }
  const again = await oracle.get(reader, path, { 'if-none-match': answer.headers['etag'] ?? '' });
  expect([again.status, again.raw.length]).toEqual([304, 0]);
  const other = await oracle.get(oracle.whole, path);
  const byOther = await oracle.get(reader, path, { 'if-none-match': other.headers['etag'] ?? '' });
  expect(byOther.status === 304 ? other.text : byOther.text).toBe(answer.text);
}
