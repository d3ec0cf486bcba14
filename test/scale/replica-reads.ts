// Many reads of every kind over two replicas of different lag while syncs publish; one of the replicas shows
// nothing new for a minute. The test of this folder runs a slice. Usage: npm run test:scale:reads -- [reads,
// default 1000000]
import { setTimeout as sleep } from 'node:timers/promises';
import { openReaders } from './harness/replica-readers.ts';
import { startReplicatedService } from './harness/replicated-service.ts';

const clients = 12;
const pauseMs = 60_000;
const publishEveryMs = 1_000;
const reportEveryMs = 30_000;

const [given = '1000000'] = process.argv.slice(2);
if (!/^[1-9]\d{0,8}$/.test(given)) {
  console.error('Usage: npm run test:scale:reads -- [reads]');
  process.exit(2);
}
const wanted = Number(given);

const site = await startReplicatedService({ replicas: 2 });
const readers = await openReaders(site);
const { findings } = readers;
const [first, second] = site.servers.standbys;
await second?.query(`alter system set recovery_min_apply_delay = '150ms'`);
await second?.query('select pg_reload_conf()');
const isOver = (): boolean => findings.reads >= wanted || findings.problems.length > 0 || findings.cut > 0;

async function publishUntilOver(): Promise<void> {
  while (!isOver()) {
    await site.publish();
    await sleep(publishEveryMs);
  }
}
async function pauseOnce(): Promise<void> {
  while (!isOver() && findings.reads < wanted / 3) await sleep(100);
  await site.servers.pauseReplay(first);
  await sleep(pauseMs);
  await site.servers.resumeReplay(first);
}
const startMs = performance.now();
const report = async (): Promise<void> => {
  const servers = await Promise.all(
    ['primary', '1', '2'].map((server) => site.metric('portal_reads_total', { server })),
  );
  const seconds = (performance.now() - startMs) / 1_000;
  console.log(
    `${findings.reads} reads in ${seconds.toFixed(0)} s over ${site.published.length} publications: ${findings.wrong} wrong, ${findings.backward} backward, ` +
      `${findings.stale} stale, ${findings.errors} errors, ${findings.cut} exports cut off; answered by the primary ${servers[0]}, replica 1 ${servers[1]}, replica 2 ${servers[2]}`,
  );
};
const reporting = setInterval(() => void report(), reportEveryMs);
await Promise.all([readers.run(clients, isOver), publishUntilOver(), pauseOnce()]);
clearInterval(reporting);
await report();
console.log(JSON.stringify(findings.kinds));
for (const problem of findings.problems) console.error(problem);
await readers.close();
await site.close();
process.exit(findings.problems.length === 0 ? 0 : 1);
