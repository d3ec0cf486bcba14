// Mutants of what keeps records from being deleted, or from staying, by mistake: confirmation by id, bounds,
// proposals.
import type { Mutant } from './mutant.ts';

export const absenceMutants: readonly Mutant[] = [
  {
    name: 'full-absence-by-id',
    without: 'a full run deletes what its pages passed over, without requesting it by id',
    file: 'src/sync/deletions/confirm-absences.ts',
    replaces: 'filterConfirmedAbsent',
    instead:
      "(original) => async (reading, ids) => (reading.prepared.state.plan.mode === 'full' ? ids : original(reading, ids))",
    concerns: [
      'full',
      'repeated-page',
      'stale-page',
      'false-has-more',
      'locked-record',
      'deletions:reconcile',
    ],
  },
  {
    name: 'full-absence-noticed',
    without: 'a full run does not look for stored records that its pages did not contain',
    file: 'src/sync/deletions/confirm-absences.ts',
    replaces: 'listIdsNotRead',
    instead: '() => async () => []',
    concerns: ['full', 'delete-unlisted', 'delete-invoice', 'delete-customer'],
  },
  {
    name: 'full-feed',
    without: "a full run does not look up absent records in the ERP's list of deletions",
    file: 'src/sync/deletions/confirm-absences.ts',
    replaces: 'readFeedForIds',
    instead: '() => async (_reading, state) => state',
    concerns: ['full', 'delete-many', 'delete-invoice', 'delete-customer', 'deletions:feed'],
  },
  {
    name: 'feed-read',
    without: "the ERP's list of deletions is not read",
    file: 'src/sync/deletions/deletion-feed.ts',
    replaces: 'rereadKnown',
    instead:
      "(original) => (reading, state, ids, proof) => original(reading, state, proof === 'feed' ? [] : ids, proof)",
    concerns: ['delete-invoice', 'delete-many', 'delete-customer', 'deletions:feed'],
  },
  {
    name: 'feed-confirmed-by-id',
    without: 'what the ERP lists as deleted is deleted without a request by id',
    file: 'src/sync/deletions/deletion-feed.ts',
    replaces: 'rereadKnown',
    instead: `(original) => async (reading, state, ids, proof) => {
      if (proof !== 'feed') return original(reading, state, ids, proof);
      const absent = await filterKnownIds(reading, state, ids);
      return { absent, state: await saveStep(reading, state, { absent: absent.map((id) => ({ id, proof })) }) };
    }`,
    concerns: ['restore-deleted', 'delete-invoice', 'delete-many', 'delete-all'],
  },
  {
    name: 'approved-confirmed-by-id',
    without: 'approved deletions are carried out without a request by id',
    file: 'src/sync/deletions/deletion-feed.ts',
    replaces: 'rereadKnown',
    instead: `(original) => async (reading, state, ids, proof) => {
      if (proof !== 'approved') return original(reading, state, ids, proof);
      const absent = await filterKnownIds(reading, state, ids);
      return { absent, state: await saveStep(reading, state, { absent: absent.map((id) => ({ id, proof })) }) };
    }`,
    concerns: ['approve', 'narrow-role', 'restore-deleted', 'delete-many-unlisted'],
  },
  {
    name: 'approved-carried-out',
    without: 'approved deletions are not carried out',
    file: 'src/sync/deletions/deletion-feed.ts',
    replaces: 'listApprovedProposals',
    instead: '() => async () => []',
    concerns: ['approve', 'delete-many-unlisted', 'delete-all'],
  },
  {
    name: 'references-looked-up',
    without: 'nothing is looked up about records that name an absent one',
    file: 'src/sync/deletions/mark-referenced.ts',
    replaces: 'findReferences',
    instead: '() => async () => new Map()',
    concerns: ['narrow-role', 'deletions:reconcile', 'type:invoice'],
  },
  {
    name: 'referenced-stay',
    without: 'absent records are deleted although other records name them',
    file: 'src/warehouse/deletions.ts',
    replaces: 'decideDeletions',
    instead: '(original) => (found, ...given) => original({ ...found, referenced: new Set() }, ...given)',
    concerns: ['narrow-role', 'deletions:reconcile'],
  },
  {
    name: 'released-records',
    without: 'no scan follows when records that were held back are no longer named',
    file: 'src/sync/deletions/mark-referenced.ts',
    replaces: 'hasReleasedRecords',
    instead: '() => async () => false',
    concerns: ['narrow-role', 'delete-invoice', 'deletions:reconcile', 'new-day'],
  },
  {
    name: 'deletion-bound',
    without: 'any number of unconfirmed deletions is carried out',
    file: 'src/warehouse/deletions.ts',
    replaces: 'decideDeletions',
    instead:
      '(original) => (found, bound, ...given) => original(found, { ...bound, allowed: Infinity }, ...given)',
    concerns: ['narrow-role', 'deletions:reconcile'],
  },
  {
    name: 'deletion-bound-daily',
    without: 'each run may delete as many unconfirmed records as a whole day',
    file: 'src/warehouse/deletion-proposals.ts',
    replaces: 'writeHistory',
    instead: '(original) => (target, history) => original(target, { ...history, unconfirmed: 0 })',
    concerns: ['narrow-role', 'deletions:reconcile'],
  },
  {
    name: 'deletion-bound-share',
    without: 'twenty unconfirmed deletions are carried out, however few records there are',
    file: 'src/warehouse/deletions.ts',
    replaces: 'maxDeletions',
    instead: '(original) => (rows, share) => Math.max(original(rows, share), 20)',
    concerns: ['narrow-role', 'deletions:reconcile', 'type:creditMemo', 'type:item'],
  },
  {
    name: 'deletion-bound-twenty',
    without: 'a tenth of the records is deleted unconfirmed, however many that are',
    file: 'src/warehouse/deletions.ts',
    replaces: 'maxDeletions',
    instead: '(original) => (rows, share) => Math.max(original(rows, share), Math.floor(rows / 10))',
    concerns: ['narrow-role', 'deletions:reconcile', 'large'],
  },
  {
    name: 'never-all',
    without: 'unconfirmed deletions may empty a table',
    file: 'src/warehouse/deletions.ts',
    replaces: 'decideDeletions',
    instead:
      "(original) => (found, bound, ...given) => original(found, { ...bound, rowCount: 'Infinity' }, ...given)",
    concerns: ['narrow-role', 'deletions:reconcile', 'delete-all'],
  },
  {
    name: 'feed-mode-keeps',
    without: 'absence alone deletes, although the configuration follows the list of deletions',
    file: 'src/warehouse/deletions.ts',
    replaces: 'decideDeletions',
    instead: "(original) => (found, bound, rules) => original(found, bound, rules, 'hidden')",
    concerns: ['narrow-role', 'deletions:feed'],
  },
  {
    name: 'rejected-deletions-stay',
    without: 'records are deleted although an administrator rejected that',
    file: 'src/warehouse/deletions.ts',
    replaces: 'decideDeletions',
    instead: '(original) => (found, ...given) => original({ ...found, rejected: new Set() }, ...given)',
    concerns: ['approve', 'narrow-role', 'deletions:reconcile'],
  },
  {
    name: 'held-is-partial',
    without: 'a run is green although deletions wait for approval',
    file: 'src/warehouse/publish.ts',
    replaces: 'decideStatus',
    instead: '(original) => (outcome) => original({ ...outcome, held: 0 })',
    concerns: ['narrow-role', 'delete-many-unlisted'],
  },
  {
    name: 'held-between-scans',
    without: 'a run that compared no ids forgets that deletions wait for approval',
    file: 'src/warehouse/deletion-proposals.ts',
    replaces: 'updateWithoutComparison',
    instead: '(original) => async (...given) => ({ ...(await original(...given)), held: 0 })',
    concerns: ['narrow-role', 'delete-many-unlisted', 'delete-unlisted'],
  },
  {
    name: 'read-is-not-absent',
    without: 'a record that the run read is deleted because an earlier step found it absent',
    file: 'src/warehouse/staging.ts',
    replaces: 'forgetAbsent',
    instead: '() => async () => undefined',
    concerns: ['restore-deleted', 'delete-invoice', 'delete-many', 'full'],
  },
];
