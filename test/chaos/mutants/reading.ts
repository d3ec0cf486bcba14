// Mutants of what makes reading complete: the order and the end of pages, counts, lists of ids, the scan.
import type { Mutant } from './mutant.ts';

export const readingMutants: readonly Mutant[] = [
  {
    name: 'zero-rows',
    without: 'no record may be returned although the ERP counts some',
    file: 'src/sync/read/read-full.ts',
    replaces: 'assertPagePlausible',
    instead: '(original) => (page, state) => original(page, state, 0)',
    concerns: ['false-has-more', 'stale-page', 'narrow-role'],
  },
  {
    name: 'full-count',
    without: "the number of records read is not compared with the ERP's count",
    file: 'src/sync/prove/run-proof.ts',
    replaces: 'compareWithErp',
    instead:
      '(original) => (side, state, report) => original({ ...side, connector: { count: async () => state.counters.fetched } }, state, report)',
    concerns: ['false-has-more', 'repeated-page', 'stale-page', 'locked-record', 'full'],
  },
  {
    name: 'full-missing-fetched',
    without: 'records that no page contained are not fetched',
    file: 'src/sync/prove/run-proof.ts',
    replaces: 'compareWithErp',
    instead: '(original) => async (...given) => ({ ...(await original(...given)), missing: [] })',
    concerns: ['false-has-more', 'repeated-page', 'stale-page', 'locked-record', 'full', 'during'],
  },
  {
    name: 'full-list-consistent',
    without: "a list of ids may contradict the ERP's counts",
    file: 'src/sync/prove/run-proof.ts',
    replaces: 'isBetween',
    instead: '() => () => true',
    concerns: ['false-has-more', 'wrong-count', 'stale-page', 'full'],
  },
  {
    name: 'full-unreadable',
    without: 'listed records that cannot be read are passed over',
    file: 'src/sync/read/read-full.ts',
    replaces: 'assertNoLongerListed',
    instead: '() => async () => undefined',
    concerns: ['locked-record', 'full'],
  },
  {
    name: 'last-page-marked',
    without: 'the first page counts as the last one',
    file: 'src/sync/read/read-full.ts',
    replaces: 'readAllPages',
    instead: `(original) => async (reading) => {
      const { state } = reading.prepared;
      if (state.page > 0) return original(reading);
      return stageRunPage(reading, state, await reading.readPage(null, null));
    }`,
    concerns: ['full'],
  },
  {
    name: 'rejected-read-again',
    without: 'records that were rejected are not read again',
    file: 'src/sync/read/read-incremental.ts',
    replaces: 'listUnreadRejectedIds',
    instead: '() => async () => []',
    concerns: ['bad-value', 'duplicate-rows'],
  },
  {
    name: 'deletions-read',
    without: "incremental runs do not read the ERP's list of deletions",
    file: 'src/sync/read/read-incremental.ts',
    replaces: 'readDeletionFeed',
    instead: '() => async (_reading, state) => state',
    concerns: ['delete-invoice', 'delete-many', 'deletions:feed'],
  },
  {
    name: 'count-compared',
    without: "the number of stored records may differ from the ERP's count",
    file: 'src/sync/read/read-incremental.ts',
    replaces: 'countLocal',
    instead:
      '() => async ({ connector, recordType, signal }) => ({ all: await connector.count(recordType, signal), kept: 0 })',
    concerns: ['insert-old', 'delete-unlisted', 'restore-deleted'],
  },
  {
    name: 'absent-explained',
    without: 'no scan follows when absent records are not confirmed as deleted',
    file: 'src/sync/read/read-incremental.ts',
    replaces: 'listUnconfirmedAbsentIds',
    instead: '() => async () => []',
    concerns: ['bad-value', 'delete-unlisted', 'narrow-role'],
  },
  {
    name: 'daily-scan',
    without: 'no scan is due on a new day',
    file: 'src/sync/read/read-incremental.ts',
    replaces: 'compareCounts',
    instead: `(original) => (reading, state) => {
      const scannedOn = reading.prepared.scannedOn && state.plan.today;
      return original({ ...reading, prepared: { ...reading.prepared, scannedOn } }, state);
    }`,
    concerns: ['rename-customer', 'silent-line-added', 'silent-line-removed', 'new-day'],
  },
  {
    name: 'scan-fetches-new',
    without: 'a scan does not fetch records that are not stored here',
    file: 'src/sync/read/scan.ts',
    replaces: 'compareRange',
    instead: `(original) => (range, ...given) => {
      const found = original(range, ...given);
      const known = new Set([...range.localRecords.filter(({ absent }) => !absent).map(({ id }) => id), ...range.unreadable]);
      return { ...found, fetch: found.fetch.filter((id) => known.has(id)) };
    }`,
    concerns: ['insert-old', 'restore-deleted'],
  },
  {
    name: 'scan-fetches-differing',
    without: 'a scan does not fetch records that differ',
    file: 'src/sync/read/scan.ts',
    replaces: 'differsFromErp',
    instead: '() => () => false',
    concerns: ['rename-customer', 'rename-item', 'silent-amount', 'new-day'],
  },
  {
    name: 'scan-finds-absent',
    without: 'a scan does not find records that the ERP lacks',
    file: 'src/sync/read/scan.ts',
    replaces: 'compareRange',
    instead: '(original) => (...given) => ({ ...original(...given), absent: [] })',
    concerns: ['delete-unlisted', 'delete-many-unlisted', 'deletions:reconcile'],
  },
  {
    name: 'scan-skipped-read',
    without: 'records that the scan skipped and that exist are not read',
    file: 'src/sync/read/scan.ts',
    replaces: 'comparePage',
    instead: `(original) => async (reading, ...given) => {
      const page = await original(reading, ...given);
      const absent = await filterConfirmedAbsent(reading, page.found.absent);
      return { ...page, found: { ...page.found, absent } };
    }`,
    concerns: ['restore-deleted', 'delete-unlisted', 'during'],
  },
  {
    name: 'scan-absence-by-id',
    without: 'what a scan passed over is absent without a request by id',
    file: 'src/sync/read/scan.ts',
    replaces: 'filterConfirmedAbsent',
    instead: '() => async (_reading, ids) => ids',
    concerns: ['stale-page', 'false-has-more', 'repeated-page', 'deletions:reconcile'],
  },
  {
    name: 'scan-counts-rows',
    without: 'a scan counts ids instead of rows',
    file: 'src/sync/read/scan.ts',
    replaces: 'listCounted',
    instead: `(original) => ({ list, ...page }) => {
      const listIds = async () => {
        const found = await list();
        return { ...found, rows: new Set([...found.records, ...found.rejected].map(({ id }) => id)).size };
      };
      return original({ ...page, list: listIds });
    }`,
    concerns: ['duplicate-rows', 'delete-unlisted'],
  },
  {
    name: 'scan-consistent',
    without: "a scan may contradict the ERP's counts",
    file: 'src/sync/read/scan.ts',
    replaces: 'isBetween',
    instead: '() => () => true',
    concerns: ['false-has-more', 'wrong-count', 'stale-page', 'duplicate-rows'],
  },
  {
    name: 'scan-repeated',
    without: 'an inconsistent scan fails the run at once',
    file: 'src/sync/read/scan.ts',
    replaces: 'saveStep',
    instead: `(original) => (reading, state, step) => {
      if (step.plan.step === 'rescan') throw new Error('inconsistent');
      return original(reading, state, step);
    }`,
    concerns: ['false-has-more', 'wrong-count', 'duplicate-rows', 'during'],
  },
  {
    name: 'pages-counted',
    without: "the pages of a second list may contradict the ERP's counts",
    file: 'src/sync/prove/counted-pages.ts',
    replaces: 'isBetween',
    instead: '() => () => true',
    concerns: ['false-has-more', 'wrong-count', 'stale-page', 'duplicate-rows'],
  },
  {
    name: 'scan-unreadable',
    without: 'a scan passes over listed records that cannot be read',
    file: 'src/sync/read/scan.ts',
    replaces: 'assertNoLongerListed',
    instead: '() => async () => undefined',
    concerns: ['locked-record', 'new-day'],
  },
  {
    name: 'scan-rereads-feed',
    without: "the ERP's list of deletions is not read again after a scan",
    file: 'src/sync/read/scan.ts',
    replaces: 'readDeletionFeed',
    instead: '() => async (_reading, state) => state',
    concerns: ['deletions:feed', 'delete-invoice', 'delete-many', 'during'],
  },
];
