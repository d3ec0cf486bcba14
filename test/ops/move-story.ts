// The story of a move from one PostgreSQL to another, told by tests in order: they run on two plain databases
// and on a Citus cluster.
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeIf } from '../setup/describe-if.ts';
import { until } from '../setup/until.ts';
import {
  type Blocker,
  type Books,
  block,
  changeInvoices,
  changes,
  moveTo,
  openScene,
  type Place,
  type Reader,
  readBooks,
  type Scene,
  startReading,
} from './move-scene.ts';
import { runCommand, type ServingProcess } from './server-process.ts';
import { findRun, isPublished, startPublishing, startRun, sync, waitForEnd } from './site.ts';

export type Sites = {
  readonly former: Place;
  /** An empty database; on Citus prepared. */
  readonly target: Place;
  /** Whether the new server has the schema as it shall. */
  isPlaced(schema: string): Promise<boolean>;
  close(): Promise<void>;
};

/** Runs one statement in a database. */
async function queryOn<Row extends object>(
  url: string,
  sql: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const client = new Client(url);
  await client.connect();
  try {
    return (await client.query<Row>(sql, [...values])).rows;
  } finally {
    await client.end();
  }
}

const toSchemaName = ({ id }: { readonly id: string }): string => `wh_${id.replaceAll('-', '')}`;

