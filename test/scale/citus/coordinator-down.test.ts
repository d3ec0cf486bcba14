// The coordinator is killed. A process that reads through the workers (WAREHOUSE_URL) goes on with the keys
// that it knows, as long as TRUST_DURING_OUTAGE_SECONDS allows; and it reads through another worker when the
// one it used is killed.
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { Service } from '../../../src/service.ts';
import { ask } from '../../ops/site.ts';
import { describeIf } from '../../setup/describe-if.ts';
import { createScratchFolder } from '../../setup/scratch-folder.ts';
import { until } from '../../setup/until.ts';
import { startProcess } from '../harness/replicated-service.ts';
import { openThings, type Things } from '../harness/things.ts';
import { type CitusDatabase, citusDatabase } from './harness/citus-database.ts';
import { type Node, noLocalCluster } from './harness/cluster.ts';

type Company = Things & { readonly node: Node };
const paths = ['/v1/things', '/v1/things?sort=name&pageSize=5&page=2', '/v1/things/7', '/v1/things/changes'];

describeIf('the coordinator is down', noLocalCluster, () => {
  let database: CitusDatabase;
  let companies: Company[];
  let service: Service | undefined;

  async function makeCompany(): Promise<Company> {
    const things = await openThings(database.ctx);
    return { ...things, node: await database.getNode(things.fixture.schema) };
  }

  async function start(seconds: number): Promise<Service> {
    const hosts = database.cluster.workers
      .map(({ connection: { host, port } }) => `${host}:${port}`)
      .join(',');
    service = await startProcess({
      PORT: '0',
      LOG_LEVEL: 'silent',
      SYNC_WORKERS: '0',
      SHUTDOWN_SECONDS: '1',
      DATA_DIR: await createScratchFolder('portal-coordinator-'),
      DATABASE_URL: database.serviceUrl(),
      MIGRATION_DATABASE_URL: database.cluster.databaseUrl,
      WAREHOUSE_URL: `${database.serviceUrl().replace(/@[^/]+/, `@${hosts}`)}?target_session_attrs=read-write`,
      TRUST_DURING_OUTAGE_SECONDS: String(seconds),
    });
    return service;
  }

  beforeAll(async () => {
    database = await citusDatabase();
    const first = await makeCompany();
    companies = [first];
    while (companies.length < 2) {
      const next = await makeCompany();
      if (next.node.name !== first.node.name) companies.push(next);
    }
  });
  afterEach(async () => {
    await service?.stop();
    service = undefined;
    for (const { name } of [database.cluster.coordinator, ...database.cluster.workers])
      await database.cluster.start(name).catch(() => undefined);
  });
  afterAll(() => database?.close());

  const get = (url: string, { headers }: Company) => ask(url, 'get', undefined, headers);
  const read = ({ localUrl }: Service, company: Company, path = '/v1/things') =>
    get(`${localUrl}/api/public${path}`, company);
  const whoami = ({ localUrl }: Service, company: Company) =>
    get(`${localUrl}/api/platform/v1/whoami`, company);
  const readAll = (running: Service) =>
    Promise.all(
      companies.flatMap((company) =>
        paths.map(async (path) => {
          const { status, headers } = await read(running, company, path);
          return [status, headers.get('etag')] as const;
        }),
      ),
    );

  /** Reads of a company until the returned function is called; it returns their statuses. */
  function startReading(running: Service, company: Company): () => Promise<number[]> {
    const statuses: number[] = [];
    let isOver = false;
    const reading = (async () => {
      while (!isOver) statuses.push((await read(running, company)).status);
    })();
    return async () => {
      isOver = true;
      await reading;
      return statuses;
    };
  }

  it('everyone gets 503 without TRUST_DURING_OUTAGE_SECONDS', async () => {
    const running = await start(0);
    expect(new Set((await readAll(running)).map(([status]) => status))).toEqual(new Set([200]));
    await database.cluster.kill('coordinator');
    await until(async () => (await read(running, companies[0] as Company)).status === 503);
  });

  it('reads of known keys go on through the workers, with the same entity tags, and management gets 503', async () => {
    const running = await start(60);
    const before = await readAll(running);
    expect(new Set(before.map(([status]) => status))).toEqual(new Set([200]));
    const readings = companies.map((company) => startReading(running, company));
    await database.cluster.kill('coordinator');
    await until(async () => (running.ctx.db.controlAvailability.unreachableForMs() ?? 0) > 2_000);
    expect(await readAll(running)).toEqual(before);
    for (const company of companies) expect((await whoami(running, company)).status).toBe(503);
    expect((await ask(`${running.localUrl}/readyz`)).body).toMatchObject({
      status: 'ready',
      checks: { database: "can't be reached; known API keys stay trusted", warehouse: 'ok' },
    });
    await database.cluster.start('coordinator');
    await until(async () => (await whoami(running, companies[0] as Company)).status === 200);
    for (const stop of readings) expect(new Set(await stop())).toEqual(new Set([200]));
  });

  it('reads go on through another worker when the one in use is killed', async () => {
    const running = await start(0);
    await readAll(running);
    const { rows } = await running.ctx.db.data.query<{ port: number }>('select inet_server_port() as port');
    const used = database.cluster.workers.find(({ connection }) => connection.port === rows[0]?.port);
    const [other] = companies.filter(({ node }) => node.name !== used?.name);
    if (used === undefined || other === undefined) throw new Error('the process reads through no worker');
    const stop = startReading(running, other);
    await database.cluster.kill(used.name);
    const [gone] = companies.filter(({ node }) => node.name === used.name);
    await until(async () => (await read(running, gone as Company)).status === 503);
    expect((await read(running, other)).status).toBe(200);
    await database.cluster.start(used.name);
    await until(async () => (await read(running, gone as Company)).status === 200);
    expect(new Set(await stop())).toEqual(new Set([200]));
  });
});
