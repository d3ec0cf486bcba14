// A server is lost and its backup restored into an empty one, with the commands in docs/backup.md, each in a
// process of its own.
import { copyFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEmbedded } from '../../src/db/embedded/embedded.ts';
import { type Api, createApi } from '../setup/api.ts';
import { type ClientPrograms, findClientPrograms } from '../setup/client-programs.ts';
import { dataFolder, type Erp, startErp } from '../setup/erp.ts';
import { notRun } from '../setup/not-run.ts';
import { openScratchFolder } from '../setup/scratch-folder.ts';
import { until } from '../setup/until.ts';
import { copyCluster, dumpDatabase, restoreDump, serverMajor } from './backup.ts';
import { runCommand, type ServingProcess, startServer } from './server-process.ts';

type Held = Awaited<ReturnType<typeof hold>>;

let folder: string;
let remove: () => Promise<void>;
let erp: Erp;
let environment: Record<string, string>;
let organization: { id: string; slug: string; managementKey: string };
let readerKey: string;
let configId: string;
/** What clients held when the backup was taken, and when the server was lost. */
let atBackup: Held;
let atLoss: Held;
let dumped: ClientPrograms | string;
const servers: ServingProcess[] = [];

const place = (name: string) => ({ url: '', folder: path.join(folder, name) });
const report = () => path.join(folder, 'report.json');
const dumpFile = () => path.join(folder, 'portal.dump');

async function serve(name: string): Promise<{ server: ServingProcess; api: Api }> {
  const server = await startServer(place(name), environment);
  servers.push(server);
  return { server, api: createApi(server.url, organization.managementKey) };
}
const stop = async (server: ServingProcess): Promise<void> => expect(await server.stop()).toBe(0);
async function admin(name: string, ...args: string[]) {
  const { code, stdout, stderr } = await runCommand(place(name), ['admin', ...args, '--json'], environment);
  if (stdout === '') throw new Error(stderr);
  return { code, json: JSON.parse(stdout) as Record<string, unknown> };
}

const publicly = ({ url }: ServingProcess, address: string, headers: Record<string, string> = {}) =>
  fetch(`${url}/api/public${address}`, {
    headers: { authorization: `Bearer ${readerKey}`, 'x-tenant-id': organization.id, ...headers },
  });

const newest = '/v1/invoices?pageSize=100&sort=modified&order=desc';

/** Pages are cached for a second: reads until the page is of `generation`, if that is given. */
async function hold(server: ServingProcess, generation?: unknown) {
  const list = await until(async () => {
    const answer = await publicly(server, newest);
    expect(answer.status).toBe(200);
    return generation === undefined || answer.headers.get('x-data-generation') === generation
      ? answer
      : undefined;
  });
  const { data, pagination } = (await list.json()) as {
    data: { id: string }[];
    pagination: { total: number };
  };
  const { next } = (await (await publicly(server, '/v1/invoices/changes')).json()) as { next: string };
  const description = Buffer.from(await (await publicly(server, '/openapi/v1')).arrayBuffer());
  return {
    tag: list.headers.get('etag') ?? '',
    token: next,
    description,
    records: data,
    total: pagination.total,
  };
}

async function synced(api: Api, runId: string): Promise<Record<string, unknown>> {
  return until(async () => {
    const { body } = await api('get', `/sync-runs/${runId}`);
    if (['partial', 'failed', 'cancelled'].includes(body.status)) throw new Error(JSON.stringify(body));
    return body.status === 'succeeded' ? body : undefined;
  }, 100_000);
}
const sync = async (api: Api) =>
  synced(api, (await api('post', `/sync-configs/${configId}/trigger`, {})).body.id);

async function setUp(api: Api): Promise<void> {
  await erp.connect(api);
  expect((await api('post', '/netsuite/metadata/refresh')).status).toBe(200);
  const config = await api('post', '/sync-configs', { name: 'invoices', recordType: 'invoice' });
  configId = config.body.id;
  await sync(api);
  const fields = [
    { name: 'number', source: 'tranid' },
    { name: 'modified', source: 'lastmodifieddate' },
    { name: 'due', source: 'foreignamountunpaid' },
  ];
  const draft = await api('post', '/api-schema', {
    name: 'x',
    endpoints: [{ name: 'invoices', recordType: 'invoice', fields, sorts: ['modified'] }],
  });
  const { id, revision } = draft.body;
  expect((await api('post', `/api-schema/${id}/publish`, { revision })).status).toBe(202);
  await until(async () => (await api('get', `/api-schema/${id}`)).body.status === 'published');
}