/** `missing`: why it can't run. */
export function describeMove(what: string, open: () => Promise<Sites>, missing?: string): void {
  describeIf(what, missing, () => {
    let sites: Sites;
    let scene: Scene;
    let before: ServingProcess;
    let after: ServingProcess;
    let reader: Reader;
    let books: Books;
    let otherBooks: Books;
    let token: string;
    let queued: string;
    /** Waits for the ERP while the service moves, and is handed over each time. */
    let running: string;
    let release = (): void => undefined;
    let draft: string;

    beforeAll(async () => {
      sites = await open();
      ({ scene, server: before } = await openScene(sites.former));
      books = await readBooks(scene.company, before);
      otherBooks = await readBooks(scene.other, before);
      token = (await changes(scene.company, before, null)).body.next;
      reader = startReading(scene, before);
      const gate = new Promise<void>((resolve) => {
        release = resolve;
      });
      scene.site.wire.begin((_count, question) =>
        question.includes('FROM customer t') ? gate : Promise.resolve(),
      );
      running = await startRun(scene.other, before.url, scene.otherConfigs.get('customer'), { mode: 'full' });
    });
    afterAll(async () => {
      release();
      await reader?.stop();
      await scene?.close();
      await sites?.close();
    });

    const command = (args: readonly string[] = [], kill?: () => Promise<unknown>) =>
      moveTo(sites.target, sites.former.url, args, kill);
    const serve = (place: Place) => runCommand(place, ['serve'], scene.site.environment);
    /** Kills the command while it waits for what the blocker holds, after `meanwhile`. */
    const killAt = async (
      url: string,
      sql: string,
      meanwhile: () => Promise<unknown> = async () => undefined,
    ): Promise<void> => {
      const blocker: Blocker = await block(url, sql);
      await command([], () => blocker.blocked().then(meanwhile));
      await blocker.release();
    };
    /** Waits for reads, long enough for every cached key to be looked up again several times. */
    const readOn = async (): Promise<void> => {
      const reads = reader.reads();
      const end = performance.now() + 5_000;
      await until(async () => reader.reads() > reads + 20 && performance.now() > end);
    };
    const readWarehouse = async ({ id }: { readonly id: string }) => {
      const sql = 'select warehouse from organizations where id = $1';
      return (await queryOn<{ warehouse: string }>(sites.target.url, sql, [id]))[0]?.warehouse;
    };

    it('pauses what may write, also when the command is killed while it copies, and a cancellation ends the pause', async () => {
      await command(['--cancel']);
      // The first use of a key is recorded: that must not wait for locks, or callers would wait for its
      // connection.
      const unused = await Promise.all([1, 2, 3, 4].map(() => scene.company.newKey()));
      await killAt(sites.target.url, 'lock table organizations in access share mode', async () => {
        for (const { secret } of unused) {
          const { status } = await scene.company.read(before.url, '/v1/customer', {
            authorization: `Bearer ${secret}`,
          });
          expect(status).toBe(200);
        }
        await readOn();
      });
      expect(reader.problems).toEqual([]);
      const refused = await scene.company.call(before.url, 'get', '/sync-configs');
      const { code } = refused.body.error.details[0];
      expect([refused.status, code, refused.headers.get('retry-after')]).toEqual([503, 'paused', '30']);
      expect((await command(['--cancel'])).code).toBe(0);
      await until(async () => (await scene.company.call(before.url, 'get', '/sync-configs')).status === 200);
      expect((await sync(scene.company, before.url, scene.configs.get('invoice'))).status).toBe('succeeded');
    });

    it('moves nothing when it is killed between the copy and the mark', async () => {
      await killAt(sites.target.url, 'lock table organizations in access share mode');
      await killAt(sites.former.url, 'select from control_moves for update');
      const [left] = await queryOn<{ done: boolean }>(
        sites.former.url,
        "select moved_at is not null as done from control_moves where side = 'from'",
      );
      expect(left).toEqual({ done: false });
      expect(await serve(sites.target)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("isn't finished. Run npm run admin -- move-to-citus again"),
      });
    });

    it('moves the configuration when it is repeated, and reads go on at the former server', async () => {
      const moved = await command();
      expect([moved.code, moved.stdout]).toEqual([3, expect.stringContaining('of configuration.')]);
      const counts =
        'select (select count(*) from sync_runs) as runs, (select count(*) from api_keys) as keys, (select count(*) from audit_log) as audit';
      expect(await queryOn(sites.target.url, counts)).toEqual(await queryOn(sites.former.url, counts));
      for (const company of [scene.company, scene.other]) expect(await readWarehouse(company)).toBe('former');
      await readOn();
      await expect(
        queryOn(sites.former.url, "set role portal_service; update organizations set name = 'late'"),
      ).rejects.toThrow('permission denied');
    });

    it('can be finished when it was killed right after the mark', async () => {
      await queryOn(sites.target.url, 'update control_moves set moved_at = null');
      expect((await serve(sites.target)).code).toBe(1);
      expect((await command()).code).toBe(3);
    });

    it('says where the service is when a process starts on the former database, and what is missing without WAREHOUSE_FROM_URL', async () => {
      expect(await serve(sites.former)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('The service was moved from this database to'),
      });
      const missing = 'The records of 3 organizations are still on the former server. Set WAREHOUSE_FROM_URL';
      expect(await serve(sites.target)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(missing),
      });
    });

    it('serves the records from the former server, and syncs wait', async () => {
      after = await scene.start(sites.target, { WAREHOUSE_FROM_URL: sites.former.url });
      reader.use(after);
      expect(await readBooks(scene.company, after)).toEqual(books);
      await changeInvoices(scene.site, 'during the move');
      queued = await startRun(scene.company, after.url, scene.configs.get('invoice'));
      expect((await command()).stderr).toContain('These processes still use');
      await scene.stop(before);
      const error = { code: 'WAREHOUSE_MOVING' };
      expect(await findRun(scene.company, after.url, queued)).toMatchObject({ status: 'queued', error });
      expect(await findRun(scene.other, after.url, running)).toMatchObject({ status: 'running', error });
      draft = await startPublishing(scene.company, after.url);
    });

    it('leaves an organization readable at the former server when it is killed before, in and after the copy', async () => {
      const schema = toSchemaName(scene.company);
      await killAt(sites.former.url, `lock table ${schema}.record_state in row exclusive mode`);
      expect(await readWarehouse(scene.company)).toBe('moving');
      await killAt(sites.target.url, `create schema ${schema}`);
      // Complete at the new server, and the right to write at the former one is about to be revoked.
      await killAt(sites.former.url, `revoke maintain on ${schema}.record_state from portal_service`);
      expect(await readWarehouse(scene.company)).toBe('moving');
      expect(await readBooks(scene.company, after)).toEqual(books);
      expect(await findRun(scene.company, after.url, queued)).toMatchObject({ status: 'queued' });
      const { body } = await scene.company.call(after.url, 'get', `/api-schema/${draft}`);
      expect(body.publication.status).toBe('running');
      await scene.deleted.remove(after.url);
    });

    it('moves every organization when it is repeated, and each export is the same byte for byte', async () => {
      const moved = await command(['--json']);
      expect([moved.code, moved.stderr]).toEqual([0, expect.any(String)]);
      const { moved: list, ...rest } = JSON.parse(moved.stdout) as { moved: { id: string }[] };
      expect([list.map(({ id }) => id).sort(), rest]).toEqual([
        [scene.company.id, scene.other.id].sort(),
        { failed: [], dropped: 1 },
      ]);
      for (const { id } of [scene.company, scene.other])
        expect(await sites.isPlaced(toSchemaName({ id }))).toBe(true);
      expect(await readBooks(scene.other, after)).toEqual(otherBooks);
      await expect(
        queryOn(
          sites.former.url,
          `set role portal_service; update ${toSchemaName(scene.company)}.record_state set generation = 99`,
        ),
      ).rejects.toThrow('permission denied');
      expect(JSON.parse((await command(['--json'])).stdout)).toMatchObject({ moved: [], failed: [] });
    });

    it('goes on with syncs and publications, and former entity tags and change tokens stay valid', async () => {
      const kept = books['/v1/customer application/json']?.tag ?? '';
      const same = await scene.company.read(after.url, '/v1/customer', {
        accept: 'application/json',
        'if-none-match': kept,
      });
      expect(same.status).toBe(304);
      expect(await waitForEnd(scene.company, after.url, queued)).toMatchObject({ status: 'succeeded' });
      const page = await until(async () => {
        const found = await changes(scene.company, after, token);
        return found.body.data.length > 0 ? found : undefined;
      });
      const memos = page.body.data.map((change: { record: { memo: string } }) => change.record.memo);
      expect([page.status, memos]).toEqual([200, Array(25).fill('during the move')]);
      const full = await sync(scene.company, after.url, scene.configs.get('invoice'), { mode: 'full' });
      expect(full.status).toBe('succeeded');
      await isPublished(scene.company, after.url, draft);
      release();
      expect(await waitForEnd(scene.other, after.url, running)).toMatchObject({ status: 'succeeded' });
    });

    it('needs the former server no longer, and no read failed or was wrong', async () => {
      const alone = await scene.start(sites.target);
      reader.use(alone);
      await scene.stop(after);
      await readOn();
      await reader.stop();
      expect(reader.problems).toEqual([]);
    });
  });
}
