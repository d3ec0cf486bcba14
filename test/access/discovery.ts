// The address of the public interface itself, which lists what a reader may read.
import { expect } from 'vitest';
import { readability } from './model.ts';
import { allowedNames, type Case, inspect } from './oracle.ts';
import { plainQuery } from './queries.ts';
import { readableIds, type Surface } from './surfaces.ts';

/**
 * The versions of which the reader may read something, with the number of records that they may read of each
 * resource.
 */
async function checkDiscovery(one: Case): Promise<void> {
  const { oracle, reader } = one;
  const listed = oracle.fixture.versions.map((version) => ({
    version,
    endpoints: version.endpoints.filter(
      (endpoint) => readability(reader.access, version.version, endpoint) === 'readable',
    ),
  }));
  const expected = await Promise.all(
    listed
      .filter(({ endpoints }) => endpoints.length > 0)
      .map(async ({ version, endpoints }) => ({
        version: version.version,
        resources: await Promise.all(
          endpoints.map(async (endpoint) => ({
            name: endpoint.name,
            records: (await readableIds({ ...one, version, endpoint, query: plainQuery })).size,
          })),
        ),
      })),
  );
  const answer = await oracle.get(reader, '');
  expect(answer.status, answer.text).toBe(200);
  const { data } = JSON.parse(answer.text) as {
    data: { version: string; resources: { name: string; records: number }[] }[];
  };
  expect(
    data.map(({ version, resources }) => ({
      version,
      resources: resources.map(({ name, records }) => ({ name, records })),
    })),
  ).toEqual(expected);
  inspect(one, answer, '', { names: allowedNames(one, 'all'), hasNumbers: true });
}

export const discoverySurface: Surface = { name: 'discovery', check: checkDiscovery };
