// A worker of the cluster is killed: its organizations get 503 and wait, all others read and sync on. What
// needs changes of tables waits too, shows that it does, and continues by itself.
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { finishDeletions } from '../../../src/platform/organizations/finish-deletions.ts';
import type { Service } from '../../../src/service.ts';
import { type Scheduler, startScheduler } from '../../../src/sync/index.ts';
import { freezeServer, processes } from '../../ops/machine.ts';
import { ask } from '../../ops/site.ts';
import { publishVersion } from '../../public/fixture.ts';
import { testSettings } from '../../setup/database.ts';
import { describeIf } from '../../setup/describe-if.ts';
import { makeKey, makeSession } from '../../setup/organization.ts';
import { createScratchFolder } from '../../setup/scratch-folder.ts';
import { findStablePort } from '../../setup/stable-port.ts';
import { until } from '../../setup/until.ts';
import { field, type MemoryErp, type SyncFixture } from '../../sync/fixture.ts';
import { startProcess } from '../harness/replicated-service.ts';
import { openThings, type Things, thingsEndpoint } from '../harness/things.ts';
import { type CitusDatabase, citusDatabase } from './harness/citus-database.ts';
import { type Node, noLocalCluster } from './harness/cluster.ts';

type Company = Things & { readonly node: Node; readonly ownerId: string };
const management = '/api/platform/v1';

