// Random publishes, reads, moves, rebalances and killed nodes, by seed: `npm test -- --project citus chaos`
// plays three of them, SEEDS=50 more, SEED=17 one. An entity tag names one body for ever, a 304 means what a
// process without caches would send, and change tokens lead to the contents of the list, whatever happened to
// the nodes.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { testSettings } from '../../setup/database.ts';
import { describeIf } from '../../setup/describe-if.ts';
import { type Chaos, type ChaosReport, openChaos } from './harness/chaos-seed.ts';
import { type CitusDatabase, citusDatabase } from './harness/citus-database.ts';
import { noLocalCluster } from './harness/cluster.ts';

const one = process.env['SEED'];
const seeds =
  one === undefined
    ? Array.from({ length: Number(process.env['SEEDS'] ?? 3) }, (_, index) => index + 1)
    : [Number(one)];

describeIf('reads of a cluster whose nodes fail and whose organizations move', noLocalCluster, () => {
  const reports: ChaosReport[] = [];
  let database: CitusDatabase;
  let chaos: Chaos;
  beforeAll(async () => {
    // On a busy machine reads wait instead of being refused: what is refused must be due to a killed node.
    const publicLoad = { ...testSettings.publicLoad, maxWaitMs: 60_000 };
    database = await citusDatabase({ settings: { readTimeoutMs: 60_000, publicLoad } });
    // A commit that a killed node interrupted is finished by this, which otherwise takes a minute.
    await database.cluster.coordinator.query("alter system set citus.recover_2pc_interval = '1s'");
    await database.cluster.coordinator.query('select pg_reload_conf()');
    chaos = await openChaos(database);
  });
  afterAll(async () => {
    const sum = (of: (report: ChaosReport) => number) =>
      reports.reduce((total, report) => total + of(report), 0);
    const { tags, notModified, followed } = chaos.totals();
    console.log(
      `${reports.length} seeds: ${sum((r) => r.moves)} moves, ${sum((r) => r.rebalances)} rebalances, ${sum((r) => r.kills)} kills, ` +
        `${sum((r) => r.publishes)} publishes, ${sum((r) => r.reads)} reads meanwhile, ${sum((r) => r.refused)} refused; ${tags} entity tags, ` +
        `${notModified} answers 304, ${followed} tokens followed; slowest read during a move ${Math.round(Math.max(...reports.map((r) => r.slowestMs)))} ms`,
    );
    await chaos.close();
    await database.close();
  });

  it.each(seeds)('seed %i', async (seed) => {
    const report = await chaos.play(seed);
    reports.push(report);
    expect(report.kills).toBeGreaterThan(0);
    expect(report.moves).toBeGreaterThan(0);
  });
});
