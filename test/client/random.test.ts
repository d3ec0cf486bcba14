// Clients of random published versions compile, refuse what the versions don't have, and read what plain
// requests read, in TypeScript and Python. openapi-typescript judges the types.
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import openapiTS, { astToString } from 'openapi-typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pull } from '../../packages/client/src/cli/pull.ts';
import { createTransport } from '../../packages/client/src/transport.ts';
import { createApp } from '../../src/app.ts';
import { listen } from '../contract/http.ts';
import { type Get, openOrganization } from '../public/fixture.ts';
import { describeTargets } from '../public/related.ts';
import { testDatabase } from '../setup/database.ts';
import { notRun } from '../setup/not-run.ts';
import { useStarted } from '../setup/use-started.ts';
import { type ClientProject, createClientProject, findPython } from './project.ts';
import { writePythonMain, writePythonScenario } from './python-scenario.ts';
import { type RandomEndpoint, type RandomVersion, randomRows, randomVersions } from './random-versions.ts';
import { findEquality, writeJudgement, writeScenario } from './typescript-scenario.ts';

const seed = Number(process.env['PROPERTY_SEED'] ?? 20_261_130);
const versions = randomVersions(seed, Number(process.env['CLIENT_VERSIONS'] ?? 12));
const database = useStarted(testDatabase);
const server = useStarted(() => listen(createApp(database.ctx)));
let project: ClientProject;
let get: Get;
let options: { baseUrl: string; key: string };
let environment: Record<string, string>;

const clients = [
  { lang: 'ts', integers: 'text', out: 'src/text' },
  { lang: 'ts', integers: 'bigint', out: 'src/bigint' },
  { lang: 'python', integers: 'text', out: 'portal' },
] as const;

beforeAll(async () => {
  project = await createClientProject();
  const organization = await openOrganization(database.ctx, createApp(database.ctx), {
    rows: randomRows(seed, 9),
    versions: [],
  });
  await describeTargets(database.ctx, organization.organizationId, { invoice: { entity: 'invoice' } });
  for (const version of versions)
    await organization.publish({
      version: version.version,
      endpoints: version.endpoints.map((endpoint) => ({ ...endpoint, recordType: 'invoice' })),
    });
  ({ get } = organization);
  options = { baseUrl: server.url, key: (await organization.key()).secret };
  environment = { PORTAL_URL: options.baseUrl, PORTAL_KEY: options.key };
});
afterAll(() => project.remove());

type Json = { readonly [name: string]: unknown };

/** What plain requests of the resource answer. */
async function readPlainly(version: string, endpoint: RandomEndpoint) {
  const { name, aggregates, relations } = endpoint;
  const base = `/${version}/${name}`;
  const body = async (address: string) => (await get(address)).body;
  const { data } = await body(`${base}?pageSize=100`);
  const equal = findEquality(endpoint);
  const value =
    equal === undefined ? null : (data as Json[]).map((row) => row[equal]).find((each) => each !== null);
  const isFiltered = equal !== undefined && value !== null && value !== undefined;
  const relation = relations?.[0]?.name;
  return {
    list: data,
    changes: (await body(`${base}/changes`)).data,
    first: (await body(`${base}/${data[0].id}`)).data,
    ...(isFiltered && {
      filtered: (await body(`${base}?${new URLSearchParams([[equal, String(value)]])}`)).data,
    }),
    ...(aggregates !== undefined && {
      summary: (await body(`${base}/summary?sum=${aggregates[0]?.field}&count=true`)).data,
    }),
    ...(relation !== undefined && { related: (await body(`${base}?expand=${relation}&fields=id`)).data }),
  };
}

/** The component of each record, as the description names it. */
async function readRecordNames(version: string): Promise<(resource: string) => string> {
  const { paths } = (await get(`/openapi/${version}`)).body;
  return (resource) => {
    const schemaOf = (content: string) =>
      paths[`/${version}/${resource}`].get.responses[200].content[content].schema.$ref;
    return schemaOf('application/x-ndjson').split('/').at(-1);
  };
}

/** openapi-typescript fails for names that every object has, such as `constructor`. */
const unjudged = [...Object.getOwnPropertyNames(Object.prototype), 'invoice-selections'];
const canBeJudged = (version: RandomVersion): boolean =>
  !unjudged.some((name) => JSON.stringify(version).includes(`"${name}"`));

async function writePrograms(): Promise<void> {
  const transport = createTransport(options);
  for (const { version } of versions)
    for (const client of clients)
      await pull(transport, { ...client, folder: project.folder, version }, () => undefined);
  await mkdir(path.join(project.folder, 'judge'));
  for (const version of versions) {
    const names = await readRecordNames(version.version);
    const { text } = await get(`/openapi/${version.version}`);
    await project.write({
      [`text-${version.version}.ts`]: writeScenario(version, 'text'),
      [`bigint-${version.version}.ts`]: writeScenario(version, 'bigint'),
      [`scenario_${version.version}.py`]: writePythonScenario(version, names),
    });
    if (canBeJudged(version))
      await project.write({
        [`judge-${version.version}.ts`]: writeJudgement(version, names),
        [`judge/${version.version}.ts`]: astToString(await openapiTS(text)),
      });
  }
  await project.write({ 'main.py': writePythonMain(versions), 'main.ts': main });
}

const main = `import process from 'node:process';
const [, , integers = '', ...versions] = process.argv;
const options = { baseUrl: process.env['PORTAL_URL'] ?? '', key: process.env['PORTAL_KEY'] ?? '' };
const found: Record<string, unknown> = {};
for (const version of versions)
  found[version] = await (await import(\`./\${integers}-\${version}.ts\`)).run(options);
console.log(JSON.stringify(found, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)));
`;

/** What a program read must be what plain requests read. */
async function compare(stdout: string, without = ''): Promise<void> {
  const found = JSON.parse(stdout);
  for (const { version, endpoints } of versions)
    for (const endpoint of endpoints) {
      const plain = await readPlainly(version, endpoint);
      const { list, exported, changes, filtered, first, summary, related } = found[version][endpoint.name];
      const what = `${version} ${endpoint.name}`;
      expect({ list, exported, first, filtered, summary, related }, what).toEqual({
        ...{ list: plain.list, exported: plain.list, first: plain.first },
        ...{
          filtered: findEquality(endpoint) === without ? undefined : plain.filtered,
          summary: plain.summary,
          related: plain.related,
        },
      });
      expect(changes, what).toEqual([{ op: 'reset' }, ...plain.changes]);
    }
}

describe('clients of random published versions', () => {
  beforeAll(writePrograms);

  it('compile under the strictest rules, refuse unknown names, and have the types of openapi-typescript', async () => {
    expect(await project.compile()).toEqual({ '5.9': '', '7': '' });
  });

  it.each(['text', 'bigint'])('read what plain requests read, with integers as %s', async (integers) => {
    const names = versions.map(({ version }) => version);
    const ran = await project.run(process.execPath, ['main.ts', integers, ...names], environment);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    await compare(ran.stdout);
  });

  it('read the same in Python, and pass its type checker', async (context) => {
    const python = await findPython();
    if (typeof python === 'string') return context.skip(notRun(python));
    expect(await project.checkPython()).toBe('');
    const ran = await project.run('python3', ['main.py'], environment);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    await compare(ran.stdout, 'get');
  });
});
