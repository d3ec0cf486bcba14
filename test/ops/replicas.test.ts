// A tenth of test/scale/replicas: reads of every kind over two replicas while syncs publish, one of which
// shows nothing new. And operators' commands, which read no replica.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openReaders, type Readers } from '../scale/harness/replica-readers.ts';
import { type ReplicatedService, startReplicatedService } from '../scale/harness/replicated-service.ts';
import { until } from '../setup/until.ts';
import { opsDatabase, startProcess } from './server-process.ts';

let site: ReplicatedService;
let readers: Readers;

beforeAll(async () => {
  site = await startReplicatedService({ replicas: 2 });
  readers = await openReaders(site);
  const inUse = (replica: string) => site.metric('portal_replica_in_use', { replica });
  await until(async () => ((await inUse('1')) === 1 && (await inUse('2')) === 1 ? true : undefined));
});
afterAll(async () => {
  await readers?.close();
  await site?.close();
});

it('show one state each, and none that is wrong, older than seen before, or stale', async () => {
  const [paused] = site.servers.standbys;
  await site.servers.pauseReplay(paused);
  const isOver = () => readers.findings.reads >= 300;
  await Promise.all([
    readers.run(4, isOver),
    (async () => {
      while (!isOver()) await site.publish();
    })(),
  ]);
  await site.servers.resumeReplay(paused);
  expect(readers.findings).toMatchObject({
    problems: [],
    wrong: 0,
    backward: 0,
    stale: 0,
    errors: 0,
    cut: 0,
  });
  expect(await site.metric('portal_reads_total', { server: '2' })).toBeGreaterThan(0);
});

it("concern no operator's command", async () => {
  const database = await opsDatabase();
  const command = startProcess(database, ['admin', 'list-runs'], {
    READ_URL: 'postgres://nobody@127.0.0.1:1/portal',
  });
  expect(await command.ended).toBe(0);
  const { stdout, stderr } = command.output();
  expect(`${stdout}${stderr}`).not.toContain('replica');
  await database.close();
});
