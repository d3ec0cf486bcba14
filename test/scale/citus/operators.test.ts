// The way to a running cluster of docs/citus.md: operators' commands on servers that only have Citus loaded,
// then next to a running service.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseCommandArguments } from '../../../src/admin/command.ts';
import { commands } from '../../../src/admin/index.ts';
import { startEmbedded } from '../../../src/db/embedded/embedded.ts';
import { type Ran, runCommand, type ServingProcess, startServer } from '../../ops/server-process.ts';
import { openTestCtx, type TestCtx } from '../../setup/database.ts';
import { databaseUrl } from '../../setup/database-url.ts';
import { describeIf } from '../../setup/describe-if.ts';
import { makeOrganization } from '../../setup/organization.ts';
import { createScratchFolder } from '../../setup/scratch-folder.ts';
import { until } from '../../setup/until.ts';
import type { SyncFixture } from '../../sync/fixture.ts';
import { openThings } from '../harness/things.ts';
import { type Address, watchAnswers } from './harness/answers.ts';
import { type Cluster, type Node, noLocalCluster, startCluster } from './harness/cluster.ts';

type Check = { node: string; check: string; state: string; toDo?: string };

const database = 'warehouse';
const login = { user: 'portal_login', password: 'for-the-service' };
const key = `test:${Buffer.alloc(32, 7).toString('base64')}`;

