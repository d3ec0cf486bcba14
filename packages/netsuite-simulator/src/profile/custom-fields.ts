// The custom fields of a profile and the SQL of their values. Every value follows from the id of its row by
// plain arithmetic.
import {
  type Choice,
  type CustomField,
  type CustomFieldType,
  customPrefix,
} from '../tables/custom-fields.ts';
import { getIdColumn } from '../tables/table.ts';
import { LIST_ENTRIES } from './custom-lists.ts';

/** SQL over the row with this alias. */
type SqlOf = (row: string) => string;
/**
 * `share`: in how many per cent of the records it has a value. `value`: SQL over a row, given its alias;
 * without it the type decides.
 */
type FieldOptions = Partial<Pick<CustomField, 'values' | 'target' | 'refusal' | 'isOnlyInQueries'>> & {
  share?: number;
  value?: SqlOf;
};
type ProfileField = { field: CustomField; share: number; value: SqlOf | undefined };

/**
 * SQL of a whole number from 0 to `below` - 1, from the key (an internal id) and the number of the choice.
 */
const pick = (key: string, below: number, choice: number): string =>
  `(abs(${key}) * ${7919 + 2 * choice} / ${101 + choice} % ${below})`;
const iso = (time: string): string => `to_char(${time}, 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;
const manySql = (values: readonly Choice[], key: string, choice: number): string => {
  const masks = `(1 + ${pick(key, 2 ** values.length - 1, choice)})`;
  return `concat_ws(', ', ${values.map(({ id }, i) => `CASE WHEN ${masks} & ${2 ** i} > 0 THEN '${id}' END`).join(', ')})`;
};
const SENTENCE = `'He said "leave it – by the door" & left;' || chr(10) || 'Größe <b>10%</b>, caña, \\n, ''ok''. '`;

function typicalValue(
  { type, values }: Pick<CustomField, 'type' | 'values'>,
  key: string,
  choice: number,
): string {
  const at = (below: number): string => pick(key, below, choice);
  const id = (): string =>
    `(ARRAY[${values.map((value) => value.id).join(', ')}])[1 + ${at(values.length)}]::text`;
  const sql: Readonly<Record<CustomFieldType, () => string>> = {
    text: () => `'Lot ' || ${at(9_973)} || CASE ${at(5)} WHEN 0 THEN ' ' WHEN 1 THEN ' – ½' ELSE '' END`,
    textarea: () => `${SENTENCE} || ${at(97)}`,
    longtext: () => `repeat(${SENTENCE}, 1 + CASE WHEN ${at(10)} = 0 THEN 80 ELSE 0 END)`,
    email: () => `'box' || ${at(997)} || '@example.com'`,
    phone: () => `'+44 20 7946 0' || lpad(${at(1000)}::text, 3, '0')`,
    url: () => `'https://example.com/r/' || ${at(99_991)} || '?a=1&b=%20'`,
    integer: () => `(${at(2_001)} - 1000)::text`,
    number: () => `trim_scale(${at(1_000_003)} / 10000.0)::text`,
    currency: () => `round(${at(50_021)} / 100.0, 2)::text`,
    percent: () => `trim_scale(${at(1_001)} / 10.0)::text`,
    boolean: () => `CASE WHEN ${at(3)} = 0 THEN 'T' ELSE 'F' END`,
    date: () => `(DATE '2011-01-01' + ${at(400)}::int)::text`,
    datetime: () => iso(`TIMESTAMP '2011-03-01 08:30:17' + ${at(1_000_003)} * interval '17 seconds'`),
    list: id,
    multiselect: () => manySql(values, key, choice),
    reference: () => 'NULL',
  };
  return sql[type]();
}

const buildKeySql = (table: string, row: string): string => `${row}.${getIdColumn(table)}`;

const findListName = (values: readonly Choice[]): string | undefined =>
  Object.entries(LIST_ENTRIES).find(([, entries]) => entries === values)?.[0];

let choice = 0;
const field = (
  table: string,
  suffix: string,
  type: CustomFieldType,
  label: string,
  options: FieldOptions = {},
): ProfileField => {
  const { share = 60, value, values = [], ...rest } = options;
  choice += 1;
  const number = choice;
  return {
    field: {
      table,
      name: `${customPrefix(table)}${suffix}`,
      type,
      label,
      values,
      list: findListName(values),
      ...rest,
    },
    share,
    value:
      value ??
      (type === 'reference'
        ? undefined
        : (row) => typicalValue({ type, values }, buildKeySql(table, row), number)),
  };
};

const {
  customlist_sales_channel: CHANNELS,
  customlist_colour: COLOURS,
  customlist_material: MATERIALS,
} = LIST_ENTRIES;
const { customlist_complaint_reason: REASONS, customlist_warranty_status: STATUSES } = LIST_ENTRIES;
const EMPLOYEE = { target: 'employee', value: (b: string) => `(9100001 + abs(${b}.id) % 20)::text` };

const BODY = [
  field('transaction', '_channel', 'list', 'Sales Channel', { values: CHANNELS, share: 90 }),
  field('transaction', '_delivery_date', 'date', 'Delivery Date', {
    value: (b) => `(${b}.trandate + 1 + (${b}.id % 9)::int)::text`,
  }),
  field('transaction', '_delivery_slot', 'reference', 'Delivery Slot', {
    target: 'customrecord_delivery_slot',
    value: (b) => `(1 + ${b}.id % 12)::text`,
  }),
  field('transaction', '_gift_wrapped', 'boolean', 'Gift Wrapped'),
  field('transaction', '_packed_by', 'reference', 'Packed By', { ...EMPLOYEE, share: 40 }),
  field('transaction', '_cartons', 'integer', 'Cartons'),
  field('transaction', '_weight', 'number', 'Weight (kg)'),
  field('transaction', '_insured_value', 'currency', 'Insured Value', { share: 20 }),
  field('transaction', '_discount_given', 'percent', 'Discount Given', { share: 20 }),
  field('transaction', '_customer_note', 'textarea', 'Note of the Customer', { share: 30 }),
  field('transaction', '_packing_history', 'longtext', 'Packing History', { share: 10 }),
  field('transaction', '_dispatched_at', 'datetime', 'Dispatched At'),
  field('transaction', '_handling', 'multiselect', 'Handling', { values: MATERIALS, share: 40 }),
  field('transaction', '_tracking', 'url', 'Tracking', { share: 30 }),
  field('transaction', '_notify', 'email', 'Notify', { share: 30 }),
  field('transaction', '_driver_phone', 'phone', 'Driver’s Phone', { share: 15 }),
  field('transaction', '7', 'text', 'Old Reference', { share: 15 }),
  // Calculated, removed, failing, and known to queries alone.
  field('transaction', '_margin', 'percent', 'Margin', { refusal: 'not exposed', share: 50 }),
  field('transaction', '_fax_status', 'text', 'Fax Status', { refusal: 'removed', share: 5 }),
  field('transaction', '_web_page', 'longtext', 'Web Page', { refusal: 'fails', share: 5 }),
  field('transaction', '_batch', 'integer', 'Import Batch', { isOnlyInQueries: true }),
];
const COLUMN = [
  field('transactionline', '_engraving', 'text', 'Engraving', { share: 25 }),
  field('transactionline', '_colour', 'list', 'Colour', { values: COLOURS }),
  field('transactionline', '_gift', 'boolean', 'Gift', { share: 70 }),
  field('transactionline', '_ship_by', 'date', 'Ship By', { share: 30 }),
  field('transactionline', '_unit_weight', 'number', 'Unit Weight', { share: 30 }),
  field('transactionline', '_supplier', 'reference', 'Supplier', {
    target: 'vendor',
    value: (b) => `(9000101 + ${b}.uniquekey % 12)::text`,
    share: 20,
  }),
  field('transactionline', '_materials', 'multiselect', 'Materials', { values: MATERIALS, share: 20 }),
  field('transactionline', '_surcharge', 'currency', 'Surcharge', { share: 10 }),
  field('transactionline', '_picked_at', 'datetime', 'Picked At', { share: 10 }),
  field('transactionline', '_instructions', 'longtext', 'Instructions', { share: 4 }),
  field('transactionline', '4', 'integer', 'Old Bin', { share: 10 }),
];
const ENTITY = [
  field('customer', '_channel', 'list', 'Sales Channel', { values: CHANNELS }),
  field('customer', '_interests', 'multiselect', 'Interests', { values: COLOURS }),
  field('customer', '_account_manager', 'reference', 'Account Manager', { ...EMPLOYEE, share: 50 }),
  field('customer', '_territory', 'reference', 'Territory', {
    target: 'customrecord_sales_territory',
    value: (b) => `(1 + abs(${b}.id) % 9)::text`,
  }),
  field('customer', '_newsletter', 'boolean', 'Newsletter', { share: 90 }),
  field('customer', '_customer_since', 'date', 'Customer Since', {
    value: (b) => `${b}.datecreated::date::text`,
  }),
  field('customer', '_credit_checked', 'datetime', 'Credit Checked', { share: 30 }),
  field('customer', '_lifetime_value', 'currency', 'Lifetime Value'),
  field('customer', '_rebate', 'percent', 'Rebate', { share: 15 }),
  field('customer', '_score', 'number', 'Score'),
  field('customer', '_shops', 'integer', 'Shops', { share: 30 }),
  field('customer', '_history', 'longtext', 'History', { share: 10 }),
  field('customer', '_remarks', 'textarea', 'Remarks', { share: 20 }),
  field('customer', '_shop_url', 'url', 'Shop', { share: 20 }),
  field('customer', '_billing_email', 'email', 'Billing Email', { share: 60 }),
  field('customer', '_whatsapp', 'phone', 'WhatsApp', { share: 10 }),
  field('customer', '3', 'text', 'Legacy Number', { isOnlyInQueries: true, share: 50 }),
  field('customer', '_open_orders', 'currency', 'Open Orders', { refusal: 'not exposed', share: 100 }),
  field('vendor', '_lead_days', 'integer', 'Lead Time in Days'),
  field('vendor', '_certified', 'boolean', 'Certified', { share: 100 }),
  field('vendor', '_materials', 'multiselect', 'Materials', { values: MATERIALS }),
  field('employee', '_locker', 'text', 'Locker'),
  field('employee', '_trained_on', 'date', 'Trained On'),
  field('contact', '_role', 'list', 'Role', { values: CHANNELS }),
  field('contact', '_reports_to', 'reference', 'Reports To', { ...EMPLOYEE, share: 30 }),
];
const ITEM = [
  field('item', '_colours', 'multiselect', 'Colours', { values: COLOURS }),
  field('item', '_material', 'list', 'Material', { values: MATERIALS }),
  field('item', '_weight', 'number', 'Weight', { share: 80 }),
  field('item', '_fragile', 'boolean', 'Fragile', { share: 80 }),
  field('item', '_launched', 'date', 'Launched', { share: 30 }),
  field('item', '_checked_at', 'datetime', 'Checked At', { share: 30 }),
  field('item', '_recommended_price', 'currency', 'Recommended Price'),
  field('item', '_duty', 'percent', 'Duty', { share: 30 }),
  field('item', '_pack_size', 'integer', 'Pack Size', { share: 60 }),
  field('item', '_customs_code', 'text', 'Customs Code'),
  field('item', '_care', 'longtext', 'Care Instructions', { share: 10 }),
  field('item', '_data_sheet', 'url', 'Data Sheet', { share: 20 }),
  field('item', '_successor', 'reference', 'Successor', {
    target: 'item',
    share: 10,
    value: (b) => `(SELECT min(i.id) FROM ledger.item i WHERE i.id > ${b}.id)::text`,
  }),
  field('item', '_shelf', 'text', 'Shelf', { refusal: 'not exposed', share: 50 }),
];
const RECORD = [
  field('customrecord_warranty', '_warranty_customer', 'reference', 'Customer', { target: 'customer' }),
  field('customrecord_warranty', '_warranty_invoice', 'reference', 'Invoice', { target: 'transaction' }),
  field('customrecord_warranty', '_warranty_item', 'reference', 'Item', { target: 'item' }),
  field('customrecord_warranty', '_warranty_status', 'list', 'Status', { values: STATUSES, share: 100 }),
  field('customrecord_warranty', '_warranty_until', 'date', 'Until', { share: 100 }),
  field('customrecord_gift_message', '_gift_invoice', 'reference', 'Invoice', { target: 'transaction' }),
  field('customrecord_gift_message', '_gift_text', 'longtext', 'Text', { share: 100 }),
  field('customrecord_gift_message', '_gift_signed', 'boolean', 'Signed', { share: 100 }),
  field('customrecord_delivery_slot', '_slot_from', 'integer', 'From', {
    value: (b) => `(6 + ${b}.id % 12)::text`,
    share: 100,
  }),
  field('customrecord_delivery_slot', '_slot_fee', 'currency', 'Fee', { share: 100 }),
  field('customrecord_price_agreement', '_price_customer', 'reference', 'Customer', { target: 'customer' }),
  field('customrecord_price_agreement', '_price_item', 'reference', 'Item', { target: 'item' }),
  field('customrecord_price_agreement', '_price_amount', 'currency', 'Price', { share: 100 }),
  field('customrecord_price_agreement', '_price_until', 'date', 'Until', { share: 70 }),
  field('customrecord_sales_territory', '_territory_manager', 'reference', 'Manager', {
    ...EMPLOYEE,
    share: 100,
  }),
  field('customrecord_sales_territory', '_territory_channels', 'multiselect', 'Channels', {
    values: CHANNELS,
    share: 100,
  }),
  field('customrecord_item_certificate', '_certificate_item', 'reference', 'Item', { target: 'item' }),
  field('customrecord_item_certificate', '_certificate_url', 'url', 'Document', { share: 100 }),
  field('customrecord_item_certificate', '_certificate_contact', 'email', 'Contact'),
  field('customrecord_complaint', '_complaint_customer', 'reference', 'Customer', { target: 'customer' }),
  field('customrecord_complaint', '_complaint_credit', 'reference', 'Credit Memo', { target: 'transaction' }),
  field('customrecord_complaint', '_complaint_reasons', 'multiselect', 'Reasons', {
    values: REASONS,
    share: 100,
  }),
  field('customrecord_complaint', '_complaint_text', 'textarea', 'Text', { share: 100 }),
  field('customrecord_complaint', '_complaint_answered', 'datetime', 'Answered', { share: 70 }),
  field('customrecord_sync_log', '_log_text', 'text', 'Text', { share: 100 }),
  field('customrecord_sync_log', '_log_rows', 'integer', 'Rows', { share: 90 }),
  field('customrecord_sync_log', '_log_at', 'datetime', 'At', { share: 100 }),
];

const ALL = [...BODY, ...COLUMN, ...ENTITY, ...ITEM, ...RECORD];
export const PROFILE_FIELDS: readonly CustomField[] = ALL.map((each) => each.field);

/** In real accounts `customfield.fieldtype` says what the field belongs to. */
export const FIELD_KINDS: Readonly<Record<string, string>> = {
  custbody: 'BODY',
  custcol: 'COLUMN',
  custentity: 'ENTITY',
  custitem: 'ITEM',
  custrecord: 'RECORD',
};

/** In large tables only one row in n has values. */
const ROWS_WITH_VALUES: Readonly<Record<string, number>> = {
  customer: 2,
  item: 2,
  transaction: 2,
  transactionline: 5,
};

/** SQL condition on the rows that have values. */
export const hasValuesSql = (table: string, row = 'b'): string =>
  `${buildKeySql(table, row)} % ${ROWS_WITH_VALUES[table] ?? 1} = 0`;

/**
 * SQL of `extra` with the values of the table's custom fields, over a row of it by its alias; null for a row
 * without any. References without an SQL of their own are not among them.
 */
export function customValuesSql(table: string, row = 'b'): string {
  const key = buildKeySql(table, row);
  const own = ALL.filter((each) => each.field.table === table);
  const pairs = own.flatMap(({ field: { name }, share, value }, i) => {
    const sql = value?.(row);
    return sql === undefined
      ? []
      : `'${name}', ${share === 100 ? sql : `CASE WHEN ${pick(key, 100, 50 + i)} < ${share} THEN ${sql} END`}`;
  });
  const values = `NULLIF(jsonb_strip_nulls(jsonb_build_object(${pairs.join(', ')})), '{}')`;
  return table in ROWS_WITH_VALUES ? `CASE WHEN ${hasValuesSql(table, row)} THEN ${values} END` : values;
}
