// Directed histories of the mutants in `../changes.ts`, by their names. The account's clock begins at 09:00
// UTC.
import type { Action } from '../../plan.ts';
import type { RecordTypeName } from '../../plan-names.ts';
import { type Histories, type History, load } from '../history.ts';
import { change, drop, step, touched, write } from './moves.ts';

const dayMinutes = 24 * 60;

/** A full load of one record type, and one run after each group of actions. */
const runs = (recordType: RecordTypeName, ...rounds: readonly (readonly Action[])[]): History => ({
  recordTypes: [recordType],
  rounds: [load, ...rounds.map((before) => ({ before }))],
});

/** An invoice that was closed long ago: others, and records of other types, are compared in each run. */
const closed = '1000';
const loadClosed = {
  ...load,
  before: [
    change('transaction', closed, { foreignamountunpaid: 0, status: 'B', closedate: '2011-07-02' }, 'none'),
  ],
};
const ofInvoices = (...rounds: readonly (readonly Action[])[]): History => ({
  rounds: [loadClosed, ...rounds.map((before) => ({ before }))],
});

/** A change stamped forty minutes before the last mark. */
const repeatedHour = ofInvoices(
  [step(120), change('transaction', '1003', { memo: 'late' }), step(6)],
  [change('transaction', closed, { memo: 'an hour earlier' }, '2011-09-05T10:20:00Z')],
);
const silentAmount = { do: 'edit', kind: 'silent-amount', seed: 1 } as const;

export const changeHistories: Histories = {
  overlap: ofInvoices(
    [
      change('transaction', closed, { memo: 'early' }),
      step(3),
      change('transaction', '1003', { memo: 'later' }),
      step(8),
    ],
    [change('transaction', closed, { memo: 'in the same second' }, 'none')],
  ),
  settling: ofInvoices(
    [
      change('transaction', closed, { memo: 'early' }),
      step(12),
      change('transaction', '1003', { memo: 'now' }),
    ],
    [change('transaction', closed, { memo: 'in the same second' }, 'none')],
  ),
  'settling-full': {
    rounds: [
      { ...load, before: [...loadClosed.before, change('transaction', closed, { memo: 'early' }), step(12)] },
      { before: [change('transaction', closed, { memo: 'in the same second' }, 'none')] },
    ],
  },
  'mark-follows-times': ofInvoices(
    [step(60), change('transaction', closed, { memo: 'early' }), step(12)],
    [change('transaction', closed, { memo: 'in the same second' }, 'none')],
  ),
  'clock-set-back': ofInvoices(
    [change('transaction', '1003', { memo: 'before' }), step(6)],
    [step(-180), change('transaction', closed, { memo: 'after' })],
  ),
  'repeated-hour': repeatedHour,
  'listed-earlier-times': repeatedHour,
  'listed-ids': ofInvoices([
    change('transaction', closed, { memo: 'new' }),
    drop('invoice', { id: 1000 }, 1),
  ]),
  'listed-times': runs('item', [
    change('item', '5', { displayname: 'one' }),
    write('POST', '/books/keep', {}),
    step(1),
    change('item', '5', { displayname: 'two' }),
    {
      do: 'lie',
      recordType: 'item',
      rounds: 1,
      lie: { on: { table: 'item', kind: 'rows' }, stalePage: true, times: 1 },
    },
  ]),
  'listed-unreadable': {
    rounds: [
      loadClosed,
      {
        before: [change('transaction', closed, { memo: 'new' }), drop('invoice', { id: 1000 }, 1)],
        during: [{ asking: 't.id IN (1000)', afterRequests: 1, action: drop('invoice', { id: 1000 }, 1) }],
      },
    ],
  },
  'listed-count': ofInvoices([
    change('transaction', closed, { memo: 'new' }),
    drop('invoice', { id: 1000 }, 2),
  ]),
  'listed-lines-count': runs('invoice', [
    touched('1000', 1, { memo: 'new' }),
    drop('invoice', { transaction: 1000 }, 1, 'transactionline'),
  ]),
  'open-compared': runs('invoice', [silentAmount]),
  'always-open-compared': runs('customer', [silentAmount]),
  'recently-closed-compared': runs(
    'invoice',
    [
      change('transaction', '1000', { foreignamountunpaid: 0, status: 'B', closedate: '2011-09-04' }),
      step(120),
      change('transaction', '1003', { memo: 'later' }),
      step(6),
    ],
    [change('transaction', '1000', { foreignamountunpaid: 1 }, 'none')],
  ),
  'values-compared': runs('invoice', [silentAmount]),
  'labels-scanned': runs('invoice', [
    change('customer', '1', { entityid: 'Renamed' }, 'none'),
    step(dayMinutes),
  ]),
  'rolling-due': { recordTypes: ['item'], quiet: true, rounds: [load] },
  'rolling-missing': {
    recordTypes: ['item'],
    pageSize: 1_000,
    rounds: [
      load,
      {
        before: [change('item', '5', { displayname: 'silent' }, 'none'), step(8 * dayMinutes)],
        during: [
          { asking: 'FROM item t ORDER BY t.id', afterRequests: 1, action: drop('item', { id: 5 }, 1) },
        ],
      },
      {},
    ],
  },
  'rolling-clock-set-back': {
    recordTypes: ['item'],
    quiet: true,
    rounds: [load, { before: [step(-9 * dayMinutes)] }],
  },
  'rejected-is-partial': runs('customer', [
    { do: 'hold', fault: 'bad-value', recordType: 'customer', rounds: 1, seed: 1 },
  ]),
  // The modification time of a customer.
  'year-zero-rejected': {
    recordTypes: ['customer'],
    rounds: [
      load,
      {
        published: true,
        before: [{ do: 'hold', fault: 'bad-time', recordType: 'customer', rounds: 1, seed: 1 }],
      },
    ],
  },
};
