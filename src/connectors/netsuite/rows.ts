// From the rows of an answer to values, strictly: order and presence of ids are rules of the answer, everything else is the
// business of a single row.
import type { SourceValue } from '../connector.ts';
import { inconsistent } from './errors.ts';
import { type Column, labelKey, type Selection } from './queries.ts';
import type { Row } from './suiteql.ts';
import { isIdText, parseValue } from './values.ts';

/** Ids must be there, ascend, lie after the cursor and be among those asked for. */
export function checkOrder(rows: readonly Row[], { afterId = null, ids }: Selection): void {
  const asked = ids === undefined ? null : new Set(ids);
  let previous = afterId === null ? null : BigInt(afterId);
  for (const row of rows) {
    const id = row.get('id');
    if (id === undefined || id === null || id === '') throw inconsistent('A row has no id');
    if (typeof id !== 'string' || !isIdText(id)) continue; // rejected by whoever reads the row
    if (previous !== null && BigInt(id) <= previous) throw inconsistent(`The id ${id} comes after ${previous}`);
    if (asked?.has(id) === false) throw inconsistent(`The id ${id} was not asked for`);
    previous = BigInt(id);
  }
}

type ReadColumns = { readonly values: Record<string, SourceValue>; readonly labels: Record<string, SourceValue> };

/** The row's values and labels by column, or the first thing wrong with them. */
export function readColumns(row: Row, columns: readonly Column[]): ReadColumns | { readonly problem: string } {
  const values: Record<string, SourceValue> = {};
  const labels: Record<string, SourceValue> = {};
  for (const { name, type } of columns) {
    const value = parseValue(row.get(name), type);
    if ('problem' in value) return { problem: `${name} ${value.problem}` };
    values[name] = value.value;
    if (type !== 'reference' && type !== 'list') continue;
    const label = parseValue(row.get(labelKey(name)), 'text');
    if ('problem' in label) return { problem: `the label of ${name} ${label.problem}` };
    labels[name] = label.value;
  }
  return { values, labels };
}
