// Mutants of what makes a publication whole and callers' copies right: the lease fence, one transaction,
// generations, change numbers.
import type { Mutant } from './mutant.ts';

export const publishingMutants: readonly Mutant[] = [
  {
    name: 'one-transaction',
    without: 'rows, deletions and generation are published in two transactions',
    file: 'src/warehouse/publish-rows.ts',
    find: 'const updated = await updateChanged(merging, staged - inserted);',
    replace: `const updated = await updateChanged(merging, staged - inserted);
  await client.query('commit');
  await client.query('select pg_sleep(0.15)');
  await client.query('begin');`,
    concerns: ['reader', 'kill', 'stop'],
  },
  {
    name: 'generation-rises',
    without: 'a publication that updates rows keeps the generation',
    file: 'src/warehouse/publish.ts',
    find: 'const hasChanges = fresh || inserted + updated + deleted + withheld > 0;',
    replace: 'const hasChanges = fresh || inserted + deleted + withheld > 0;',
    concerns: ['reader', 'edit-customer'],
  },
  {
    name: 'new-change-number',
    without: 'updated rows keep their change number',
    file: 'src/warehouse/merge-rows.ts',
    find: "...(numbered ? ['generation = $2', 'changed_at = $3'] : []),",
    replace:
      "...(numbered ? ['changed_at = case when $2::bigint is not null then $3::timestamptz end'] : []),",
    concerns: ['edit-invoice', 'edit-customer'],
  },
  {
    name: 'change-numbers-by-shown',
    without: 'every change of a row gives it a new change number',
    file: 'src/warehouse/merge-rows.ts',
    find: 'if (shown === null) return { whole: columns, lines: [], hidden: [] };',
    replace: 'if (shown !== undefined) return { whole: columns, lines: [], hidden: [] };',
    concerns: ['reader', 'edit-customer'],
  },
  {
    name: 'tombstones',
    without: 'deletions are not announced',
    file: 'src/warehouse/publish-rows.ts',
    find: `     on conflict (record_type, id) do update set generation = excluded.generation, deleted_at = excluded.deleted_at\`,
    [state.recordType, ids, generation, now],`,
    replace: `     on conflict (record_type, id) do update set generation = excluded.generation, deleted_at = excluded.deleted_at\`,
    [state.recordType, ids.slice(0, 0), generation, now],`,
    concerns: ['delete-invoice', 'delete-customer', 'delete-many'],
  },
  {
    name: 'epoch-renewed',
    without: 'the first publication after a failover keeps the epoch',
    file: 'src/warehouse/publish.ts',
    find: 'lineageOn(here, lineage, generation)',
    replace: 'lineageOn(here, { ...lineage, timeline: here }, generation)',
    concerns: ['failover', 'reader'],
  },
];
