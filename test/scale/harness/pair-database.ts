// A migrated database on a primary with one standby, behind an address that moves, with a ctx as
// `testDatabase` gives it, so that fixtures which take a database go through a failover.
import { randomBytes } from 'node:crypto';
import type { Ctx } from '../../../src/core/ctx.ts';
import { migrate } from '../../../src/db/migrate.ts';
import { ensureServiceLogin } from '../../../src/db/service-login.ts';
import { openTestCtx, type TestDatabaseOptions } from '../../setup/database.ts';
import { openScratchFolder } from '../../setup/scratch-folder.ts';
import { until } from '../../setup/until.ts';
import { startMovingAddress } from './proxy.ts';
import { startPair } from './servers.ts';

export type PairDatabase = Awaited<ReturnType<typeof pairDatabase>>;

const database = 'portal';

export async function pairDatabase(options: TestDatabaseOptions = {}) {
  const { folder, remove } = await openScratchFolder('portal-pair-');
  const servers = await startPair(folder);
  const moving = await startMovingAddress(servers.primary.connection);
  const address = { ...servers.primary.connection, port: moving.port, database };
  const service = { ...address, user: 'portal_login', password: randomBytes(18).toString('base64url') };
  await servers.primary.query(`create database ${database}`);
  await migrate(address);
  await ensureServiceLogin(address, service);
  const ctx = openTestCtx(service, options);
  const processes = [ctx];
  const moveAfter = async (change: () => Promise<void>): Promise<number> => {
    await change();
    moving.moveTo(servers.primary.connection);
    const movedAtMs = performance.now();
    for (const { db } of processes)
      await until(async () => db.control.raw('select 1').catch(() => undefined));
    return movedAtMs;
  };
  return {
    ctx,
    address,
    service,
    servers,
    /** Another process of the service: connections of its own, everything else as `ctx`. */
    openProcess: (): Ctx => {
      const process = { ...ctx, db: openTestCtx(service, options).db };
      processes.push(process);
      return process;
    },
    /** What is committed from now on is lost by `failOver`. */
    startLosing: async () => {
      await servers.caughtUp();
      await servers.stopReceiving();
    },
    /**
     * The primary dies, the standby is promoted, and the address moves to it. Resolves when the service reaches
     * it, with the `performance.now()` of the move.
     */
    failOver: () =>
      moveAfter(async () => {
        await servers.killPrimary();
        await servers.promote();
      }),
    /** The same in an orderly way: nothing is lost. */
    switchOver: () => moveAfter(() => servers.switchOver()),
    /** Runs one statement as the superuser on the primary. */
    query: <Row extends object>(sql: string, values: readonly unknown[] = []) =>
      servers.primary.query<Row>(sql, values, database),
    close: async () => {
      for (const { db } of processes) await db.close();
      await moving.close();
      await servers.stop();
      await remove();
    },
  };
}
