// PostgreSQL has no disk space left for the records of a run, simulated by a limit on file sizes. Published
// records stay intact, the run waits and reports why, and continues by itself when there is space again.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Knex } from 'knex';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openKnex } from '../../src/db/connect.ts';
import { type Cluster, startCluster } from '../chaos/cluster.ts';
import { startCleanupWatcher } from '../setup/cleanup-watcher.ts';
import { databaseUrl } from '../setup/database-url.ts';
import { until } from '../setup/until.ts';
import { processes } from './machine.ts';
import { type ServingProcess, startServer } from './server-process.ts';
import {
  type Company,
  connectCompany,
  type ErpSite,
  findRun,
  makeCompany,
  openErpSite,
  publish,
  startRun,
  sync,
  waitForEnd,
} from './site.ts';

const run = promisify(execFile);
/** Just above a WAL segment, because the WAL must still be written; not a whole number of pages. */
const limitBytes = 16 * 1024 * 1024 + 4_096;

let folder: string;
let tidied: () => void;
let site: ErpSite;
let cluster: Cluster;
let admin: Knex;
let server: ServingProcess;
let company: Company;
let configs: Map<string, string>;
let version: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'portal-full-'));
  tidied = startCleanupWatcher(folder);
  [site, cluster] = await Promise.all([
    openErpSite(),
    startCluster(path.join(folder, 'data'), { autovacuum: 'off' }),
  ]);
  const first = openKnex(cluster.connection, null, 1);
  await first.raw('create database portal');
  await first.destroy();
  const address = { ...cluster.connection, database: 'portal' };
  const url = databaseUrl({ ...cluster.connection, database: 'portal' });
  server = await startServer({ url, folder }, { ...site.environment, RATE_LIMIT_PER_MINUTE: '1000000' });
  admin = openKnex(address, null, 1);
  company = await makeCompany(address);
  configs = await connectCompany(company, server.url, site);
  for (const id of configs.values()) await sync(company, server.url, id);
  version = await publish(company, server.url);
});
afterAll(async () => {
  server?.child.kill('SIGKILL');
  await server?.ended;
  await admin?.destroy();
  await company?.close();
  await cluster?.stop();
  await site?.close();
  await rm(folder, { recursive: true, force: true });
  tidied();
});

/**
 * Sets the limit for all processes of the server, including future ones. Only their own user may do so, in
 * some systems not even root.
 */
async function limitFiles(bytes: number | 'unlimited'): Promise<void> {
  const first = await cluster.pid();
  const { uid, gid } = await stat(`/proc/${first}`);
  const owner = process.getuid?.() === 0 ? { uid, gid } : {};
  const limit = (pid: number) =>
    run('prlimit', ['--pid', String(pid), `--fsize=${bytes}:`], { ...owner, cwd: '/' }).catch(
      (error: Error) => {
        if (!/No such process/.test(error.message)) throw error;
      },
    );
  // The postmaster first: a process that it starts in the meantime inherits the limit, or is found.
  await limit(first);
  for (const { pid, parent } of await processes()) if (parent === first) await limit(pid);
}

const schema = (): string => `wh_${company.id.replaceAll('-', '')}`;
const read = async () => {
  const { status, headers, body } = await company.read(server.url, `/${version}/invoice?pageSize=1000`);
  return {
    status,
    generation: headers.get('x-data-generation'),
    total: body.pagination.total,
    data: body.data,
  };
};

describe('no disk space left', () => {
  it('the run waits, reports the reason, and continues later; published records stay intact', async () => {
    const before = await read();
    expect(before).toMatchObject({ status: 200, total: 120 });
    // The table to which the next run writes has already reached the limit.
    const columns = 'run_id, id, content_hash';
    await admin.raw(`insert into ${schema()}.staging_invoice (${columns})
      select gen_random_uuid(), n, decode(repeat('00', 200), 'hex') from generate_series(1, 120000) n`);
    await admin.raw('checkpoint');
    await limitFiles(limitBytes);
    await site.change(
      "update ledger.transaction set memo = 'after the flood', lastmodifieddate = now() where type = 'CustInvc'",
    );
    const id = await startRun(company, server.url, configs.get('invoice'), { mode: 'full' });
    const waiting = await until(async () => {
      const shown = await findRun(company, server.url, id);
      return shown?.status === 'waiting' ? shown : undefined;
    });
    expect(waiting.error).toMatchObject({ code: 'DATABASE_FULL' });
    expect(await read()).toEqual(before);
    expect((await company.call(server.url, 'get', '/whoami')).status).toBe(200);

    await limitFiles('unlimited');
    // Make its next attempt due now instead of in ten seconds.
    await admin('sync_runs')
      .where({ id })
      .update({ wake_at: admin.raw('now()') });
    expect(await waitForEnd(company, server.url, id)).toMatchObject({
      status: 'succeeded',
      counts: { fetched: 120, updated: 120 },
    });
    // The process caches a page for a second.
    const after = await until(async () => {
      const found = await read();
      return found.generation === before.generation ? undefined : found;
    });
    expect(after).toMatchObject({
      status: 200,
      total: 120,
      generation: String(Number(before.generation) + 1),
    });
    expect(new Set(after.data.map(({ memo }: { memo: string }) => memo))).toEqual(
      new Set(['after the flood']),
    );
  });
});
