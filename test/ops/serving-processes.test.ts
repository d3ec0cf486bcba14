// PROCESSES: several processes behind one port, as an operator runs them. They answer as one, and outlive the end
// of any of them.
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { Agent, type IncomingMessage, request } from 'node:http';
import { createServer } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { base } from '../setup/api.ts';
import { openStream } from '../setup/event-stream.ts';
import { makeOrganization } from '../setup/organization.ts';
import { listenLocally } from '../setup/sockets.ts';
import { until } from '../setup/until.ts';
import { processes } from './machine.ts';
import { type ServingProcess, startScript, useOpsDatabase } from './server-process.ts';
import { openPublished, type Published, sync, useErpSite } from './site.ts';

const site = useErpSite();
const database = useOpsDatabase();
let server: ServingProcess;
let metricsUrl: string;
let company: Published['company'];
let configs: Published['configs'];
let list: string;
let headers: Record<string, string>;

async function freePort(): Promise<string> {
  const taken = createServer();
  const port = await listenLocally(taken);
  await new Promise((resolve) => taken.close(resolve));
  return String(port);
}

/** The children, by whether they sync. */
async function findChildren(parent: number | undefined): Promise<{ pid: number; syncs: boolean }[]> {
  const found = (await processes()).filter((each) => each.parent === parent && each.state !== 'Z');
  const commands = await Promise.all(
    found.map(async ({ pid }) => ({
      pid,
      command: await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''),
    })),
  );
  return commands.flatMap(({ pid, command }) =>
    command.includes('"syncs"') ? [{ pid, syncs: command.includes('"syncs":true') }] : [],
  );
}
const hasEnded = async (pid: number): Promise<boolean> =>
  !(await processes()).some((each) => each.pid === pid && each.state !== 'Z');

/** Without an agent each request has a connection of its own. */
async function get(url: string, agent?: Agent, given = headers): Promise<{ status: number; body: string }> {
  const sent = request(url, { agent: agent ?? false, headers: given }).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: answer.statusCode ?? 0, body: await text(answer) };
}
const getMany = (count: number, url: string, given = headers) =>
  Promise.all(Array.from({ length: count }, () => get(url, undefined, given)));
const countStatuses = (answers: readonly { status: number }[]): Record<number, number> =>
  Object.fromEntries(
    Object.entries(Object.groupBy(answers, ({ status }) => status)).map(([status, all]) => [
      status,
      all?.length ?? 0,
    ]),
  );

/** The sum of a metric's values whose labels match. */
async function readMetric(name: string, labels = /./): Promise<number> {
  const { body } = await get(`${metricsUrl}/metrics`);
  const values = body
    .split('\n')
    .filter((line) => line.startsWith(name) && labels.test(line))
    .map((line) => Number(line.slice(line.lastIndexOf(' '))));
  return values.reduce((sum, value) => sum + value, 0);
}

/** Kills a child, and waits until another one serves in its place. */
async function killChild(syncs: boolean): Promise<void> {
  const child = (await findChildren(server.child.pid)).find((each) => each.syncs === syncs);
  process.kill(child?.pid ?? 0, 'SIGKILL');
  const replaced = await server.line(
    ({ msg, pid }) => msg?.includes('it is replaced') === true && pid === child?.pid,
  );
  await server.line(
    (line) =>
      line.msg === 'serving' &&
      line['process'] === replaced['process'] &&
      String(line['time']) > String(replaced['time']),
  );
}

beforeAll(async () => {
  // The owner of the first organization gets a link at the start.
  await makeOrganization(database.ctx);
  const port = await freePort();
  metricsUrl = `http://127.0.0.1:${port}`;
  server = await database.start({ ...site.environment, PROCESSES: '2', METRICS_PORT: port });
  const published = await openPublished(database.address, server.url, site);
  ({ company, configs } = published);
  headers = { authorization: `Bearer ${(await company.newKey()).secret}`, 'x-tenant-id': company.id };
  list = `${server.url}/api/public/${published.version}/invoice`;
});

