// What every ERP goes through that isn't NetSuite: a connector of its kind, in real runs from a stored connection to published
// rows, which must equal what the ERP holds.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ConnectorKinds } from '../../src/connectors/kinds.ts';
import type { ListedRecord } from '../../src/connectors/source-records.ts';
import { createTenantConnector } from '../../src/sync/account/connection.ts';
import { isFinal } from '../../src/sync/queue/run-state.ts';
import { claimRun, type RunRow } from '../../src/sync/queue/runs.store.ts';
import { workOnRun } from '../../src/sync/run/worker.ts';
import { testSettings } from '../setup/database.ts';
import { enterConnection } from '../setup/erp-account.ts';
import { createRandom, type Random } from '../setup/random.ts';
import { until } from '../setup/until.ts';
import { memoryErp, noSignal, type SyncFixture, syncFixture } from '../sync/fixture.ts';
import { useSync } from '../sync/site.ts';
import { type Fault, type FaultyProxy, startFaultyProxy } from './faulty-proxy.ts';

/** An ERP with records that have a name. */
export type ForeignErp = {
  readonly url: string;
  readonly kind: string;
  readonly kinds: ConnectorKinds;
  readonly recordType: string;
  /** The column of the warehouse with the name. */
  readonly column: string;
  /** As stored, when the service reaches the ERP at `url`. */
  settings(url: string): object;
  readonly secrets: object;
  readonly wrongSecrets: object;
  /** All in one transaction, and so with one time. Resolves with their ids. */
  create(names: readonly string[]): Promise<string[]>;
  /** All in one transaction. */
  rename(ids: readonly string[], name: string): Promise<unknown>;
  remove(ids: readonly string[]): Promise<unknown>;
  /** Names by id, read past the interface that the connector uses. */
  truth(): Promise<ReadonlyMap<string, string | null>>;
  stop(): Promise<unknown>;
};

