// Directed histories of the mutants in `../publishing.ts`, by their names.
import type { Action } from '../../plan.ts';
import { type Histories, type History, load } from '../history.ts';
import { change, write } from './moves.ts';

const ofItems = (...before: readonly Action[]): History => ({
  recordTypes: ['item'],
  rounds: [load, { before }],
});
const rename = (id: string): Action => change('item', id, { displayname: 'renamed' });

/** The worker process is killed when others can see what it published, before the queue knows. */
const killed: History = {
  recordTypes: ['item'],
  rounds: [
    load,
    {
      green: true,
      before: [rename('5')],
      during: [
        { afterRequests: 1, action: { do: 'kill', recordType: 'item', when: 'published', delayMs: 0 } },
      ],
    },
    { green: true, before: [rename('4')] },
  ],
};

/** Generation 2 is published with one change, read and lost; then it is published with two. */
const failedOver: History = {
  recordTypes: ['item'],
  reader: true,
  rounds: [
    load,
    {
      green: true,
      before: [rename('5')],
      during: [
        { afterRequests: 1, action: { do: 'failover', recordType: 'item', when: 'publishing', delayMs: 0 } },
        { afterRequests: 9, action: rename('4') },
      ],
    },
  ],
};

export const publishingHistories: Histories = {
  // The second change comes before the first one in the order of ids.
  'generation-rises': {
    recordTypes: ['item'],
    rounds: [load, { before: [rename('5')] }, { before: [rename('4')] }],
  },
  'new-change-number': ofItems(rename('5')),
  'one-transaction': killed,
  'epoch-renewed': failedOver,
  'change-numbers-by-shown': {
    recordTypes: ['item'],
    rounds: [
      load,
      {
        unchanged: true,
        green: true,
        before: [
          write('POST', '/fields', { table: 'item', name: 'custitem_new', type: 'text', label: 'New' }),
          change('item', '5', { custitem_new: 'new' }, 'none'),
          { do: 'refresh' },
        ],
      },
    ],
  },
  tombstones: ofItems(write('DELETE', '/records/item/41?listed=true')),
};
