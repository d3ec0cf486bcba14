// A property of a record: its name on the wire, and the column behind it.

type PropertyKind = 'string' | 'boolean' | 'number' | 'integer' | 'date' | 'date-time' | 'reference' | 'enum';
export type Property = {
  name: string;
  title: string;
  kind: PropertyKind;
  /** A column of the record's view, and of its table if the property can be written. */
  column: string;
  /** The record service shows credits and sales positive where the books hold them negative. */
  isNegated?: boolean;
  /** What a reference points to. */
  to?: string;
  /** The ids of an enumeration. */
  values?: readonly string[];
  /** Whether a caller may set it: at any time, or when the record is made. */
  writes?: 'always' | 'create';
  isRequired?: boolean;
};

export const property = (name: string, title: string, kind: PropertyKind, column: string, more: Partial<Property> = {}): Property => ({
  name,
  title,
  kind,
  column,
  ...more,
});

/** Lines of an invoice, a credit memo or an order: columns of transactionline. */
export const LINE_PROPERTIES: readonly Property[] = [
  property('line', 'Line', 'integer', 'id'),
  property('item', 'Item', 'reference', 'item', { to: 'inventoryItem', writes: 'create', isRequired: true }),
  property('description', 'Description', 'string', 'memo', { writes: 'always' }),
  property('quantity', 'Quantity', 'number', 'quantity', { isNegated: true, writes: 'always' }),
  property('rate', 'Rate', 'number', 'rate', { writes: 'always' }),
  property('amount', 'Amount', 'number', 'netamount', { isNegated: true, writes: 'always' }),
];

/** Lines of a payment or credit memo that say which invoices it pays; `doc` and `amount` are columns of nexttransactionlinelink. */
export const APPLY_PROPERTIES: readonly Property[] = [
  property('doc', 'Apply To', 'reference', 'previousdoc', { to: 'invoice', writes: 'create', isRequired: true }),
  property('apply', 'Apply', 'boolean', 'apply', { writes: 'always' }),
  property('amount', 'Payment', 'number', 'foreignamount', { writes: 'always' }),
];