describeIf('operators’ commands on Citus', noLocalCluster, () => {
  let cluster: Cluster;
  let folder: string;
  let ctx: TestCtx;
  let server: ServingProcess | undefined;
  const toAddress = ({ connection }: Node): string => `${connection.host}:${connection.port}`;
  const serviceUrl = (node: Node = cluster.coordinator): string => cluster.url(node, { ...login, database });
  const environment = () => ({
    MIGRATION_DATABASE_URL: cluster.url(cluster.coordinator, { database }),
    ENCRYPTION_KEY: key,
  });

  async function admin(
    args: readonly string[],
    extra: Record<string, string> = {},
    url = serviceUrl(),
  ): Promise<Ran & { json: () => Record<string, never> }> {
    const ran = await runCommand({ url, folder }, ['admin', ...args], { ...environment(), ...extra });
    return { ...ran, json: () => JSON.parse(ran.stdout) };
  }
  /** The checks of `prepare-citus` by state, as `node: check`. */
  async function prepare(
    ...args: string[]
  ): Promise<{ code: number | null; checks: Check[]; in(state: string): string[] }> {
    const ran = await admin(['prepare-citus', '--json', ...args]);
    expect(ran.stdout, ran.stderr).toContain('"checks"');
    const checks = ran.json()['checks'] as unknown as Check[];
    return {
      code: ran.code,
      checks,
      in: (state) =>
        checks.filter((check) => check.state === state).map(({ node, check }) => `${node}: ${check}`),
    };
  }
  const inDatabase = <Row extends object>(node: Node, sql: string, values: unknown[] = []): Promise<Row[]> =>
    node.query<Row>(sql, values, database);
  const alone = 'set citus.enable_ddl_propagation to off';
  /** As a session has them that opens there with this login. */
  async function readSettings(node: Node, user: string, names: readonly string[]): Promise<unknown[]> {
    const client = new Client({ ...node.connection, database, user });
    await client.connect();
    const { rows } = await client.query<{ value: unknown }>(
      'select current_setting(name) as value from unnest($1::text[]) as name',
      [names],
    );
    await client.end();
    return rows.map(({ value }) => value);
  }
  async function restart({ name }: Node): Promise<void> {
    await cluster.kill(name);
    await cluster.start(name);
  }

  beforeAll(async () => {
    folder = await createScratchFolder('portal-operators-');
    cluster = await startCluster({ workers: 3, roles: false });
  });
  afterAll(async () => {
    await server?.kill();
    await ctx?.db.close();
    await cluster?.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const [worker1, worker2, worker3] = [0, 1, 2].map(
    (index) => (): Node => cluster.workers[index] as Node,
  ) as [() => Node, () => Node, () => Node];

  it('prepare-citus makes a cluster of servers that only have Citus loaded, and changes nothing when it is repeated', async () => {
    const first = await prepare('--workers', [worker1(), worker2()].map(toAddress).join());
    expect([first.code, first.in('missing')]).toEqual([0, []]);
    const made = [
      'extension pg_trgm',
      'role portal_owner may log in',
      'role portal_service may log in',
      'defaults of portal_service',
      'login portal_login',
    ];
    for (const node of [cluster.coordinator, worker1(), worker2()])
      for (const check of made) expect(first.in('changed')).toContain(`${toAddress(node)}: ${check}`);
    const second = await prepare();
    expect([second.code, second.in('missing'), second.in('changed')]).toEqual([0, [], []]);
    const coordinator = toAddress(cluster.coordinator);
    const hosts = cluster
      .url(cluster.coordinator, { database })
      .replace(coordinator, `127.0.0.1:1,${coordinator}`);
    const { stdout } = await admin(['prepare-citus'], {
      MIGRATION_DATABASE_URL: `${hosts}?target_session_attrs=read-write`,
    });
    expect(stdout).toMatch(/^node +check +state\n/);
    expect(stdout).toMatch(/\n\nThe cluster is ready for the service\.\n$/);
  });

  it('prepare-citus repairs what it can, and says what else is left to do', async () => {
    const broken = [
      alone,
      'alter role portal_service nologin',
      'revoke create on schema public from portal_owner',
      `alter role portal_service in database ${database} set timezone = 'America/New_York'`,
      'alter role portal_service set default_transaction_read_only = on',
      `alter database ${database} set statement_timeout = '20min'`,
    ];
    await inDatabase(worker2(), broken.join('; '));
    await worker1().query("alter system set wal_level = 'replica'");
    await restart(worker1());
    const [one, two] = [toAddress(worker1()), toAddress(worker2())];
    const found = await prepare();
    expect(found.code).toBe(3);
    expect(found.in('changed')).toEqual([
      `${two}: role portal_service may log in`,
      `${two}: rights of portal_owner and portal_service`,
      `${two}: defaults of portal_service`,
    ]);
    const names = ['timezone', 'default_transaction_read_only', 'statement_timeout'];
    expect(await readSettings(worker2(), 'portal_service', names)).toEqual(['UTC', 'off', '0']);
    const toDo = expect.stringContaining("alter system set wal_level = 'logical'");
    expect(found.checks.filter(({ state }) => state === 'missing')).toEqual([
      { node: one, check: 'wal_level = logical', state: 'missing', toDo },
    ]);
    await worker1().query('alter system reset wal_level');
    await cluster.kill('worker1');
    const down = await prepare();
    expect(down.code).toBe(3);
    expect(down.in('missing')).toEqual([`${one}: responds`, 'all nodes: postgres logs in from node to node']);
    await cluster.start('worker1');
    expect(await prepare()).toMatchObject({ code: 0 });
  });

  it('prepare-citus lets nodes log in to each other that ask for a password', async () => {
    for (const node of cluster.workers.concat(cluster.coordinator)) {
      const [{ hba_file: file = '' } = {}] = await node.query<{ hba_file: string }>('show hba_file');
      const rules = ['host all postgres 127.0.0.1/32 trust', 'host all all 127.0.0.1/32 scram-sha-256', ''];
      await writeFile(file, rules.join('\n'));
      await node.query('select pg_reload_conf()');
    }
    const found = await until(async () => {
      const ran = await prepare();
      return ran.in('changed').length > 0 ? ran : undefined;
    });
    expect(found.code).toBe(0);
    expect(found.in('changed')).toEqual([
      'all nodes: portal_owner logs in from node to node',
      'all nodes: portal_service logs in from node to node',
    ]);
    const again = await prepare();
    expect([again.code, again.in('changed')]).toEqual([0, []]);
    const readable =
      "select has_table_privilege('portal_service', 'pg_catalog.pg_dist_authinfo', 'SELECT') as readable";
    expect(await inDatabase(worker1(), readable)).toEqual([{ readable: false }]);
  });

  it('prepare-citus refuses a login that is no superuser, and a server without Citus', async () => {
    const plainLogin = await admin(['prepare-citus'], { MIGRATION_DATABASE_URL: serviceUrl() });
    const words = 'needs a superuser of the coordinator, and portal_login is none';
    expect(plainLogin).toMatchObject({ code: 1, stderr: expect.stringContaining(words) });
    const other = await mkdtemp(path.join(tmpdir(), 'portal-plain-'));
    const plain = await startEmbedded(path.join(other, 'postgres'));
    try {
      const url = databaseUrl(plain.connection);
      const refused = await admin(['prepare-citus'], { MIGRATION_DATABASE_URL: url }, url);
      const reason = expect.stringContaining("Citus isn't loaded on this server");
      expect(refused).toMatchObject({ code: 1, stderr: reason });
    } finally {
      await plain.stop();
      await rm(other, { recursive: true, force: true });
    }
  });

  type Tenant = {
    readonly fixture: SyncFixture;
    readonly slug: string;
    readonly addresses: readonly Address[];
  };
  const tenants: Tenant[] = [];

  async function makeTenant(records: number): Promise<Tenant> {
    const { fixture, headers } = await openThings(ctx, records);
    const select = 'select slug from organizations where id = $1';
    const [row] = await inDatabase<{ slug: string }>(cluster.coordinator, select, [fixture.organizationId]);
    const at = (place: string, accept = 'application/json'): Address => ({
      url: `${server?.url}/api/public/v1/things${place}`,
      headers: { ...headers, accept },
    });
    return {
      fixture,
      slug: row?.slug ?? '',
      addresses: [at('?page=3&pageSize=20'), at('/7'), at('', 'application/x-ndjson')],
    };
  }
  const readPlacement = async (): Promise<Record<string, string>> => {
    const { organizations } = (await admin(['list-placement', '--json'])).json() as unknown as {
      organizations: { slug: string; node: string }[];
    };
    return Object.fromEntries(organizations.map(({ slug, node }) => [slug, node]));
  };

  it('the service starts on what prepare-citus made, with a plain login and workers as WAREHOUSE_URL', async () => {
    const both = serviceUrl(worker1()).replace(
      toAddress(worker1()),
      `${toAddress(worker1())},${toAddress(worker2())}`,
    );
    const warehouse = { WAREHOUSE_URL: `${both}?target_session_attrs=read-write` };
    server = await startServer(
      { url: serviceUrl(), folder },
      { ...environment(), ...warehouse, SYNC_WORKERS: '0' },
    );
    expect(server.lines().filter(({ powers }) => powers !== undefined)).toEqual([]);
    ctx = openTestCtx({ ...cluster.coordinator.connection, ...login, database });
    for (const records of [400, 300]) tenants.push(await makeTenant(records));
    const placed = await readPlacement();
    expect(Object.keys(placed).sort()).toEqual(tenants.map(({ slug }) => slug).sort());
    expect(Object.values(placed).sort()).toEqual([worker1(), worker2()].map(toAddress).sort());
    const { stdout } = await admin(['list-placement']);
    expect(stdout.match(/^\S+ +responds +yes +1 +[34]00 +[1-9]\d* kB$/gm)).toHaveLength(2);
  });

  it('move-organization moves an organization while it is read and synced, and every answer is right', async () => {
    const [{ slug, fixture }] = tenants as [Tenant, Tenant];
    const from = (await readPlacement())[slug];
    const to = [worker1(), worker2()].map(toAddress).find((node) => node !== from) ?? '';
    const exported = async () => {
      const { url, headers } = (tenants[1] as Tenant).addresses[2] as Address;
      return (await fetch(url, { headers })).text();
    };
    const before = await exported();
    const watched = watchAnswers(tenants.flatMap(({ addresses }) => addresses));
    await until(async () => watched.answers() > 20);
    const moving = admin(['move-organization', slug, '--to', to]);
    for (let id = 1; id <= 5; id += 1) {
      fixture.erp.put(1_000 + id);
      expect(await fixture.sync('incremental')).toMatchObject({ status: 'succeeded' });
    }
    const moved = await moving;
    expect([moved.code, moved.stdout]).toEqual([
      0,
      expect.stringMatching(new RegExp(`^${slug} is on ${to} now\\. It took \\d+(\\.\\d)? s\\.\\n$`)),
    ]);
    fixture.erp.put(2_000);
    expect(await fixture.sync('incremental')).toMatchObject({ status: 'succeeded' });
    const seen = await watched.stop();
    expect(seen.problems).toEqual([]);
    expect(seen.answers).toBeGreaterThan(50);
    expect((await readPlacement())[slug]).toBe(to);
    expect(await fixture.rows()).toHaveLength(406);
    expect(await exported()).toBe(before);
    const audited = "select changes from audit_log where action = 'warehouse.move'";
    expect(await inDatabase(cluster.coordinator, audited)).toEqual([{ changes: { from, to } }]);
    expect((await admin(['move-organization', slug, '--to', to])).stdout).toBe(
      `${slug} is on ${to} already.\n`,
    );
  });

  it.each([
    ['no-such-company', () => toAddress(worker1()), /There is no organization no-such-company/],
    [null, () => '127.0.0.1:1', /127\.0\.0\.1:1 is not a node of this cluster\. Nodes that take records: /],
    [null, () => toAddress(cluster.coordinator), /takes no records\. Nodes that do: /],
  ])('move-organization %s is refused', async (given, to, words) => {
    const refused = await admin(['move-organization', given ?? tenants[0]?.slug ?? '', '--to', to()]);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(words)]);
  });

  it('rebalance brings organizations to a node that was added, while they are read', async () => {
    for (let made = 0; made < 4; made += 1) await makeOrganization(ctx);
    expect((await admin(['rebalance'])).code).toBe(0);
    expect((await admin(['rebalance'])).stdout).toBe(
      'The organizations are spread evenly: nothing was moved.\n',
    );
    const added = await prepare('--workers', toAddress(worker3()));
    expect([added.code, added.in('missing')]).toEqual([0, []]);
    expect(added.in('changed')).toEqual(
      expect.arrayContaining([
        `${toAddress(worker3())}: part of the cluster`,
        `${toAddress(worker3())}: login portal_login`,
      ]),
    );
    const planned = (await admin(['rebalance', '--dry-run', '--json'])).json() as unknown as { to: string }[];
    expect(planned.length).toBeGreaterThan(0);
    expect(new Set(planned.map(({ to }) => to))).toEqual(new Set([toAddress(worker3())]));
    const watched = watchAnswers(tenants.flatMap(({ addresses }) => addresses));
    const done = await admin(['rebalance', '--json']);
    expect(done.stderr).toContain('organizations left');
    expect([done.code, done.json()]).toMatchObject([0, { state: 'finished' }]);
    expect((done.json()['moved'] as unknown as object[]).length).toBe(planned.length);
    const seen = await watched.stop();
    expect(seen.problems).toEqual([]);
    expect(Object.values(await readPlacement()).filter((node) => node === toAddress(worker3()))).toHaveLength(
      planned.length,
    );
    expect((await admin(['rebalance', '--stop'])).stdout).toBe('No rebalance is running.\n');
  });

  it('list-placement shows a node that is down, nothing moves there, and organizations on others are read', async () => {
    const [{ slug, addresses }] = tenants as [Tenant, Tenant];
    const [one, two] = [toAddress(worker1()), toAddress(worker2())];
    expect(await admin(['move-organization', slug, '--to', two])).toMatchObject({ code: 0 });
    const placed = await readPlacement();
    await cluster.kill('worker1');
    const listed = await admin(['list-placement']);
    expect(listed.code).toBe(3);
    expect(listed.stdout).toMatch(new RegExp(`^${one} +doesn't respond +yes`, 'm'));
    expect(listed.stdout).toMatch(new RegExp(`^${two} +responds +yes`, 'm'));
    expect(listed.stdout).toMatch(new RegExp(`^\\S+ +${one} +- +-$`, 'm'));
    expect(listed.stdout).toMatch(new RegExp(`^${slug} +${two} +\\d+ +-$`, 'm'));
    const refused = await admin(['move-organization', slug, '--to', one]);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      `${one} doesn't respond: nothing was moved. Start that server first.\n`,
    ]);
    const dryRun = await admin(['rebalance', '--dry-run']);
    expect([dryRun.code, dryRun.stderr]).toEqual([1, refused.stderr]);
    // The first host of WAREHOUSE_URL is down: the service has found the second.
    const watched = watchAnswers(addresses);
    await until(async () => watched.answers() > 20);
    expect((await watched.stop()).problems).toEqual([]);
    await cluster.start('worker1');
    expect((await admin(['list-placement'])).code).toBe(0);
    expect(await readPlacement()).toEqual(placed);
  });

  it('a process starts and makes an organization while a node is down, and an update says that it needs all nodes', async () => {
    await cluster.kill('worker1');
    const other = await startServer(
      { url: serviceUrl(), folder },
      { ...environment(), WAREHOUSE_URL: serviceUrl(worker2()), SYNC_WORKERS: '0' },
    );
    expect(await other.stop()).toBe(0);
    const create = (name: string) =>
      admin(['create-organization', '--name', name, '--owner-email', 'owner@meanwhile.example']);
    const made = await create('Meanwhile');
    expect([made.code, made.stdout]).toEqual([0, expect.stringContaining('Its tables are pending')]);
    await inDatabase(cluster.coordinator, `${alone}; alter role portal_service reset timezone`);
    const update = await create('Later');
    expect([update.code, update.stderr]).toEqual([
      1,
      expect.stringContaining(`The node ${toAddress(worker1())} of the Citus cluster`),
    ]);
    await cluster.start('worker1');
    expect((await prepare()).code).toBe(0);
  });

  it('rebalance empties a node that takes no records any more, which then leaves the cluster', async () => {
    const { host, port } = worker3().connection;
    const emptied = "select citus_set_node_property($1, $2, 'shouldhaveshards', false)";
    await inDatabase(cluster.coordinator, emptied, [host, port]);
    expect((await admin(['rebalance'])).code).toBe(0);
    expect(Object.values(await readPlacement())).not.toContain(toAddress(worker3()));
    await inDatabase(cluster.coordinator, 'select citus_remove_node($1, $2)', [host, port]);
    expect(await prepare()).toMatchObject({ code: 0 });
    const verified = await admin(['verify-restore', '--json']);
    expect([verified.code, verified.json()]).toMatchObject([0, { problems: [] }]);
    const restorePoint = "select citus_create_restore_point('portal') as point";
    expect(await inDatabase(cluster.coordinator, restorePoint)).toHaveLength(1);
  });

  it('docs/citus.md names commands that exist, with arguments that they take', async () => {
    const page = await readFile('docs/citus.md', 'utf8');
    const named = [...page.matchAll(/^ *npm run admin -- (.+)$/gm)].map(([, command = '']) =>
      command.split(' '),
    );
    expect(named.map(([name]) => name)).toEqual(
      expect.arrayContaining(['prepare-citus', 'list-placement', 'move-organization', 'rebalance']),
    );
    for (const [name, ...args] of named) {
      const command = commands.find((each) => each.name === name);
      expect(
        () => command && parseCommandArguments(command, args),
        `${name} ${args.join(' ')}`,
      ).not.toThrow();
      expect(command, name).toBeDefined();
    }
  });
});
