// Directed histories of the mutants in `../lines.ts`, by their names. Invoice 1003 has six lines.
import type { Action } from '../../plan.ts';
import { afterLoad, type Histories, type History, load } from '../history.ts';
import { asks, at, lie, nextDay, patch, step, write } from './moves.ts';

const invoice = 1003;
type Fields = Readonly<Record<string, string | number>>;
const line = (number: number, fields: Fields, touch: string): Action =>
  patch('transaction', invoice, { lines: [{ line: number, fields }], touch });
const edited = patch('transaction', invoice, { fields: { memo: 'Edited' }, touch: 'header' });
/** Answers lack the fourth line of each document. */
const lacksLine = (times?: number): Action =>
  lie('invoice', {
    on: { table: 'transactionline', kind: 'rows' },
    dropRows: { where: { linesequencenumber: 4 } },
    ...(times !== undefined && { times }),
  });
const otherQuantity: History = afterLoad({
  green: true,
  before: [line(2, { quantity: -9 }, 'none'), nextDay],
});

export const lineHistories: Histories = {
  'lines-compared': afterLoad({ green: true, before: [edited], during: [at(asks.lines, 1, lacksLine(1))] }),
  'lines-still-differ': afterLoad({ before: [edited, lacksLine()] }, { green: true }),
  'lines-unreturned': afterLoad({
    before: [edited, lacksLine(1)],
    during: [
      at(
        't.id IN (1003)',
        1,
        lie('invoice', {
          on: { table: 'transaction', kind: 'rows' },
          times: 1,
          dropRows: { where: { id: invoice } },
        }),
      ),
    ],
  }),
  // It sums to nothing.
  'lines-counted': {
    rounds: [
      { ...load, before: [line(4, { quantity: 0, netamount: 0, rate: 0 }, 'none')] },
      { green: true, before: [edited], during: [at(asks.lines, 1, lacksLine(1))] },
    ],
  },
  'lines-summed': otherQuantity,
  'lines-latest-time': afterLoad(
    { green: true, before: [line(2, { memo: 'Once' }, 'lines')] },
    { green: true, before: [step(1), line(2, { memo: 'Twice' }, 'lines')] },
  ),
  // The clock was set back a little: its time is not the latest one.
  'lines-changed-counted': afterLoad(
    { green: true, before: [line(2, { memo: 'Once' }, 'lines')] },
    { green: true, before: [step(-2), line(3, { memo: 'Twice' }, 'lines')] },
  ),
  'lines-followed': afterLoad({ green: true, before: [line(2, { memo: 'Once' }, 'lines')] }),
  'lines-scanned': otherQuantity,
  // The role can't see which custom fields there are.
  'lines-column-asked': {
    rounds: [
      {
        ...load,
        before: [write('PUT', '/hidden', { tables: ['customfield'] })],
      },
      {
        before: [write('DELETE', '/fields/transactionline/custcol_lot_number'), nextDay],
      },
      { before: [nextDay] },
    ],
  },
};