describe('two processes', () => {
  it('share the connections, and their metrics are those of one service', async () => {
    const counted = () => readMetric('portal_http_requests_total', /public.*status="200"/);
    const seen = server.lines().length;
    const before = await counted();
    expect(countStatuses(await getMany(100, list))).toEqual({ 200: 100 });
    await until(async () => (await counted()) >= before + 100);
    expect(await counted()).toBe(before + 100);
    const answered = server
      .lines()
      .slice(seen)
      .filter(({ msg, path: asked }) => msg === 'request' && String(asked).endsWith('/invoice'));
    const shares = [1, 2].map((number) => answered.filter((line) => line['process'] === number).length);
    // In turn, but for a process that has not yet taken its last one.
    expect(Math.min(...shares)).toBeGreaterThanOrEqual(25);
    expect(answered).toHaveLength(100);
    expect(await readMetric('portal_pool_size{pool="data"}')).toBe(10);
    expect(await readMetric('portal_database_figures_up')).toBe(1);
    expect((await get(`${metricsUrl}/tls-allowed?domain=other.example`)).status).toBe(403);
  });

  it('are ready, although one of them does not sync', async () => {
    const answers = await getMany(6, `${server.url}/readyz`);
    expect(countStatuses(answers)).toEqual({ 200: 6 });
    const checked = new Set(answers.map(({ body }) => body.includes('scheduler')));
    expect(checked).toEqual(new Set([true, false]));
  });

  it('share one rate limit, and one limit of failed authentications', async () => {
    const key = { authorization: `Bearer ${(await company.newKey()).secret}` };
    expect(countStatuses(await getMany(90, `${server.url}${base}/whoami`, key))).toEqual({
      200: 60,
      429: 30,
    });
    const wrong = { authorization: `Bearer psk_${'x'.repeat(49)}` };
    expect(countStatuses(await getMany(30, `${server.url}${base}/whoami`, wrong))).toEqual({
      401: 20,
      429: 10,
    });
  });

  it('share one limit of streams, from which those of a killed process are released', async () => {
    const followed = `${list}/changes`;
    const open = () => openStream(followed, headers);
    const opened = await Promise.all(Array.from({ length: 60 }, open));
    const accepted = opened.filter(({ response }) => response.status === 200);
    expect([accepted.length, countStatuses(opened.map(({ response }) => response))]).toEqual([
      50,
      { 200: 50, 429: 10 },
    ]);
    accepted[0]?.close();
    const another = await until(async () => {
      const stream = await open();
      return stream.response.status === 200 && stream;
    });
    await killChild(false);
    const more = await until(async () => {
      const streams = await Promise.all(Array.from({ length: 10 }, open));
      return streams.every(({ response }) => response.status === 200) && streams;
    });
    for (const stream of [...accepted, another, ...more]) stream.close();
  });
});

it('a stopped process does not hold up the metrics, nor the question for a hostname', async () => {
  const total = () => readMetric('portal_http_requests_total');
  const before = await total();
  const child = (await findChildren(server.child.pid)).find(({ syncs }) => !syncs);
  process.kill(child?.pid ?? 0, 'SIGSTOP');
  onTestFinished(() => void process.kill(child?.pid ?? 0, 'SIGCONT'));
  expect(await total()).toBeGreaterThanOrEqual(before);
  expect((await get(`${metricsUrl}/tls-allowed?domain=other.example`)).status).toBe(403);
});

describe('a killed process', () => {
  it('is replaced: the other one answers meanwhile, syncs go on, and no counter falls', async () => {
    const total = () => readMetric('portal_http_requests_total');
    await getMany(20, list);
    const before = await total();
    await killChild(false);
    expect(await total()).toBeGreaterThanOrEqual(before);
    await killChild(true);
    expect(await total()).toBeGreaterThanOrEqual(before);
    expect(countStatuses(await getMany(20, list))).toEqual({ 200: 20 });
    expect(await sync(company, server.url, configs.get('customer'))).toMatchObject({ status: 'succeeded' });
    const children = await findChildren(server.child.pid);
    expect(children.map(({ syncs }) => syncs).sort()).toEqual([false, true]);
  });
});

