// Describes a record type: the table of its records, and their properties, lines and sublists.
import type { Property } from './property.ts';

/**
 * Rows of another table that belong to a record. `where`: an SQL condition and an order, with the record's id
 * as $1.
 */
export type RecordSublist = { name: string; table: string; where: string; properties: readonly Property[] };

export type RestRecordType = {
  name: string;
  title: string;
  table: string;
  /** For transactions: the value of the view's `type`. */
  transactionType?: string;
  /** For items: the value of the view's `itemtype`. */
  itemType?: string;
  properties: readonly Property[];
  /** Its lines; `isNegated`: the books hold them negative. */
  lines?: { isNegated: boolean; properties: readonly Property[] };
  /** Its other sublists. */
  sublists?: readonly RecordSublist[];
  /** The transaction types in its sublist `apply`: what it pays (invoices) or refunds. */
  applies?: readonly string[];
  /** The catalog lists it, but the account has no table of it. */
  isUnavailable?: boolean;
};