const pageSize = 10;
const numbered = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix} ${index}`);

/**
 * Call it at the top level of a test file. `renews`: its sign-in ends from time to time, and is repeated. `seed`: of the random
 * edits.
 */
export function describeErp(
  name: string,
  start: () => Promise<ForeignErp>,
  { renews = true, seed = 20_261_130 }: { readonly renews?: boolean; readonly seed?: number } = {},
): void {
  const erpSettings = { ...testSettings.erp, allowedHosts: ['127.0.0.1'] };
  // Times have whole seconds. More overlap would read again what a connector misses.
  const site = useSync({ pageSize, overlapMs: 1_000, settleMs: 1_000 }, { settings: { erp: erpSettings } });
  let erp: ForeignErp;
  let proxy: FaultyProxy;
  let fixture: SyncFixture;

  const connect = (secrets: object) =>
    enterConnection(fixture, 'foreign', { kind: erp.kind, settings: erp.settings(proxy.url), secrets });
  const work = async (): Promise<unknown> => {
    const lease = await claimRun(site.ctx, 'test', site.ctx.settings.sync.leaseMs);
    return (
      lease &&
      workOnRun(site.ctx, lease, noSignal, (tenant, connection) =>
        createTenantConnector(tenant, connection, erp.kinds),
      )
    );
  };
  const drive = (id: string): Promise<RunRow> =>
    until(async () => {
      // A run that waits after a fault is due at once.
      await fixture.changeRun(id, { wake_at: new Date(0) });
      await work();
      const row = await fixture.row(id);
      return isFinal(row.status) ? row : undefined;
    });
  const sync = async (mode: 'incremental' | 'full' = 'incremental'): Promise<RunRow> =>
    drive(await fixture.queue(mode));
  const served = async (): Promise<Map<string, unknown>> =>
    new Map((await fixture.rows()).map((row) => [String(row['id']), row[erp.column]]));
  const expectEqual = async (): Promise<void> => expect(await served()).toEqual(await erp.truth());
  const expectSynced = async (mode?: 'incremental' | 'full'): Promise<RunRow> => {
    const run = await sync(mode);
    expect(run.error).toBeNull();
    expect(run.status).toBe('succeeded');
    return run;
  };

  describe(name, () => {
    beforeAll(async () => {
      erp = await start();
      proxy = await startFaultyProxy(erp.url);
      await erp.create(numbered('Company', 45));
    });
    afterAll(async () => {
      await proxy?.stop();
      await erp?.stop();
    });
    beforeEach(async () => {
      proxy.faults.length = 0;
      proxy.onRequest = () => undefined;
      fixture = await syncFixture(site.ctx, memoryErp(), { recordType: erp.recordType, maxDeleteShare: 1 });
      await connect(erp.secrets);
    });

    it('is loaded page by page, its records of one time too, and read no further than it changed', async () => {
      expect(await expectSynced('full')).toMatchObject({ counts: { rejected: 0 } });
      await expectEqual();
      expect(await expectSynced()).toMatchObject({ counts: { inserted: 0, updated: 0, deleted: 0 } });
    });

    it('is followed through edits of many records at one time, new ones and deletions', async () => {
      await expectSynced('full');
      const ids = [...(await erp.truth()).keys()];
      await erp.rename(ids.slice(0, 25), 'Of one time');
      const added = await erp.create(numbered('Added', 3));
      expect(await expectSynced()).toMatchObject({ counts: { inserted: 3, updated: 25 } });
      await expectEqual();
      await erp.remove([...added, ...ids.slice(25, 28)]);
      expect(await expectSynced('full')).toMatchObject({ counts: { deleted: 6 } });
      await expectEqual();
    });

    it('is followed where as many records appear as disappear, so that their number stays', async () => {
      await expectSynced('full');
      const [first = ''] = (await erp.truth()).keys();
      await erp.create(['In its place']);
      await erp.remove([first]);
      await expectSynced();
      await expectEqual();
    });

    it('counts and lists by ranges of ids, and refuses what it does not offer', async () => {
      const connector = await createTenantConnector(fixture.tenant, 'foreign', erp.kinds);
      const [recordType] = await connector.metadata(noSignal, [erp.recordType]);
      if (recordType === undefined) throw new Error(`${erp.recordType} is not described`);
      const request = { recordType, signal: noSignal };
      const listed: ListedRecord[] = [];
      for (let hasMore = true; hasMore; ) {
        const page = await connector.listIds({ ...request, afterId: listed.at(-1)?.id ?? null, limit: 20 });
        listed.push(...page.listed);
        hasMore = page.hasMore;
      }
      const ids = listed.map(({ id }) => id);
      expect(ids.toSorted()).toEqual([...(await erp.truth()).keys()].sort());
      const count = (afterId: string | null, upTo: string | null) =>
        connector.count(recordType, noSignal, { afterId, upTo });
      const [third = '', tenth = ''] = [ids[2], ids[9]];
      expect([await count(null, third), await count(third, tenth), await count(tenth, null)]).toEqual([
        3,
        7,
        ids.length - 10,
      ]);
      const behind = await connector.listIds({ ...request, afterId: third, limit: 5 });
      expect(behind).toEqual({ listed: listed.slice(3, 8), hasMore: true });
      const wanted = [third, tenth];
      const byIds = await connector.readByIds({ ...request, fields: [], ids: wanted });
      expect(byIds.records.map(({ id }) => id).toSorted()).toEqual(wanted.toSorted());
      const many = Array.from({ length: 1_001 }, (_, index) => String(index + 1));
      await expect(connector.readByIds({ ...request, fields: [], ids: many })).rejects.toThrow(RangeError);
      const unknown = { ...request, fields: ['nosuchfield'], afterId: null, changedSince: null, limit: 1 };
      await expect(connector.readPage(unknown)).rejects.toMatchObject({ code: 'FIELD_NOT_SYNCABLE' });
      expect(await connector.test(noSignal)).toMatchObject({ ok: true, problems: [] });
    });

    const faults: readonly Fault[] = [500, 503, 429, ...(renews ? [401] : []), 'html', 'cut', 'lost'];
    it.each(faults)('is read completely after a request ended in %s', async (fault) => {
      const before = proxy.count();
      // The first page has been read by then.
      proxy.onRequest = (count) => void (count === before + 6 && proxy.faults.push(fault));
      await expectSynced('full');
      expect(proxy.count()).toBeGreaterThan(before + 6);
      await expectEqual();
    });

    it('pauses its sync when it refuses the credentials, and says what to do', async () => {
      await connect(erp.wrongSecrets);
      expect(await sync('full')).toMatchObject({ status: 'failed', attempt: 1 });
      expect(await fixture.pausedReason()).toMatchObject({ fix: expect.stringMatching(/\w.*\.$/) });
    });

    it('is read on by another worker where one died', async () => {
      const [reached, woken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const before = proxy.count();
      proxy.onRequest = (count) => (count === before + 6 ? (reached.resolve(), woken.promise) : undefined);
      const id = await fixture.queue('full');
      const lost = work();
      await reached.promise;
      await fixture.expire(id);
      expect(await drive(id)).toMatchObject({ status: 'succeeded', attempt: 2 });
      woken.resolve();
      await lost;
      await expectEqual();
    });

    /** Some at a time are created, removed or renamed. Resolves with their number. */
    const editSome = async (random: Random, label: string): Promise<number> => {
      const ids = [...(await erp.truth()).keys()];
      const count = 1 + random.below(19);
      const chosen = new Set(Array.from({ length: count }, () => random.pick(ids)));
      const kind = random.below(10);
      if (kind < 2) await erp.create(numbered(label, count));
      else if (kind < 3 && ids.length > 60) await erp.remove([...chosen].slice(0, 2));
      else await erp.rename([...chosen], `${label} ${random.below(1_000)}`);
      return count;
    };

    it('is the same after a thousand random edits', async () => {
      const random = createRandom(seed);
      await expectSynced('full');
      for (let edits = 0, round = 0; edits < 1_000; round += 1) {
        for (let batch = 0; batch < 10; batch += 1) edits += await editSome(random, `R ${round} ${batch}`);
        await expectSynced(round % 3 === 2 ? 'full' : 'incremental');
        await expectEqual();
      }
    });

    it('is the same after edits, faults and lost workers in the middle of runs', async () => {
      const random = createRandom(seed + 1);
      await expectSynced('full');
      for (let round = 0; round < 15; round += 1) {
        const id = await fixture.queue(random.below(3) === 0 ? 'full' : 'incremental');
        const first = proxy.count() + 1;
        const events = Array.from({ length: 1 + random.below(4) }, () => ({
          at: first + random.below(14),
          what: random.pick(['edit', 'edit', 'fault', 'loss'] as const),
        }));
        proxy.onRequest = async (count) => {
          for (const { what } of events.filter(({ at }) => at === count)) {
            if (what === 'edit') await editSome(random, `C ${round} ${count}`);
            else if (what === 'fault') proxy.faults.push(random.pick(faults));
            else await fixture.expire(id);
          }
        };
        await drive(id);
        proxy.onRequest = () => undefined;
        proxy.faults.length = 0;
        await editSome(random, `Q ${round}`);
        await expectSynced();
        await expectEqual();
      }
    });
  });
}
