// Directed histories of the mutants in `../webhooks.ts`, by their names. The receiver refuses what it likes.
import type { Action } from '../../plan.ts';
import type { Histories, History } from '../history.ts';
import { at, change, remove, restore } from './moves.ts';

/** No process is killed besides. */
const first = { full: true, published: true } as const;
const rename = (id: number): Action => change('item', String(id), { displayname: `renamed ${id}` });
const renamed: History = {
  recordTypes: ['item'],
  quiet: true,
  rounds: [first, ...[5, 4, 5, 4, 5].map((id) => ({ before: [rename(id)] }))],
};

/** What a generation that is told, read and lost brings back is gone when it is read again. */
const failedOver: History = {
  recordTypes: ['item'],
  quiet: true,
  rounds: [
    first,
    { before: [remove('item', 41, true)] },
    // Until the receiver has taken it.
    ...Array.from({ length: 4 }, () => ({})),
    {
      before: [restore('item', 41), { do: 'fault', fault: 'slow', times: 2 }],
      during: [
        { afterRequests: 1, action: { do: 'failover', recordType: 'item', when: 'reading', delayMs: 0 } },
        at(' AS today FROM dual', 2, remove('item', 41, true)),
      ],
    },
  ],
};

export const webhookHistories: Histories = {
  'webhook-retries': renamed,
  'webhook-same-contents': renamed,
  'webhook-one-call': renamed,
  'webhook-after-failover': failedOver,
};
