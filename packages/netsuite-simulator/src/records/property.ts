// Describes a record's property: its name in JSON and the column that holds it.
import {
  type Choice,
  CUSTOM_FIELD_TYPES,
  type CustomField,
  hasChoices,
  referenceType,
} from '../tables/custom-fields.ts';

/** `choices`: several entries of a list, a sub-resource of the record. */
type PropertyKind =
  | 'string'
  | 'boolean'
  | 'number'
  | 'integer'
  | 'date'
  | 'date-time'
  | 'reference'
  | 'enum'
  | 'choices';
export type Property = {
  name: string;
  title: string;
  kind: PropertyKind;
  /** A column of the record's view, and of its table if the property is writable. */
  column: string;
  /**
   * The record service shows amounts as positive that the books hold as negative, such as credits and sold
   * lines.
   */
  isNegated?: boolean;
  /** The target type of a reference. */
  to?: string;
  /** The allowed ids of an enumeration. */
  values?: readonly string[];
  /** The entries of a custom list. */
  choices?: readonly Choice[];
  /** When a caller may set it: at any time, or only when the record is created. Absent: never. */
  writes?: 'always' | 'create';
  isRequired?: boolean;
  /** A custom field. */
  isCustom?: boolean;
};

export const defineProperty = (
  name: string,
  title: string,
  kind: PropertyKind,
  column: string,
  more: Partial<Property> = {},
): Property => ({
  name,
  title,
  kind,
  column,
  ...more,
});

/** Read-only in the record service. */
export const customProperty = ({ name, label, type, values, target }: CustomField): Property => ({
  name,
  title: label,
  kind: CUSTOM_FIELD_TYPES[type].property,
  column: name,
  isCustom: true,
  ...(hasChoices(type) ? { values: values.map(({ id }) => id), choices: values } : {}),
  ...(target === undefined ? {} : { to: referenceType(target) }),
});

/** Lines of an invoice, a credit memo or an order; columns of transactionline. */
export const LINE_PROPERTIES: readonly Property[] = [
  defineProperty('line', 'Line', 'integer', 'id'),
  defineProperty('item', 'Item', 'reference', 'item', {
    to: 'inventoryItem',
    writes: 'create',
    isRequired: true,
  }),
  defineProperty('description', 'Description', 'string', 'memo', { writes: 'always' }),
  defineProperty('quantity', 'Quantity', 'number', 'quantity', { isNegated: true, writes: 'always' }),
  defineProperty('rate', 'Rate', 'number', 'rate', { writes: 'always' }),
  defineProperty('amount', 'Amount', 'number', 'foreignamount', { isNegated: true, writes: 'always' }),
];

/**
 * Lines of a payment or credit memo with the invoices that it pays; `doc` and `amount` are columns of
 * nexttransactionlinelink.
 */
export const APPLY_PROPERTIES: readonly Property[] = [
  defineProperty('doc', 'Apply To', 'reference', 'previousdoc', {
    to: 'invoice',
    writes: 'create',
    isRequired: true,
  }),
  defineProperty('apply', 'Apply', 'boolean', 'apply', { writes: 'always' }),
  defineProperty('amount', 'Payment', 'number', 'foreignamount', { writes: 'always' }),
];
