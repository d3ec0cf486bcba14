// Directed histories of the mutants in `../absence.ts`, by their names.
import type { Action } from '../../plan.ts';
import { afterLoad, type Histories, type History, load } from '../history.ts';
import { asks, at, lie, missOnce, patch, remove, restore, staleDeletions, unseen, write } from './moves.ts';

const [invoice, other] = [1003, 1006];
const onePage = { pageSize: 200 };
const feed = { deletions: 'feed' } as const;
const hide = (
  count: number,
  recordType: 'invoice' | 'customer' | 'creditMemo' | 'customerPayment' = 'invoice',
): Action => ({
  do: 'hide',
  recordType,
  count,
  rounds: 1,
});
const approve: Action = { do: 'approve', recordType: 'invoice', seed: 1, decision: 'all' };
const miss = missOnce('invoice', 'transaction', invoice);
const onCounts = { table: 'transaction', kind: 'count' } as const;
const oneFewer = lie('invoice', { on: onCounts, countOffset: -1, times: 1 });
const uncounted = lie('invoice', { on: onCounts, dropRows: { where: { id: invoice } } });

/** A full run's only page passes over a record, and one answer counts as many as were read. */
const passedOver = [at(asks.page, 1, miss), at(asks.count, 2, oneFewer)];
/** Gone, and not in the list of deletions: with `feed`, that waits for approval. */
const goneUnlisted = remove('transaction', invoice, false);
/** The list of deletions says so of a record that lives. */
const falselyListed = [
  remove('transaction', invoice, true),
  restore('transaction', invoice),
  staleDeletions('invoice'),
];

/** One invoice names this customer. */
const [named, naming] = [42, 1069];
const withCustomers = { recordTypes: ['customer', 'invoice'] } as const;
const unseenCustomer: History = {
  ...withCustomers,
  rounds: [load, { before: unseen('customer', 'customer', named) }],
};

export const absenceHistories: Histories = {
  'full-absence-by-id': { ...onePage, rounds: [load, { full: true, green: true, during: passedOver }] },
  'full-absence-noticed': afterLoad({ full: true, green: true, before: [goneUnlisted] }),
  'full-feed': {
    ...feed,
    rounds: [load, { full: true, green: true, before: [remove('transaction', invoice, true)] }],
  },
  'feed-read': { ...feed, rounds: [load, { green: true, before: [remove('transaction', invoice, true)] }] },
  'feed-confirmed-by-id': {
    ...feed,
    rounds: [load, { green: true, before: falselyListed, during: [at(asks.count, 1, oneFewer)] }],
  },
  // It is back when its deletion is approved, and isn't counted for a while.
  'approved-confirmed-by-id': {
    ...feed,
    rounds: [
      load,
      { before: [goneUnlisted] },
      { before: [restore('transaction', invoice), uncounted, approve] },
      { green: true },
    ],
  },
  'approved-carried-out': {
    ...feed,
    rounds: [load, { before: [goneUnlisted] }, { green: true, before: [approve] }],
  },
  'references-looked-up': unseenCustomer,
  'referenced-stay': unseenCustomer,
  'released-records': {
    ...withCustomers,
    rounds: [
      load,
      { before: [remove('customer', named, false)] },
      { before: [patch('transaction', naming, { fields: { entity: 1 }, touch: 'header' })] },
      { green: true },
    ],
  },
  'deletion-bound': afterLoad({ before: [hide(30)] }),
  // A role that narrows in steps on one day; what it loses in between is read again.
  'deletion-bound-daily': afterLoad({ before: [hide(12)] }, {}, { before: [hide(12)] }),
  'deletion-bound-share': {
    recordTypes: ['creditMemo'],
    rounds: [load, { before: [hide(5, 'creditMemo')] }],
  },
  // 220 customers, a tenth of which is 22.
  'deletion-bound-twenty': {
    recordTypes: ['customer'],
    rounds: [
      {
        ...load,
        before: Array.from({ length: 160 }, (): Action => write('POST', '/records/customer', {})),
      },
      { before: [hide(21, 'customer')] },
    ],
  },
  'never-all': {
    recordTypes: ['customerPayment'],
    rounds: [
      { ...load, before: [{ do: 'edit', kind: 'pay-invoice', seed: 1 }] },
      { before: [hide(1, 'customerPayment')] },
    ],
  },
  'feed-mode-keeps': { ...feed, rounds: [load, { before: [hide(1)] }] },
  // Three of twenty are more than the bound, two aren't.
  'rejected-deletions-stay': {
    recordTypes: ['creditMemo'],
    rounds: [
      load,
      { before: [1018, 1039, 1060].flatMap((id) => unseen('creditMemo', 'transaction', id)) },
      {
        before: [
          { do: 'approve', recordType: 'creditMemo', seed: 1, decision: 'reject' },
          ...[1018, 1039].flatMap((id) => unseen('creditMemo', 'transaction', id)),
        ],
      },
    ],
  },
  'held-is-partial': { ...feed, rounds: [load, { before: [goneUnlisted] }] },
  'held-between-scans': { ...feed, rounds: [load, { before: [goneUnlisted] }, {}] },
  // Found absent by an attempt that then failed, and read by the next one.
  'read-is-not-absent': {
    ...onePage,
    rounds: [
      load,
      {
        full: true,
        before: [remove('transaction', other, false), ...falselyListed],
        during: [
          ...passedOver,
          at(`${asks.byIds}${invoice}`, 1, miss),
          at(
            asks.existing,
            1,
            lie('invoice', { on: { table: 'transaction', kind: 'rows' }, countOffset: 5, times: 1 }),
          ),
        ],
      },
    ],
  },
};