describe('SIGHUP', () => {
  it('leaves the old processes when a new one cannot start', async () => {
    const before = await findChildren(server.child.pid);
    // It would make the tables again, which are there.
    const name = '0002_identity.ts';
    const [applied] = await database.query<{ id: number; batch: number }>(
      'delete from knex_migrations where name = $1 returning id, batch',
      [name],
    );
    server.child.kill('SIGHUP');
    await server.line(({ msg }) => msg?.startsWith('a new process could not start') === true);
    await database.query(
      'insert into knex_migrations (id, name, batch, migration_time) values ($1, $2, $3, now())',
      [applied?.id, name, applied?.batch],
    );
    expect(countStatuses(await getMany(20, list))).toEqual({ 200: 20 });
    const after = await findChildren(server.child.pid);
    expect(after.map(({ pid }) => pid).sort()).toEqual(before.map(({ pid }) => pid).sort());
  });

  it('replaces all processes, and no request fails', async () => {
    const before = await findChildren(server.child.pid);
    const agent = new Agent({ keepAlive: true, maxSockets: 8 });
    const statuses: number[] = [];
    let isOver = false;
    const call = async (): Promise<void> => {
      while (!isOver) statuses.push((await get(list, agent)).status);
    };
    const stream = await openStream(`${list}/changes`, headers);
    const calls = Array.from({ length: 8 }, call);
    server.child.kill('SIGHUP');
    await server.line(({ msg }) => msg === 'restarted');
    isOver = true;
    await Promise.all(calls);
    agent.destroy();
    expect(statuses.length).toBeGreaterThan(100);
    expect(countStatuses(statuses.map((status) => ({ status })))).toEqual({ 200: statuses.length });
    await stream.rest();
    const after = await findChildren(server.child.pid);
    expect(after).toHaveLength(2);
    expect(after.filter(({ pid }) => before.some((each) => each.pid === pid))).toEqual([]);
  });
});

describe('the end', () => {
  it('by SIGTERM is graceful, also for those that a terminal signals at once', async () => {
    const children = await findChildren(server.child.pid);
    for (const { pid } of children) process.kill(pid, 'SIGINT');
    expect(await server.stop()).toBe(0);
    expect(server.lines().filter(({ msg }) => msg === 'stopped').length).toBeGreaterThanOrEqual(2);
    expect(await Promise.all(children.map(({ pid }) => hasEnded(pid)))).toEqual([true, true]);
    // Only the first process printed the link of the owner, and none of those that were started later.
    expect(server.output().stderr.match(/^To sign in as \S+, open this link/gm)).toHaveLength(1);
  });

  it('takes the embedded PostgreSQL along, also when the parent is killed', async () => {
    const environment = { DATA_DIR: path.join(database.folder, 'own'), PORT: '0', PROCESSES: '2' };
    const pidFile = path.join(environment.DATA_DIR, 'postgres-18/postmaster.pid');
    const start = async () => {
      const started = startScript(['serve'], process.cwd(), environment);
      await started.line(({ msg }) => msg === 'listening');
      return started;
    };
    const isThere = () =>
      stat(pidFile).then(
        () => true,
        () => false,
      );
    const first = await start();
    expect(await isThere()).toBe(true);
    expect(await first.stop()).toBe(0);
    expect(await isThere()).toBe(false);
    const second = await start();
    const children = await findChildren(second.child.pid);
    expect(children).toHaveLength(2);
    second.child.kill('SIGKILL');
    await until(async () => !(await isThere()));
    for (const { pid } of children) await until(() => hasEnded(pid));
  });
});

describe('a start that cannot succeed', () => {
  it.each(['0', '65', 'x', '1.5', '-1'])('PROCESSES=%s is refused', async (value) => {
    const { code, stderr } = await database.run(['serve'], { PROCESSES: value });
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('PROCESSES: must be auto or a whole number from 1 to 64'),
    ]);
  });

  it('prints its reason once', async () => {
    const taken = createServer();
    const port = String(await listenLocally(taken));
    const [inUse, tooMany] = await Promise.all([
      database.run(['serve'], { PROCESSES: '2', PORT: port }),
      database.run(['serve'], { PROCESSES: '64' }),
    ]);
    taken.close();
    expect([inUse.code, inUse.stderr.match(/is in use/g)]).toEqual([1, ['is in use']]);
    expect([tooMany.code, tooMany.stderr]).toEqual([
      1,
      expect.stringMatching(
        /^PROCESSES=64 needs \d+ connections to PostgreSQL.* are free\. Raise max_connections/,
      ),
    ]);
  });
});
