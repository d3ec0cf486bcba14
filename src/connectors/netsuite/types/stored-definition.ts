// How a record type that this connector doesn't know by name is read: JSON in the record type's metadata. It
// holds names and never SQL, except for a query source, whose table is the customer's own query.
import { z } from 'zod';

/** A name of a table or column in queries: SuiteQL's names are in lower case here. */
const SqlName = z.string().regex(/^[a-z][a-z0-9_]{0,99}$/);

/** Digits of an id at most, so that it fits into 64 bits. */
export const maxIdDigits = 18;

/** The field with the modification time of the record's parent. No column can have this name. */
export const parentModifiedField = 'parentModified';

const StoredLines = z.object({
  label: z.string(),
  table: SqlName,
  /** Column of a line with the id of its record. */
  parent: SqlName,
  /**
   * Integer column that paginates the lines of one record; unique among them. It must be one of the lines'
   * syncable fields.
   */
  key: SqlName,
  /** Number columns whose sums prove that all lines were read, as far as they are syncable fields. */
  sums: z.array(SqlName).readonly(),
  /** Column with the time of the line's own last modification; null where there is none. */
  modified: SqlName.nullable(),
});

export const StoredDefinition = z
  .object({
    /** A table's name, or the customer's SELECT in parentheses. */
    table: z.union([SqlName, z.string().regex(/^\(.*\)$/s)]),
    /** Only rows whose column has this text, such as transactions of one type. */
    filter: z.object({ column: SqlName, value: z.string().regex(/^\w{1,100}$/) }).nullable(),
    /**
     * The columns whose integers identify a row, the most significant first. The record's id has the digits
     * of all of them in this order, each but the first padded with zeros to `digits`: transaction 12, line 3
     * (5 digits), book 1 (2 digits) is 120000301. With a negative first part it is the same arithmetic: item
     * -2, colour 1 (6 digits) is -1999999. So the sum of the digits is at most 18. A row with a part that is
     * longer, or negative unless it is the first, is a rejected record.
     */
    key: z
      .array(z.object({ column: SqlName, digits: z.int().min(1).max(maxIdDigits) }))
      .min(1)
      .max(5)
      .readonly(),
    /**
     * The time of the last modification: the row's own, whose field has the column's name, or the parent's
     * (`parentModifiedField`).
     */
    modified: z.object({ column: SqlName, from: z.enum(['own', 'parent']) }).nullable(),
    /** The record that a row belongs to: `key` of its table has the value of the row's `column`. */
    parent: z.object({ table: SqlName, key: SqlName, column: SqlName }).nullable(),
    /**
     * Columns whose field has another name, because that name belongs to the key: columns by field name,
     * which is camelCase.
     */
    renamed: z.record(z.string().regex(/^[a-z]+[A-Z][A-Za-z]{0,60}$/), SqlName),
    /** Only for a key of one column, and not together with the parent's modification time. */
    lines: StoredLines.nullable(),
    /**
     * Its names in the `deletedrecord` table, reduced to lower-case letters, digits and `_`; empty where
     * deletions are never listed there.
     */
    deletedAs: z.array(z.string()).readonly(),
  })
  .refine(
    ({ key }) => key.reduce((sum, { digits }) => sum + digits, 0) <= maxIdDigits,
    'An id has too many digits',
  )
  .refine(({ modified, parent }) => modified?.from !== 'parent' || parent !== null, 'The parent is missing')
  .refine(
    ({ lines, key, modified }) => lines === null || (key.length === 1 && modified?.from !== 'parent'),
    'Such records have no lines',
  );
/** JSON: `RecordTypeMetadata.definition` of record types that this connector doesn't know by name. */
export type StoredDefinition = z.infer<typeof StoredDefinition>;
