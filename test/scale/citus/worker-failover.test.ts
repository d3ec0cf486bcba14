// A worker's standby takes its place (`citus_update_node`): reads and syncs of its organizations go on, and
// nothing that a client got of a publish which the standby never received is valid any more.
import type { Express } from 'express';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createReadEngine } from '../../../src/public/index.ts';
import { createCaller, publicApp } from '../../public/fixture.ts';
import { describeIf } from '../../setup/describe-if.ts';
import { until } from '../../setup/until.ts';
import type { SyncFixture } from '../../sync/fixture.ts';
import { openThings } from '../harness/things.ts';
import { type CitusDatabase, citusDatabase } from './harness/citus-database.ts';
import { noLocalCluster } from './harness/cluster.ts';

describeIf("a worker's standby is promoted", noLocalCluster, () => {
  let database: CitusDatabase;
  let app: Express;
  let lost: SyncFixture;
  let other: SyncFixture;
  let getLost: ReturnType<typeof createCaller>;
  let getOther: ReturnType<typeof createCaller>;

  async function makeCompany() {
    const things = await openThings(database.ctx, 20, { deletions: 'feed', maxDeleteShare: 1 });
    const { fixture, secret } = things;
    return { fixture, get: createCaller(app, { secret, organizationId: fixture.organizationId }) };
  }

  beforeAll(async () => {
    database = await citusDatabase({ settings: { cacheTtlMs: 0 } });
    app = publicApp(database.ctx, undefined, createReadEngine(database.ctx));
    ({ fixture: lost, get: getLost } = await makeCompany());
    do ({ fixture: other, get: getOther } = await makeCompany());
    while ((await database.getNode(other.schema)).name === (await database.getNode(lost.schema)).name);
  });
  afterAll(() => database?.close());

  it('answers no tag and no change token of a lost publish, and leaves the other workers alone', async () => {
    const { cluster } = database;
    const worker = await database.getNode(lost.schema);
    const standby = await cluster.addStandby(worker.name);
    const survived = (await getLost('/v1/things/changes').expect(200)).body.next as string;
    const otherTag = String((await getOther('/v1/things').expect(200)).headers['etag']);

    await standby.query("alter system set primary_conninfo = ''");
    await standby.query('select pg_reload_conf()');
    await until(async () => (await standby.query('select from pg_stat_wal_receiver')).length === 0);
    for (let id = 21; id <= 30; id += 1) lost.erp.put(id, { name: `lost ${id}` });
    expect(await lost.sync('incremental')).toMatchObject({ status: 'succeeded', generation: '2' });
    const addresses = ['/v1/things?pageSize=100', '/v1/things?sort=name&pageSize=5&page=6', '/v1/things/25'];
    const lostReplies = await Promise.all(addresses.map((address) => getLost(address).expect(200)));
    const lostToken = (await getLost(`/v1/things/changes?since=${survived}`).expect(200)).body.next as string;

    await cluster.kill(worker.name);
    await standby.query('select pg_promote()');
    await cluster.coordinator.query(
      `select citus_update_node(nodeid, $2, $3) from pg_dist_node where nodeport = $1 and noderole = 'primary'`,
      [worker.connection.port, standby.connection.host, standby.connection.port],
    );
    await until(async () => (await getLost('/v1/things')).status === 200);
    expect((await getLost('/v1/things').expect(200)).body.pagination.total).toBe(20);
    await getLost(`/v1/things/changes?since=${lostToken}`).expect(410);

    for (let id = 21; id <= 30; id += 1) lost.erp.records.delete(String(id));
    for (let id = 31; id <= 33; id += 1) lost.erp.put(id, { name: `kept ${id}` });
    expect(await lost.sync('incremental')).toMatchObject({ status: 'succeeded', generation: '2' });
    for (const [at, address] of addresses.entries()) {
      const tag = String(lostReplies[at]?.headers['etag']);
      const again = await getLost(address, { 'if-none-match': tag });
      expect([address, again.status]).toEqual([address, address.endsWith('25') ? 404 : 200]);
      expect(again.headers['etag']).not.toBe(tag);
      expect(again.body).not.toEqual(lostReplies[at]?.body);
    }
    await getLost(`/v1/things/changes?since=${lostToken}`).expect(410);
    const { body } = await getLost(`/v1/things/changes?since=${survived}`).expect(200);
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual(['31', '32', '33']);

    await getOther('/v1/things', { 'if-none-match': otherTag }).expect(304);
    other.erp.put(21);
    expect(await other.sync('incremental')).toMatchObject({ status: 'succeeded', generation: '2' });
    // Tables can be changed again: the cluster knows the new address on all nodes.
    expect((await makeCompany()).fixture.organizationId).toBeTruthy();
  });
});
