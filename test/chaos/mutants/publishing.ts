// Mutants of what makes a publication whole and callers' copies right: the lease fence, one transaction,
// generations, change numbers.
import type { Mutant } from './mutant.ts';

export const publishingMutants: readonly Mutant[] = [
  {
    name: 'one-transaction',
    without: 'rows, deletions and generation are published in two transactions',
    file: 'src/warehouse/publish-rows.ts',
    replaces: 'updateChanged',
    instead: `(original) => async (work, candidates) => {
      const updated = await original(work, candidates);
      await work.client.query('commit');
      await work.client.query('select pg_sleep(0.15)');
      await work.client.query('begin');
      return updated;
    }`,
    concerns: ['reader', 'kill', 'stop'],
  },
  {
    name: 'generation-rises',
    without: 'a publication that updates rows keeps the generation',
    file: 'src/warehouse/publish.ts',
    replaces: 'changesRows',
    instead: '(original) => (written) => original({ ...written, updated: 0 })',
    concerns: ['reader', 'edit-customer'],
  },
  {
    name: 'new-change-number',
    without: 'updated rows keep their change number',
    file: 'src/warehouse/merge-rows.ts',
    replaces: 'updateWhere',
    instead: '(original) => (work, condition) => original(work, condition, false)',
    concerns: ['edit-invoice', 'edit-customer'],
  },
  {
    name: 'change-numbers-by-shown',
    without: 'every change of a row gives it a new change number',
    file: 'src/warehouse/merge-rows.ts',
    replaces: 'splitByVisibility',
    instead: '(original) => (columns) => original(columns, null)',
    concerns: ['reader', 'edit-customer'],
  },
  {
    name: 'tombstones',
    without: 'deletions are not announced',
    file: 'src/warehouse/publish-rows.ts',
    replaces: 'writeTombstones',
    instead: '() => async () => undefined',
    concerns: ['delete-invoice', 'delete-customer', 'delete-many'],
  },
  {
    name: 'epoch-renewed',
    without: 'the first publication after a failover keeps the epoch',
    file: 'src/warehouse/publish.ts',
    replaces: 'lineageOn',
    instead:
      '(original) => (here, lineage, generation) => original(here, { ...lineage, timeline: here }, generation)',
    concerns: ['failover', 'reader'],
  },
];
