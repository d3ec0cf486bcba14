// Directed histories of the mutants in `../columns.ts`, by their names.
import { customFields } from '../../custom-fields.ts';
import type { Action } from '../../plan.ts';
import { afterLoad, type Histories, type History, load } from '../history.ts';
import { asks, at, change, empty, step, write } from './moves.ts';

const region = 'custentity_sales_region';
const { label, type } = customFields.customer;
const hideFax: Action = { do: 'hide', recordType: 'customer', columns: ['fax'], rounds: 1 };

const ofCustomers = (...rounds: History['rounds']): History => ({
  recordTypes: ['customer'],
  rounds: [load, ...rounds],
});

/** Every second and the first answer about a field of all customers lacks its values. */
const allEmpty = ofCustomers({ full: true, before: [empty('customer', region)] });

/** A field comes empty by mistake while one of its values changes silently. */
const changedMeanwhile = ofCustomers(
  {
    full: true,
    before: [change('customer', '6', { [region]: 'moved' }, 'none'), step(1), empty('customer', region)],
  },
  {},
);

/** A quarter of the invoices comes without numbers once. */
const someEmptyOnce: History = {
  pageSize: 1_000,
  rounds: [load, { full: true, before: [empty('invoice', 'tranid', { every: 4, times: 1 })] }],
};

/** Documents with ids from 1000 in steps of 3, of which each seventh is a credit memo. */
const fourthInvoices = Array.from({ length: 140 }, (_, n) => ({ n, id: 1_000 + n * 3 }))
  .filter(({ n, id }) => n % 7 !== 6 && id % 4 === 0)
  .map(({ id }) => String(id));

/**
 * A value that its field had before the role lost it, and that is gone when the role can read the field
 * again.
 */
const emptiedMeanwhile: History = {
  recordTypes: ['customer'],
  rounds: [
    { ...load, before: [change('customer', '5', { fax: 'old' }, 'none')] },
    { before: [hideFax, change('customer', '5', { phone: '1' })] },
    { before: [change('customer', '5', { fax: null }, 'none')] },
  ],
};

/** A text that is deleted and created again as a time. */
const becomesTime: readonly Action[] = [
  write('DELETE', `/fields/customer/${region}`),
  write('POST', '/fields', { table: 'customer', name: region, type: 'datetime', label }),
  change('customer', '5', { [region]: '2011-09-01T10:00:08Z' }),
];
/** A text of which only the metadata catalogue names the type. */
const hideFieldList: Action = write('PUT', '/hidden', { tables: ['customfield'] });

export const columnHistories: Histories = {
  'types-compared': ofCustomers({ before: becomesTime }),
  'types-watched': ofCustomers({ before: [hideFieldList, { do: 'refresh' }] }, { before: becomesTime }),
  'emptied-noticed': allEmpty,
  'emptied-withheld': allEmpty,
  'withheld-not-written': allEmpty,
  'emptied-asked-again': someEmptyOnce,
  'emptied-few-asked-again': someEmptyOnce,
  'still-empty-stays': {
    pageSize: 1_000,
    rounds: [
      load,
      {
        before: [
          ...fourthInvoices.map((id) => change('transaction', id, { memo: 'new' })),
          empty('invoice', 'tranid', { every: 4, rounds: 2 }),
        ],
      },
      {},
    ],
  },
  'filled-again-healed': changedMeanwhile,
  'stale-is-partial': changedMeanwhile,
  'unreadable-noticed': ofCustomers({
    before: [write('DELETE', `/fields/customer/${region}`)],
  }),
  'unreadable-lines-noticed': afterLoad(
    { before: [write('DELETE', '/fields/transactionline/custcol_lot_number')] },
    { before: [step(24 * 60)] },
  ),
  'unreadable-asked-again': ofCustomers({ before: [hideFax] }, {}, {}),
  'returned-read-fully': ofCustomers(
    { before: [step(120), change('customer', '7', { phone: '1' }), step(6)] },
    { before: [hideFax, change('customer', '5', { fax: 'an hour earlier' }, '2011-09-05T10:20:00Z')] },
    {},
  ),
  'added-read-fully': {
    quiet: true,
    recordTypes: ['customer'],
    rounds: [
      {
        ...load,
        before: [write('DELETE', `/fields/customer/${region}`), { do: 'refresh' }],
      },
      {
        before: [
          write('POST', '/fields', { table: 'customer', name: region, type, label }),
          change('customer', '5', { [region]: 'new' }, 'none'),
          { do: 'refresh' },
        ],
      },
      {},
    ],
  },
  // Every second line of all invoices comes without its item once.
  'emptied-lines-asked': {
    pageSize: 1_000,
    rounds: [
      load,
      {
        full: true,
        during: [
          at(asks.lines, 1, {
            do: 'lie',
            recordType: 'invoice',
            rounds: 1,
            lie: {
              on: { table: 'transactionline', kind: 'rows' },
              nullColumn: { column: 'item', every: 2 },
              times: 1,
            },
          }),
        ],
      },
    ],
  },
  'returned-compared': emptiedMeanwhile,
  'returned-empty-compared': emptiedMeanwhile,
  'withheld-has-no-hash': ofCustomers(
    { full: true, before: [change('customer', '6', { phone: '1' }), empty('customer', region)] },
    { before: [change('customer', '6', { [region]: null }, 'none')] },
  ),
};