describeIf('a worker is down', noLocalCluster, () => {
  let database: CitusDatabase;
  let service: Service;
  let metricsPort: number;
  /** On a worker each: the first one's stays up. */
  let near: Company;
  let far: Company;
  let scheduler: Scheduler | undefined;
  const erps = new Map<string, MemoryErp>();

  async function makeCompany(): Promise<Company> {
    const things = await openThings(database.ctx, 20, { deletions: 'feed', maxDeleteShare: 1 });
    const { fixture, organizationId } = things;
    erps.set(organizationId, fixture.erp);
    const [owner] = await database.cluster.coordinator.query<{ id: string }>(
      'select user_id as id from memberships where organization_id = $1',
      [organizationId],
    );
    return { ...things, node: await database.getNode(fixture.schema), ownerId: owner?.id ?? '' };
  }

  const environment = async () => ({
    PORT: '0',
    METRICS_PORT: String(metricsPort),
    LOG_LEVEL: 'silent',
    SYNC_WORKERS: '0',
    // So few that three organizations could take all connections for reads.
    DATA_POOL_SIZE: '4',
    ALLOW_SIGNUP: 'true',
    RATE_LIMIT_PER_MINUTE: '100000',
    DATA_DIR: await createScratchFolder('portal-node-down-'),
    DATABASE_URL: database.serviceUrl(),
    MIGRATION_DATABASE_URL: database.cluster.databaseUrl,
  });

  beforeAll(async () => {
    database = await citusDatabase({ settings: { sync: { ...testSettings.sync, metadataMaxAgeMs: 0 } } });
    metricsPort = await findStablePort();
    service = await startProcess(await environment());
    near = await makeCompany();
    do far = await makeCompany();
    while (far.node.name === near.node.name);
  });
  afterEach(async () => {
    await scheduler?.stop();
    scheduler = undefined;
    await database.cluster.start(far.node.name).catch(() => undefined);
    await until(async () => (await read(far)).status === 200);
  });
  afterAll(async () => {
    await service?.stop();
    await database?.close();
  });

  const read = ({ headers }: Company, path = '/v1/things') =>
    ask(`${service.localUrl}/api/public${path}`, 'get', undefined, headers);
  const call = ({ secret }: Company, method: 'get' | 'post' | 'patch', path: string, body?: unknown) =>
    ask(`${service.localUrl}${management}${path}`, method, body, { authorization: `Bearer ${secret}` });
  const startWorkers = (): void => {
    scheduler = startScheduler(database.ctx, {
      createConnector: async ({ organizationId }) => getErp(organizationId).connector,
    });
  };
  const getErp = (organizationId: string): MemoryErp => {
    const erp = erps.get(organizationId);
    if (erp === undefined) throw new Error('no such company');
    return erp;
  };
  const readChecks = async () => (await ask(`${service.localUrl}/readyz`)).body;
  const readMetric = async (name: string, kind: string): Promise<number> => {
    const { text } = await ask(`http://127.0.0.1:${metricsPort}/metrics`);
    const line = text.split('\n').find((each) => each.startsWith(`${name}{kind="${kind}"}`));
    return Number(line?.slice(line.lastIndexOf(' ')) ?? Number.NaN);
  };
  /** Returns the function that resumes the node. */
  async function freeze(node: Node): Promise<() => void> {
    const [backend] = await node.query<{ pid: number }>(
      "select pid from pg_stat_activity where backend_type = 'checkpointer'",
    );
    const postmaster = (await processes()).find(({ pid }) => pid === backend?.pid)?.parent;
    if (postmaster === undefined) throw new Error('the node has no processes');
    return freezeServer(postmaster);
  }
  const waitsFor = (fixture: SyncFixture, id: string, code: string) =>
    until(async () => {
      const run = await fixture.row(id);
      return run.status === 'waiting' && run.error?.code === code ? run : undefined;
    });
  const succeeded = (fixture: SyncFixture, id: string) =>
    until(async () => (await fixture.row(id)).status === 'succeeded');

  it('answers 503 at once for its organizations, and everything for the others', async () => {
    const replies = { near: [] as number[], far: [] as number[], farMs: [] as number[] };
    let isOver = false;
    const reading = Promise.all(
      (['near', 'far'] as const).map(async (name) => {
        while (!isOver) {
          const { status, ms } = await read(name === 'near' ? near : far);
          replies[name].push(status);
          if (name === 'far') replies.farMs.push(ms);
        }
      }),
    );
    await database.cluster.kill(far.node.name);
    await until(async () => replies.far.includes(503));
    near.fixture.erp.put(21);
    const synced = await near.fixture.sync('incremental');
    expect(synced).toMatchObject({ status: 'succeeded', counts: { inserted: 1 } });
    const whole = await read(near, '/v1/things?pageSize=100');
    expect(whole.body.pagination.total).toBe(21);
    const refused = await read(far);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2']);
    // What needs no records works.
    expect((await call(far, 'get', '/api-keys')).status).toBe(200);
    await database.cluster.start(far.node.name);
    await until(async () => (await read(far)).status === 200);
    isOver = true;
    await reading;
    expect(new Set(replies.near)).toEqual(new Set([200]));
    expect(new Set(replies.far)).toEqual(new Set([200, 503]));
    expect(Math.max(...replies.farMs)).toBeLessThan(service.ctx.settings.readTimeoutMs);
  });

  it('leaves connections for the others when it is frozen: its organizations get 503, and everything else is answered', async () => {
    const more: Company[] = [far];
    while (more.length < 3) {
      const company = await makeCompany();
      if (company.node.name === far.node.name) more.push(company);
    }
    // A process knows within a second on which worker the records are that it reads.
    for (const startedMs = performance.now(); performance.now() - startedMs < 2_500; )
      await Promise.all(more.map((company) => read(company)));
    const thaw = await freeze(far.node);
    let isOver = false;
    const readers = more.flatMap((company) =>
      Array.from({ length: 4 }, () => ({ company, statuses: [] as number[] })),
    );
    const answered: number[] = [];
    const reading = [
      ...readers.map(async ({ company, statuses }) => {
        while (!isOver) {
          const { status } = await read(company);
          if (!isOver) statuses.push(status);
        }
      }),
      (async () => {
        while (!isOver) answered.push((await read(near)).status);
      })(),
    ];
    // All permits that they can get, until the first reads have ended by their time limit.
    await until(async () => readers.every(({ statuses }) => statuses.includes(503)));
    near.fixture.erp.put(40);
    expect((await near.fixture.sync('incremental')).status).toBe('succeeded');
    isOver = true;
    thaw();
    await Promise.all(reading);
    // At first, what a process still trusts.
    for (const { statuses } of readers) expect(statuses.join()).toMatch(/^(200,)*503(,503)*$/);
    expect(new Set(answered)).toEqual(new Set([200]));
    await until(async () => (await read(far)).status === 200);
  });

  it("its organizations' runs wait for it, however often they are tried, and continue by themselves", async () => {
    await database.cluster.kill(far.node.name);
    far.fixture.erp.put(22);
    const id = await far.fixture.queue('incremental');
    startWorkers();
    await until(
      async () =>
        (await far.fixture.row(id)).attempt > database.ctx.settings.sync.maxAttemptsWithoutProgress + 3,
    );
    const run = await waitsFor(far.fixture, id, 'WAREHOUSE_SERVER_DOWN');
    expect(run.attempts_without_progress).toBeLessThanOrEqual(1);
    const shown = await call(far, 'get', `/sync-runs/${id}`);
    expect([shown.status, shown.body.error.code]).toEqual([200, 'WAREHOUSE_SERVER_DOWN']);
    await database.cluster.start(far.node.name);
    await succeeded(far.fixture, id);
    expect(await far.fixture.rows()).toHaveLength(21);
  });

  it('changes of tables wait, say so where people look, and continue by themselves', async () => {
    await database.cluster.kill(far.node.name);
    // A column for a field that is new in the ERP.
    near.fixture.erp.fields = [...near.fixture.erp.fields, field('note')];
    near.fixture.erp.put(23, { note: 'a note' });
    const altered = await near.fixture.queue('full');
    startWorkers();
    await waitsFor(near.fixture, altered, 'TABLES_PENDING');
    const shown = await call(near, 'get', `/sync-configs/${near.fixture.configId}`);
    const fix = 'No action is needed: the run continues by itself when the server responds again.';
    expect(shown.body.lastRun).toMatchObject({ error: { code: 'TABLES_PENDING', fix } });
    expect((await read(near)).status).toBe(200);
    // An index of a version.
    const filters = [{ field: 'name', operators: ['starts_with'] }];
    const sorted = { ...thingsEndpoint, description: '', filters };
    const id = await publishVersion(database.ctx, near.fixture.organizationId, {
      version: 'v2',
      status: 'draft',
      endpoints: [sorted],
    });
    const draft = await call(near, 'get', `/api-schema/${id}`);
    const publishing = await call(near, 'post', `/api-schema/${draft.body.id}/publish`, {
      revision: draft.body.revision,
    });
    expect(publishing.status).toBe(202);
    await until(async () => {
      const { body } = await call(near, 'get', `/api-schema/${draft.body.id}`);
      return body.publication.progress.step === 'tables pending';
    });
    // A new organization.
    const { headers } = await makeSession(service.ctx, near.ownerId, near.fixture.organizationId);
    const organizations = `${service.localUrl}${management}/organizations`;
    const asPage = { ...headers, origin: service.url };
    const created = await ask(organizations, 'post', { name: 'Newcomer' }, asPage);
    expect(created.status).toBe(201);
    expect(created.body.nextStep).toContain('Its tables are pending');
    await until(async () => {
      const { status, checks } = await readChecks();
      return status === 'ready' && checks.tables === 'pending: 1 run, 1 publication';
    });
    await until(async () => (await readMetric('portal_tables_pending', 'publications')) === 1);
    await database.cluster.start(far.node.name);
    await succeeded(near.fixture, altered);
    await until(
      async () => (await call(near, 'get', `/api-schema/${draft.body.id}`)).body.status === 'published',
    );
    await until(async () => (await readMetric('portal_tables_pending', 'publications')) === 0);
    expect((await readChecks()).checks).not.toHaveProperty('tables');
    const { secret } = await makeKey(database.ctx, created.body.id, { permissions: ['write'] });
    const newcomer = await call({ ...near, secret }, 'get', '/sync-configs');
    expect(newcomer.status).toBe(200);
  });

  it('an organization can be deleted: what is left of it goes by itself', async () => {
    const company = await makeCompany();
    const { fixture, ownerId } = company;
    const { headers } = await makeSession(service.ctx, ownerId, fixture.organizationId);
    const [{ slug } = { slug: '' }] = await database.cluster.coordinator.query<{ slug: string }>(
      'select slug from organizations where id = $1',
      [fixture.organizationId],
    );
    await database.cluster.kill(far.node.name);
    const url = `${service.localUrl}${management}/organizations/${fixture.organizationId}?confirm=${slug}`;
    const refused = await ask(url, 'delete', undefined, { ...headers, origin: service.url });
    expect([refused.status, refused.body.error.message]).toEqual([
      503,
      expect.stringContaining('is completed automatically'),
    ]);
    await until(async () => (await read(company)).status === 404);
    await database.cluster.coordinator.query(
      "update organizations set deleting_since = now() - interval '2 minutes' where id = $1",
      [fixture.organizationId],
    );
    await finishDeletions(database.ctx);
    const countLeft = async () => {
      const sql =
        'select (select count(*) from organizations where id = $1) + (select count(*) from pg_namespace where nspname = $2) as n';
      const { organizationId, schema } = fixture;
      const [row] = await database.cluster.coordinator.query<{ n: string }>(sql, [organizationId, schema]);
      return Number(row?.n);
    };
    expect(await countLeft()).toBe(2);
    await until(async () => (await readMetric('portal_tables_pending', 'deletions')) === 1);
    await database.cluster.start(far.node.name);
    await until(async () => {
      await finishDeletions(database.ctx);
      return (await countLeft()) === 0;
    });
  });
});
