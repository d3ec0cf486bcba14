// Records that are created and deleted while ids are listed: the list then has another length than every
// count, and is right all the same.
import { describe, expect, it } from 'vitest';
import {
  type Call,
  datedFields,
  type MemoryErp,
  memoryErp,
  type Operation,
  type SyncFixture,
  syncFixture,
} from './fixture.ts';
import { useSync } from './site.ts';

const site = useSync();

const records = 2_560;
const longAgo = '2020-01-01T00:00:00Z';
const yesterday = new Date(Date.now() - 86_400_000);

async function loaded(): Promise<SyncFixture> {
  const erp = memoryErp(datedFields);
  erp.deleted = new Map();
  erp.at = yesterday;
  erp.fill(records, () => [{}, { modifiedAt: longAgo }]);
  const fixture = await syncFixture(site.ctx, erp);
  await fixture.expectSuccess('full');
  erp.at = null;
  return fixture;
}

/**
 * Before each page of this list but the first, one record is created and one is deleted that was listed
 * already.
 */
function churn(erp: MemoryErp, operation: Operation, modifiedAt = longAgo): void {
  let created = records;
  let deleted = 0;
  erp.onCall = (call: Call) => {
    if (call.operation !== operation || call.afterId === null) return;
    created += 1;
    deleted += 1;
    erp.put(created, {}, { modifiedAt });
    erp.drop(deleted);
  };
}

/** What is stored after a run in which nothing happens. */
async function expectSame(fixture: SyncFixture): Promise<void> {
  fixture.erp.onCall = () => undefined;
  await fixture.expectSuccess('incremental');
  expect(await fixture.ids()).toEqual([...fixture.erp.records.keys()].sort((a, b) => Number(a) - Number(b)));
}

describe('one record created and one deleted between pages', () => {
  it('of the daily scan: the run is green and right', async () => {
    const fixture = await loaded();
    churn(fixture.erp, 'scan');
    const row = await fixture.sync('incremental');
    expect([row.status, row.error]).toEqual(['succeeded', null]);
    await expectSame(fixture);
  });

  it('of the ids that a full run compares: the run is green and right', async () => {
    const fixture = await loaded();
    // The count differs from what was read, so that ids are compared.
    let isRead = false;
    const { onCall } = fixture.erp;
    churn(fixture.erp, 'listIds');
    const churning = fixture.erp.onCall;
    fixture.erp.onCall = async (call, request) => {
      if (
        !isRead &&
        call.operation === 'count' &&
        fixture.erp.calls.some(({ operation }) => operation === 'readPage')
      ) {
        isRead = true;
        fixture.erp.put(records + 1_000, {}, { modifiedAt: longAgo });
      }
      await churning(call, request);
    };
    fixture.erp.calls.length = 0;
    const row = await fixture.sync('full');
    expect([row.status, row.error]).toEqual(['succeeded', null]);
    fixture.erp.onCall = onCall;
    await expectSame(fixture);
  });

  it('of the list of changed records: the run is green and right', async () => {
    const fixture = await loaded();
    const { erp } = fixture;
    const changedAt = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
    erp.fill(2_100, () => [{ name: 'changed' }, { modifiedAt: changedAt }]);
    churn(erp, 'listIds', changedAt);
    Object.assign(erp.connector, {
      countChanged: async ({
        since,
        range = { afterId: null, upTo: null },
      }: {
        since: Date;
        range?: { afterId: string | null; upTo: string | null };
      }) => {
        const from = since.toISOString().replace(/\.\d+Z$/, 'Z');
        const ids = [...erp.records.values()]
          .filter(({ modifiedAt }) => (modifiedAt ?? '') >= from)
          .map(({ id }) => Number(id));
        const { afterId, upTo } = range;
        const within = ids.filter(
          (id) => (afterId === null || id > Number(afterId)) && (upTo === null || id <= Number(upTo)),
        );
        return { records: within.length, withChangedLines: null };
      },
    });
    const row = await fixture.sync('incremental');
    expect([row.status, row.error]).toEqual(['succeeded', null]);
    await expectSame(fixture);
  });
});

describe('a record that is counted and never listed', () => {
  it.each(['incremental', 'full'] as const)(
    'fails the run (%s), also while others come and go',
    async (mode) => {
      const fixture = await loaded();
      churn(fixture.erp, mode === 'full' ? 'listIds' : 'scan');
      // Counted as one more in every range that contains it.
      const { count } = fixture.erp.connector;
      const hidden = 1_500;
      Object.assign(fixture.erp.connector, {
        count: async (...[type, signal, range]: Parameters<typeof count>) => {
          const { afterId = null, upTo = null } = range ?? {};
          const contains =
            (afterId === null || Number(afterId) < hidden) && (upTo === null || Number(upTo) >= hidden);
          return (await count(type, signal, range)) + (contains ? 1 : 0);
        },
      });
      const row = await fixture.sync(mode);
      expect([row.status, row.error?.['code']]).toEqual(['failed', 'COUNT_MISMATCH']);
    },
  );
});
