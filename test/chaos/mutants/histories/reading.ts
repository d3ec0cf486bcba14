// Directed histories of the mutants in `../reading.ts`, by their names.
import { afterLoad, type Histories, type History, load } from '../history.ts';
import { appear, asks, at, lie, longAgo, missOnce, newId, nextDay, patch, remove, write } from './moves.ts';

const invoice = 1003;
/** One page has all records. */
const onePage = { pageSize: 200 };
const miss = (id: number) => missOnce('invoice', 'transaction', id);

/**
 * The record that the fault with this seed meets: one value of it can't be stored, and is right again after
 * the round.
 */
const spoiled = 1225;
const spoiledRound = {
  before: [{ do: 'hold', fault: 'bad-value', recordType: 'invoice', rounds: 1, seed: 1 }],
} as const;
const twice = lie('invoice', { on: { table: 'transaction', kind: 'rows' }, duplicateRow: true, times: 1 });

const none = (kind: 'rows' | 'count') =>
  lie('invoice', { on: { table: 'transaction', kind }, dropRows: { where: { type: 'CustInvc' } }, times: 1 });

/** The first load's only page lacks a record. */
const skippedByPage: History = {
  ...onePage,
  rounds: [{ full: true, during: [at(asks.page, 1, miss(invoice))] }],
};
const appeared: History = afterLoad({ green: true, before: appear('transaction', invoice) });
const renamedCustomer: History = afterLoad({
  green: true,
  before: [patch('customer', 8, { fields: { entityid: 'Renamed' }, touch: 'header' }), nextDay],
});

export const readingHistories: Histories = {
  // Neither a page nor the count that it is compared with has any record.
  'zero-rows': {
    ...onePage,
    rounds: [
      { full: true, during: [at(asks.page, 1, none('rows')), at(asks.count, 2, none('count'))] },
      load,
    ],
  },
  'full-count': skippedByPage,
  'full-missing-fetched': skippedByPage,
  // The list of ids lacks it, too.
  'full-list-consistent': {
    ...onePage,
    rounds: [
      {
        full: true,
        during: [
          at(asks.page, 1, miss(invoice)),
          at('SELECT t.id AS id FROM transaction t', 1, miss(invoice)),
        ],
      },
    ],
  },
  // Listed, and in no answer that has more than its id.
  'full-unreadable': {
    ...onePage,
    rounds: [
      load,
      {
        full: true,
        before: appear('transaction', invoice),
        during: [at(asks.page, 1, miss(newId)), at(asks.byIds + newId, 1, miss(newId))],
      },
    ],
  },
  'last-page-marked': { rounds: [load] },
  // Corrected without a new modification time.
  'rejected-read-again': afterLoad(spoiledRound, {
    green: true,
    before: [patch('transaction', spoiled, { touch: longAgo })],
  }),
  'deletions-read': {
    deletions: 'feed',
    rounds: [load, { green: true, before: [remove('transaction', invoice, true)] }],
  },
  'count-compared': appeared,
  'absent-explained': {
    deletions: 'feed',
    rounds: [load, spoiledRound, { before: [remove('transaction', spoiled, false)] }],
  },
  'daily-scan': renamedCustomer,
  'scan-fetches-new': appeared,
  'scan-fetches-differing': renamedCustomer,
  'scan-finds-absent': afterLoad({ green: true, before: [remove('transaction', invoice, false)] }),
  // The scan skips one record, and its number of rows is right because another one is deleted right after it.
  'scan-absence-by-id': afterLoad({
    green: true,
    before: [nextDay],
    during: [at(asks.scan, 1, miss(invoice)), at(asks.count, 2, remove('transaction', 1006, true))],
  }),
  // The account counts a record twice, and lists it twice in the second scan.
  'scan-counts-rows': afterLoad({
    published: true,
    before: [nextDay],
    during: [
      at(asks.count, 1, lie('invoice', { on: { table: 'transaction', kind: 'count' }, countOffset: 1 })),
      at(asks.scan, 2, twice),
    ],
  }),
  // The scan skips a record whose customer was renamed.
  'scan-skipped-read': afterLoad({
    green: true,
    before: [patch('customer', 42, { fields: { entityid: 'Renamed' }, touch: 'header' }), nextDay],
    during: [at(asks.scan, 1, miss(1069)), at(asks.count, 2, remove('transaction', 1006, true))],
  }),
  'scan-consistent': afterLoad({
    green: true,
    before: appear('transaction', invoice),
    during: [at(asks.scan, 1, miss(newId))],
  }),
  // One record is created before the list, and one is deleted after it.
  'scan-repeated': afterLoad({
    green: true,
    before: [nextDay],
    during: [
      at(asks.scan, 1, write('POST', '/records/transaction', { like: String(invoice) })),
      at(asks.count, 2, remove('transaction', 1006, true)),
    ],
  }),
  'pages-counted': afterLoad({
    green: true,
    before: appear('transaction', invoice),
    during: [at(asks.scan, 1, miss(newId)), at(asks.scan, 2, miss(newId))],
  }),
  'scan-unreadable': afterLoad(
    {
      before: appear('transaction', invoice),
      during: [at(`${asks.byIds}${newId}`, 1, miss(newId))],
    },
    { green: true },
  ),
  // Deleted between the list of deletions and the scan.
  'scan-rereads-feed': {
    deletions: 'feed',
    rounds: [load, { green: true, during: [at(asks.count, 1, remove('transaction', invoice, true))] }],
  },
};
