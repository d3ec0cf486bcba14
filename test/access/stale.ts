// While a field that a row scope names is stale, reads under that scope answer 503: at every surface, whatever
// is cached.
import { expect } from 'vitest';
import { until } from '../setup/until.ts';
import { callAggregate } from './aggregates.ts';
import type { Answer } from './call.ts';
import { expandedReads } from './expansions.ts';
import { createLink } from './links.ts';
import { listConditions, readability } from './model.ts';
import type { Case, Oracle, Reader } from './oracle.ts';
import { plainQuery } from './queries.ts';
import { callTool, codesIn } from './surfaces.ts';

type Ask = () => Promise<Answer & { readonly isError?: boolean }>;
const code = 'scope_field_stale';

const isStale = (answer: Awaited<ReturnType<Ask>>): boolean =>
  (answer.status === 503 || answer.isError === true) && codesIn(answer).includes(code);

/**
 * Every way to read the resource: from the database, with the tag of what was read before, and as the tools
 * do.
 */
async function createAsks(one: Case): Promise<Ask[]> {
  const { oracle, reader, version, endpoint } = one;
  const [record] = await oracle.wholeRecords(version, endpoint, plainQuery);
  const target = { version: version.version, resource: endpoint.name };
  const path = `${version.version}/${endpoint.name}`;
  const get =
    (at: string, headers: Record<string, string> = {}): Ask =>
    () =>
      oracle.get(reader, at, headers);
  const paths = [path, `${path}/changes`, `${path}/${record?.id}`];
  const tagged = paths.map(async (at) =>
    get(at, { 'if-none-match': (await oracle.get(reader, at)).headers['etag'] ?? '"none"' }),
  );
  const exports = ['application/x-ndjson', 'text/csv'].map((accept) => get(path, { accept }));
  const tools: Ask[] = [
    () => callTool(one, 'query', target),
    () => callTool(one, 'get', { ...target, id: record?.id ?? '' }),
    () => callTool(one, 'describe', target),
    () => callAggregate(one, {}),
  ];
  const link = await createLink(one);
  const links: Ask[] = link === undefined ? [] : [() => oracle.service.call({ path: link.path })];
  const hasSummary = endpoint.aggregates.length + endpoint.groups.length > 0;
  const summaries = !hasSummary
    ? []
    : [
        get(`${path}/summary?count=true`, {
          'if-none-match': (await oracle.get(reader, `${path}/summary?count=true`)).headers['etag'] ?? '',
        }),
        get(`${path}/summary`),
        get(`${path}/summary`, { accept: 'application/x-ndjson' }),
        () => callTool(one, 'aggregate', target),
      ];
  return [
    ...(await Promise.all(tagged)),
    ...paths.map((at) => get(at)),
    ...exports,
    ...tools,
    ...links,
    ...summaries,
  ];
}

/**
 * Ways to read records with others that they embed: they are refused when the scope of either names the stale
 * field.
 */
function expandedAsks(one: Case): { readonly asks: readonly Ask[]; readonly related: Case } | undefined {
  const { oracle, reader, version, endpoint } = one;
  const reads = expandedReads(one);
  if (reads === undefined || readability(reader.access, version.version, reads.related) !== 'readable')
    return undefined;
  const path = `${version.version}/${endpoint.name}?${reads.query}`;
  const target = {
    version: version.version,
    resource: endpoint.name,
    expand: [reads.query.slice('expand='.length)],
  };
  return {
    asks: [() => oracle.get(reader, path), () => callTool(one, 'query', target)],
    related: { ...one, endpoint: reads.related },
  };
}

/** The readable resources of the readers. */
const listCases = (oracle: Oracle, readers: readonly Reader[]): Case[] =>
  readers.flatMap((reader) =>
    oracle.fixture.versions.flatMap((version) =>
      version.endpoints
        .filter((endpoint) => readability(reader.access, version.version, endpoint) === 'readable')
        .map((endpoint) => ({ oracle, reader, version, endpoint, query: plainQuery, seed: 0 })),
    ),
  );

/**
 * Waits until the service has seen that the field is stale; a second is the longest that it may trust what it
 * knows.
 */
const settle = (ask: Ask): Promise<boolean> =>
  until(async () => (isStale(await ask()) ? true : undefined), 2_000).catch((error) =>
    expect.fail(String(error)),
  );

/**
 * Marks the field stale for as long as it checks, and the service believes so for up to a second more;
 * `check` names the case of a difference.
 */
export async function checkStale(
  oracle: Oracle,
  readers: readonly Reader[],
  check: (one: Case, work: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const source = 'owner';
  const cases = await Promise.all(
    listCases(oracle, readers).map(async (one) => ({ one, asks: await createAsks(one) })),
  );
  const isNamed = ({ reader, endpoint }: Case): boolean =>
    listConditions(reader.access, endpoint).some((named) => named.source === source);
  const types = [...new Set(cases.map(({ one }) => one.endpoint.recordType))];
  const probes = types.flatMap(
    (type) => cases.find(({ one }) => one.endpoint.recordType === type && isNamed(one)) ?? [],
  );
  await oracle.fixture.setStale(source);
  try {
    for (const { one, asks } of probes) await check(one, async () => void (await settle(asks[0] as Ask)));
    for (const { one, asks } of cases)
      await check(one, async () => {
        const answers = await Promise.all([...asks, ...asks].map((ask) => ask()));
        for (const answer of answers)
          expect(isStale(answer), `${answer.status} ${answer.text}`).toBe(isNamed(one));
        const expanded = expandedAsks(one);
        const isRefused = expanded !== undefined && (isNamed(one) || isNamed(expanded.related));
        for (const ask of expanded?.asks ?? []) {
          const answer = await ask();
          expect(isStale(answer), `${answer.status} ${answer.text}`).toBe(isRefused);
        }
      });
  } finally {
    await oracle.fixture.setStale(null);
  }
}
