// What the oracle takes for right in the lines of a document that changed while a run read it.
import { describe, expect, it } from 'vitest';
import type { Shape, TrueRecord } from './account.ts';
import { compareList } from './compare.ts';
import type { History, Moment } from './history.ts';

const shape: Shape = {
  recordType: 'invoice',
  fields: [{ name: 'memo', field: 'memo', isLabel: false, isNumber: false }],
  lineFields: [
    { name: 'item', field: 'item', isLabel: false, isNumber: false },
    { name: 'itemName', field: 'item', isLabel: true, isNumber: false },
    { name: 'amount', field: 'amount', isLabel: false, isNumber: false },
  ],
};
type Line = readonly [item: string, itemName: string, amount: string];
const moment: Moment = { turn: 1, at: new Date(0), day: '', latest: new Date(0) };
const createRecord = (lines: readonly Line[]): TrueRecord => ({
  cells: ['memo'],
  lines: lines.map((line) => JSON.stringify(line)),
  modified: '',
  linesModified: '',
  raw: JSON.stringify(lines),
});

/**
 * The messages about a document with these lines after each edit, and the state that what is served was taken
 * for.
 */
function compared(served: readonly Line[], ...states: (readonly Line[])[]) {
  const settled: number[] = [];
  const history: History = {
    shape,
    note: async () => undefined,
    begin: async () => moment,
    states: () =>
      states.map((lines) => ({
        truth: { at: new Date(0), records: new Map([['1', createRecord(lines)]]), types: new Map() },
        moment,
        gone: new Set(),
      })),
    change: () => undefined,
    settle: (_id, part, state) => void (part === 'lines' && settled.push(state)),
  };
  const lines = served.map(([item, itemName, amount]) => ({ item, itemName, amount }));
  const snapshot = {
    generation: '1',
    total: 1,
    ids: ['1'],
    records: new Map([['1', { id: '1', memo: 'memo', lines }]]),
    stale: [],
  };
  return { wrong: compareList(history, snapshot, new Set()).map(({ message }) => message), settled };
}

describe('lines of a document that a run reads in several pages', () => {
  const before: Line[] = [
    ['7', 'Old', '1'],
    ['7', 'Old', '2'],
  ];
  const renamed: Line[] = [
    ['7', 'New', '1'],
    ['7', 'New', '2'],
  ];
  const served = (itemName: string, amount: string): Line[] => [
    ['7', 'Old', '1'],
    ['7', itemName, amount],
  ];

  it('have the labels before a rename or after it, and since the earlier one', () => {
    expect(compared(renamed, before, renamed).wrong).toEqual([]);
    expect(compared(served('New', '2'), before, renamed)).toEqual({ wrong: [], settled: [0] });
  });

  it('have no label that the item never had, and no values of two states', () => {
    expect(compared(served('Never', '2'), before, renamed).wrong).toHaveLength(1);
    const edited: Line[] = [
      ['7', 'Old', '3'],
      ['7', 'Old', '4'],
    ];
    expect(compared(served('Old', '4'), before, edited).wrong).toHaveLength(1);
  });
});
