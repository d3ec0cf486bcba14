import type { ColumnType, RecordColumn } from '../../src/warehouse/columns.ts';

/** A column with the values of a field of that name. */
export const column = (
  field: string,
  type: ColumnType = 'text',
  more: Partial<RecordColumn> = {},
): RecordColumn => ({
  column: `f_${field}`,
  field,
  part: 'value',
  type,
  state: 'live',
  lineFields: null,
  ...more,
});
