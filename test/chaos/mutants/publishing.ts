// Mutants of what makes a publication whole and callers' copies right: the lease fence, one transaction, generations, change numbers.
import type { Mutant } from './mutant.ts';

export const publishingMutants: readonly Mutant[] = [
  {
    name: 'page-fence',
    without: 'a worker that lost its lease writes pages',
    file: 'src/warehouse/staging.ts',
    find: `plan = $7, counters = $8, updated_at = now()
     where run_id = $1 and lease_epoch = $2 and page = $3 and outcome is null`,
    replace: `plan = $7, counters = $8, updated_at = now()
     where run_id = $1 and $2::integer is not null and $3::integer is not null`,
    concerns: ['freeze', 'kill', 'processes:2'],
  },
  {
    name: 'publish-fence',
    without: 'a worker that lost its lease publishes',
    file: 'src/warehouse/publish.ts',
    find: 'where run_id = $1 and lease_epoch = $2 and page = $3 and outcome is null for update',
    replace: 'where run_id = $1 and $2::integer is not null and $3::integer is not null for update',
    concerns: ['freeze', 'kill', 'processes:2'],
  },
  {
    name: 'flush-before-publishing',
    without: 'publishing starts although staged pages may not be on disk',
    file: 'src/sync/execute-run.ts',
    find: 'await inDataTransaction(ctx.db.data, (client) => flushStaged(client, tenantSchema(ctx.organizationId), state));',
    replace: '',
    concerns: ['stop'],
  },
  {
    name: 'published-once',
    without: 'a run whose COMMIT was not confirmed is published again',
    file: 'src/sync/execute-run.ts',
    find: 'const outcome = state.outcome ?? (await publishStagedRun(ctx, config, state));',
    replace: 'const outcome = await publishStagedRun(ctx, config, state);',
    concerns: ['kill', 'stop'],
  },
  {
    name: 'one-transaction',
    without: 'rows, deletions and generation are published in two transactions',
    file: 'src/warehouse/publish.ts',
    find: 'const updated = await updateChanged(merging, staged - inserted);',
    replace: `const updated = await updateChanged(merging, staged - inserted);
  await client.query('commit');
  await client.query('select pg_sleep(0.15)');
  await client.query('begin');`,
    concerns: ['reader', 'kill', 'stop'],
  },
  {
    name: 'published-count',
    without: 'what is published is not compared with what was staged',
    file: 'src/sync/outcome.ts',
    find: 'if (rows < 0 || counts.inserted + counts.updated + counts.unchanged !== counts.fetched - state.counters.rejected) {',
    replace: 'if (rows < 0 && counts.fetched < 0) {',
    concerns: ['stop', 'kill', 'duplicate-rows', 'repeated-page'],
  },
  {
    name: 'staged-count',
    without: 'what is staged is not compared with what was read',
    file: 'src/sync/proof.ts',
    find: 'if (rejected !== state.counters.rejected || staged + rejected !== state.counters.fetched) {',
    replace: 'if (staged + rejected < 0) {',
    concerns: ['stop', 'kill', 'duplicate-rows', 'repeated-page'],
  },
  {
    name: 'generation-rises',
    without: 'a publication that updates rows keeps the generation',
    file: 'src/warehouse/publish.ts',
    find: 'const hasChanges = fresh || inserted + updated + deleted > 0;',
    replace: 'const hasChanges = fresh || inserted + deleted > 0;',
    concerns: ['reader', 'edit-customer'],
  },
  {
    name: 'new-change-number',
    without: 'updated rows keep their change number',
    file: 'src/warehouse/merge-rows.ts',
    find: "...(numbered ? ['generation = $2', 'changed_at = now()'] : []),",
    replace: "...(numbered ? ['changed_at = case when $2::bigint is not null then now() end'] : []),",
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
    file: 'src/warehouse/publish.ts',
    find: `     on conflict (record_type, id) do update set generation = excluded.generation, deleted_at = now()\`,
    [state.recordType, ids, generation],`,
    replace: `     on conflict (record_type, id) do update set generation = excluded.generation, deleted_at = now()\`,
    [state.recordType, ids.slice(0, 0), generation],`,
    concerns: ['delete-invoice', 'delete-customer', 'delete-many'],
  },
  {
    name: 'tombstone-of-returned',
    without: 'a record that returns stays announced as deleted',
    file: 'src/warehouse/merge-rows.ts',
    find: 'where d.record_type = $1 and s.run_id = $2 and d.id = s.id::text`',
    replace: "where d.record_type = $1 and s.run_id = $2 and d.id = ''`",
    concerns: ['restore-deleted', 'approve', 'delete-many'],
  },
  {
    name: 'compared-table',
    without: 'a run publishes although the table changed that it was compared with',
    file: 'src/warehouse/publish.ts',
    find: 'if (comparedWith !== null && (comparedWith.table',
    replace: 'if (comparedWith === undefined && (comparedWith.table',
    concerns: ['full', 'kill', 'stop'],
  },
];
