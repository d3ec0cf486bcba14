// Mutants of what finds changes: the high-water mark, the lists of changed records, comparisons of open
// records, the scan, rejected records.
import type { Mutant } from './mutant.ts';

export const changeMutants: readonly Mutant[] = [
  {
    name: 'overlap',
    without: 'reading starts at the high-water mark, not ten minutes before it',
    file: 'src/sync/stage/prepare.ts',
    replaces: 'planRun',
    instead: `(original) => (ctx, ...given) => {
      const sync = { ...ctx.settings.sync, overlapMs: 0 };
      return original({ ...ctx, settings: { ...ctx.settings, sync } }, ...given);
    }`,
    concerns: ['step-clock'],
  },
  {
    name: 'settling',
    without: "the high-water mark does not stay behind the ERP's clock",
    file: 'src/warehouse/publish.ts',
    replaces: 'writeState',
    instead: `(original) => (work, published) => {
      const settleMs = work.state.plan.mode === 'full' ? work.rules.settleMs : -86_400_000;
      return original({ ...work, rules: { ...work.rules, settleMs } }, published);
    }`,
    concerns: ['during', 'step-clock'],
  },
  {
    name: 'settling-full',
    without: "the high-water mark of a full run does not stay behind the ERP's clock",
    file: 'src/warehouse/publish.ts',
    replaces: 'writeState',
    instead: `(original) => (work, published) => {
      const settleMs = work.state.plan.mode === 'full' ? 0 : work.rules.settleMs;
      return original({ ...work, rules: { ...work.rules, settleMs } }, published);
    }`,
    concerns: ['during', 'full', 'step-clock'],
  },
  {
    name: 'mark-follows-times',
    without: "the high-water mark follows the ERP's clock instead of the modification times that were read",
    file: 'src/warehouse/publish.ts',
    replaces: 'writeState',
    instead: `(original) => (work, published) => {
      const { rules, state } = work;
      if (state.plan.mode === 'full') return original(work, published);
      const plan = { ...state.plan, maxModified: state.counters.erpStartedAt };
      return original({ ...work, rules: { ...rules, settleMs: 0 }, state: { ...state, plan } }, published);
    }`,
    concerns: ['during', 'step-clock'],
  },
  {
    name: 'clock-set-back',
    without: "the high-water mark stays where it is when the ERP's clock is set back",
    file: 'src/sync/account/erp-clock.ts',
    replaces: 'lowerHighWaterToErpClock',
    instead: `(original) => async (ctx, schema, known, erpNow) => {
      await original(ctx, schema, { ...known, highWater: null }, erpNow);
      return known.highWater;
    }`,
    concerns: ['clock-back'],
  },
  {
    name: 'repeated-hour',
    without: 'changes are not listed from an hour earlier',
    file: 'src/sync/read/listed-changes.ts',
    replaces: 'withRepeatedHour',
    instead: '() => (since) => new Date(since)',
    concerns: ['clock-change', 'step-clock', 'clock-back'],
  },
  {
    name: 'listed-ids',
    without: 'listed changes need not have been read',
    file: 'src/sync/read/listed-changes.ts',
    replaces: 'filterUnreadIds',
    instead: '() => async () => []',
    concerns: ['locked-record', 'false-has-more', 'repeated-page', 'stale-page'],
  },
  {
    name: 'listed-times',
    without: 'a record may have been read with another modification time than the listed one',
    file: 'src/sync/read/listed-changes.ts',
    replaces: 'listNotStagedAs',
    instead: '(original) => async (...given) => (await original(...given)).filter(({ staged }) => !staged)',
    concerns: ['stale-page', 'repeated-page'],
  },
  {
    name: 'listed-earlier-times',
    without: 'records of the repeated hour are not compared by modification time',
    file: 'src/sync/read/listed-changes.ts',
    replaces: 'isStoredAs',
    instead: '() => (stored, { id }) => stored.has(id)',
    concerns: ['clock-change', 'clock-back', 'step-clock'],
  },
  {
    name: 'listed-unreadable',
    without: 'a listed record that cannot be read is passed over',
    file: 'src/sync/read/listed-changes.ts',
    replaces: 'assertNoLongerListed',
    instead: '() => async () => undefined',
    concerns: ['locked-record'],
  },
  {
    name: 'listed-count',
    without: "the number of listed changes is not compared with the ERP's count",
    file: 'src/sync/read/listed-changes.ts',
    replaces: 'proveListed',
    instead: `(original) => (reading, state) => {
      const { rows = 0 } = state.plan.facts.listing ?? {};
      const countChanged = async (request) =>
        ({ ...(await reading.connector.countChanged(request)), records: Number(rows) });
      return original({ ...reading, connector: { countChanged } }, state);
    }`,
    concerns: ['false-has-more', 'wrong-count', 'repeated-page', 'stale-page'],
  },
  {
    name: 'listed-lines-count',
    without: "the number of records with changed lines is not compared with the ERP's count",
    file: 'src/sync/read/listed-changes.ts',
    replaces: 'proveListed',
    instead: `(original) => (reading, state) => {
      const { lineRows, ...listing } = state.plan.facts.listing ?? {};
      const facts = { ...state.plan.facts, listing };
      return original(reading, { ...state, plan: { ...state.plan, facts } });
    }`,
    concerns: ['false-has-more', 'wrong-count', 'line-time', 'silent-line-text', 'edit-lines'],
  },
  {
    name: 'open-compared',
    without: 'open records are not compared in their volatile fields',
    file: 'src/sync/read/open-records.ts',
    replaces: 'differsFromErp',
    instead: '() => () => false',
    concerns: ['silent-amount', 'pay-invoice', 'undo-payment'],
  },
  {
    name: 'always-open-compared',
    without: 'records of a type without open and closed ones are not compared in each run',
    file: 'src/sync/read/open-records.ts',
    replaces: 'openSql',
    instead:
      "(original) => (state, openWhen) => (openWhen === 'always' ? 'false' : original(state, openWhen))",
    concerns: ['silent-amount', 'pay-invoice', 'type:customer', 'insert-invoice'],
  },
  {
    name: 'recently-closed-compared',
    without: 'recently closed records are not compared in each run',
    file: 'src/sync/read/open-records.ts',
    replaces: 'recentlyClosedSql',
    instead: "() => () => 'false'",
    concerns: ['silent-amount', 'pay-invoice', 'undo-payment', 'move-payment'],
  },
  {
    name: 'values-compared',
    without: 'the comparison with stored values finds no difference',
    file: 'src/sync/read/differs-from-erp.ts',
    replaces: 'differsFromErp',
    instead: '() => () => false',
    concerns: ['silent-amount', 'rename-customer', 'rename-item', 'new-day'],
  },
  {
    name: 'labels-scanned',
    without: 'labels are not compared',
    file: 'src/sync/read/differs-from-erp.ts',
    replaces: 'columnsToCompare',
    instead: "(original) => (...given) => original(...given).filter(({ part }) => part !== 'label')",
    concerns: ['rename-customer', 'rename-item', 'new-day'],
  },
  {
    name: 'rolling-due',
    without: 'no rolling full read begins',
    file: 'src/sync/read/rolling-read.ts',
    replaces: 'startSlice',
    instead:
      '(original) => (reading, state) => (reading.prepared.rollingRead.passStartedAt === null ? null : original(reading, state))',
    concerns: ['silent-field', 'silent-line-text', 'new-day'],
  },
  {
    name: 'rolling-missing',
    without: 'records that a page of the rolling read lacks are not requested by id',
    file: 'src/sync/read/rolling-read.ts',
    replaces: 'listUnreadInRange',
    instead: '() => async () => []',
    concerns: ['silent-field', 'silent-line-text', 'new-day', 'false-has-more', 'stale-page'],
  },
  {
    name: 'rolling-clock-set-back',
    without: "the rolling read waits longer when the ERP's clock was set back",
    file: 'src/sync/account/erp-clock.ts',
    replaces: 'limitRollingReadToErpClock',
    instead: '() => async () => undefined',
    concerns: ['clock-back', 'silent-field', 'silent-line-text', 'new-day'],
  },
  {
    name: 'rejected-is-partial',
    without: 'a run is green although records are rejected',
    file: 'src/warehouse/publish.ts',
    replaces: 'decideStatus',
    instead: '(original) => (outcome) => original({ ...outcome, rejected: 0 })',
    concerns: ['bad-value'],
  },
  {
    name: 'year-zero-rejected',
    without: 'times of year 0 count as times, which PostgreSQL refuses wherever they are compared',
    file: 'src/core/text/calendar.ts',
    replaces: 'isTime',
    instead: "(original) => (text) => original(text.replace(/^0000/, '0004'))",
    concerns: ['bad-time'],
  },
];
