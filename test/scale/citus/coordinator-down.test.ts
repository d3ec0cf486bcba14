// The coordinator is killed. A process that reads through the workers (WAREHOUSE_URL) goes on with the keys
// that it knows, as long as TRUST_DURING_OUTAGE_SECONDS allows; and it reads through another worker when the
// one it used is killed.
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { readConfig } from '../../../src/config.ts';
import { createLog } from '../../../src/core/log.ts';
import { openDatabase } from '../../../src/open-database.ts';
import { type Service, startService } from '../../../src/service.ts';
import { ask } from '../../ops/site.ts';
import { publishVersion } from '../../public/fixture.ts';
import { describeIf } from '../../setup/describe-if.ts';
import { makeKey } from '../../setup/organization.ts';
import { createScratchFolder } from '../../setup/scratch-folder.ts';
import { until } from '../../setup/until.ts';
import { datedFields, memoryErp, syncFixture } from '../../sync/fixture.ts';
import { type CitusDatabase, citusDatabase } from './harness/citus-database.ts';
import { type Node, noLocalCluster } from './harness/cluster.ts';

type Company = { readonly organizationId: string; readonly secret: string; readonly node: Node };

const endpoint = {
  name: 'things',
  recordType: 'thing',
  fields: [{ name: 'name', source: 'name' }],
  sorts: ['name'],
};
const paths = ['/v1/things', '/v1/things?sort=name&pageSize=5&page=2', '/v1/things/7', '/v1/things/changes'];

describeIf('the coordinator is down', noLocalCluster, () => {
  let database: CitusDatabase;
  let companies: Company[];
  let service: Service | undefined;

  async function makeCompany(): Promise<Company> {
    const fixture = await syncFixture(database.ctx, memoryErp(datedFields));
    for (let id = 1; id <= 20; id += 1) fixture.erp.put(id);
    expect((await fixture.sync()).status).toBe('succeeded');
    await publishVersion(database.ctx, fixture.organizationId, { endpoints: [endpoint] });
    const { secret } = await makeKey(database.ctx, fixture.organizationId, { permissions: ['write'] });
    return { organizationId: fixture.organizationId, secret, node: await database.getNode(fixture.schema) };
  }

  async function start(seconds: number): Promise<Service> {
    const hosts = database.cluster.workers
      .map(({ connection: { host, port } }) => `${host}:${port}`)
      .join(',');
    const config = readConfig({
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
    service = await startService(config, await openDatabase(config), createLog('silent'));
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

  const get = (url: string, { secret, organizationId }: Company) =>
    ask(url, 'get', undefined, { authorization: `Bearer ${secret}`, 'x-tenant-id': organizationId });
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
    await until(async () =>
      (await read(running, companies[0] as Company)).status === 503 ? true : undefined,
    );
  });

  it('reads of known keys go on through the workers, with the same entity tags, and management gets 503', async () => {
    const running = await start(60);
    const before = await readAll(running);
    expect(new Set(before.map(([status]) => status))).toEqual(new Set([200]));
    const readings = companies.map((company) => startReading(running, company));
    await database.cluster.kill('coordinator');
    await until(
      async () => (running.ctx.db.controlAvailability.unreachableForMs() ?? 0) > 2_000 || undefined,
    );
    expect(await readAll(running)).toEqual(before);
    for (const company of companies) expect((await whoami(running, company)).status).toBe(503);
    expect((await ask(`${running.localUrl}/readyz`)).body).toMatchObject({
      status: 'ready',
      checks: { database: "can't be reached; known API keys stay trusted", warehouse: 'ok' },
    });
    await database.cluster.start('coordinator');
    await until(async () =>
      (await whoami(running, companies[0] as Company)).status === 200 ? true : undefined,
    );
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
    await until(async () => ((await read(running, gone as Company)).status === 503 ? true : undefined));
    expect((await read(running, other)).status).toBe(200);
    await database.cluster.start(used.name);
    await until(async () => ((await read(running, gone as Company)).status === 200 ? true : undefined));
    expect(new Set(await stop())).toEqual(new Set([200]));
  });
});