/** Sets up a service, takes a backup, and continues until the server is lost. */
beforeAll(async () => {
  ({ folder, remove } = await openScratchFolder('portal-restore-'));
  erp = await startErp(dataFolder, { replayFrom: '2011-08-29' });
  environment = {
    ALLOWED_ERP_HOSTS: erp.host,
    ALLOW_PRIVATE_ERP_HOSTS: 'true',
    RATE_LIMIT_PER_MINUTE: '10000',
  };
  const owner = ['--owner-email', 'ada@example.test'];
  const made = await admin('lost', 'create-organization', '--name', 'Acme', ...owner);
  organization = made.json as typeof organization;
  const first = await serve('lost');
  await setUp(first.api);
  const reader = ['--user', 'ada@example.test', '--name', 'Reader', '--versions', 'v1'];
  const issued = await admin('lost', 'issue-key', '--organization', organization.slug, ...reader);
  readerKey = String(issued.json['secret']);
  atBackup = await hold(first.server);
  const verified = await admin('lost', 'verify-restore');
  expect(verified.code).toBe(0);
  await writeFile(report(), JSON.stringify(verified.json));
  await stop(first.server);
  await atRest('lost');
  await copyCluster(place('lost').folder, place('copied').folder);
  await saveByClient();
  const again = await serve('lost');
  await erp.account.advanceTo('2011-09-02');
  expect(await sync(again.api)).toMatchObject({ counts: { fetched: expect.any(Number) } });
  atLoss = await hold(again.server);
  await again.server.kill();
});

/**
 * Stops the cluster, also when its last process left it running because it ended before its own connections
 * were closed.
 */
const atRest = (name: string): Promise<true> =>
  until(async () => await (await startEmbedded(place(name).folder)).stop());

async function saveByClient(): Promise<void> {
  const { connection, stop: leave } = await startEmbedded(place('lost').folder);
  try {
    dumped = await findClientPrograms(await serverMajor(connection));
    if (typeof dumped !== 'string') await dumpDatabase(dumped, connection, dumpFile());
  } finally {
    await leave();
  }
}

afterAll(async () => {
  for (const server of servers) await server.kill();
  for (const name of ['lost', 'copied', ...(typeof dumped === 'object' ? ['dumped'] : [])])
    await atRest(name);
  await erp.stop();
  await remove();
});

/** Checks the guarantees for a restored service, and that it catches up with the ERP. */
async function expectRestored(name: string): Promise<void> {
  const finished = await admin(name, 'finish-restore');
  expect(finished.code).toBe(0);
  expect(finished.json).toMatchObject({
    organizations: [{ slug: organization.slug, tables: 1, runs: { queued: 1 } }],
    verified: { problems: [] },
  });
  expect(await admin(name, 'verify-restore', '--against', report())).toMatchObject({
    code: 0,
    json: { problems: [] },
  });
  const { server, api } = await serve(name);
  for (const { tag, token } of [atBackup, atLoss]) {
    const answer = await publicly(server, newest, { 'if-none-match': tag });
    expect([answer.status, answer.headers.get('etag') === tag]).toEqual([200, false]);
    const changes = await publicly(server, `/v1/invoices/changes?since=${token}`);
    expect([changes.status, await changes.json()]).toMatchObject([
      410,
      { error: { details: [{ code: 'token_expired' }] } },
    ]);
  }
  const [queued] = (await api('get', '/sync-runs?pageSize=1')).body.data;
  const run = await synced(api, queued.id);
  expect(run).toMatchObject({ trigger: 'manual' });
  const after = await hold(server, run['generation']);
  expect(after.description.equals(atBackup.description)).toBe(true);
  expect([after.total, after.records]).toEqual([atLoss.total, atLoss.records]);
  expect(after.total).toBeGreaterThan(atBackup.total);
  expect([atBackup.tag, atLoss.tag]).not.toContain(after.tag);
  await stop(server);
}

describe('a backup in an empty server', () => {
  it('copied from a stopped cluster: keys, versions, tags and tokens behave as guaranteed, and the records catch up with the ERP', async () => {
    await expectRestored('copied');
  });

  it('dumped and restored with pg_dump and pg_restore', async ({ skip }) => {
    if (typeof dumped === 'string') return skip(notRun(dumped));
    await restoreDump(dumped, dumpFile(), place('dumped').folder);
    await copyFile(
      path.join(place('lost').folder, 'encryption-key'),
      path.join(place('dumped').folder, 'encryption-key'),
    );
    await expectRestored('dumped');
  });
});
