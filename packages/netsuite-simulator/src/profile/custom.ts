// Custom fields with their values, custom records and custom lists of a profile.
import { fieldRow, insertFieldsSql } from '../database/custom-field-store.ts';
import { LEDGER_ADDITIONS } from '../load/ledger.ts';
import { customPrefix } from '../tables/custom-fields.ts';
import {
  CUSTOM_RECORD_DDL,
  CUSTOM_RECORD_TYPES,
  type CustomRecordType,
  DEFINED_AT,
} from '../tables/custom-records.ts';
import { quoteSqlText } from '../tables/table.ts';
import { customValuesSql, FIELD_KINDS, hasValuesSql, PROFILE_FIELDS } from './custom-fields.ts';
import { INACTIVE_ENTRIES, LIST_ENTRIES } from './custom-lists.ts';
import { FILE_LINES } from './profile-name.ts';

/** As in real accounts, script ids are in upper case here and `fieldtype` says what the field belongs to. */
const FIELDS = PROFILE_FIELDS.map((field) => ({
  ...fieldRow(field),
  scriptid: field.name.toUpperCase(),
  fieldtype: FIELD_KINDS[customPrefix(field.table) ?? ''],
}));

const LISTS = Object.entries(LIST_ENTRIES).flatMap(([list, entries]) =>
  entries.map(({ id, name }) => {
    const isInactive = INACTIVE_ENTRIES[list]?.includes(id) ? 'T' : 'F';
    return `(${quoteSqlText(list)}, ${id}, ${quoteSqlText(name)}, '${isInactive}', ${DEFINED_AT} + ${id} * interval '1 day')`;
  }),
);

/**
 * SQL that selects a type's records from the account's rows: id, name, parent, created, changed, and the
 * values of references to other records. Ids have gaps.
 */
const SOURCES: Readonly<Record<string, string>> = {
  customrecord_warranty: `SELECT t.id % 100000000, 'W-' || t.tranid, NULL::bigint, t.createddate, t.lastmodifieddate,
      jsonb_build_object('custrecord_warranty_customer', t.entity::text, 'custrecord_warranty_invoice', t.id::text,
        'custrecord_warranty_item', l.item::text)
    FROM ledger.transaction t LEFT JOIN ${FILE_LINES} l ON l.transaction = t.id AND l.linesequencenumber = 1
    WHERE t.type = 'CustInvc' AND t.id % 23 = 0`,
  customrecord_gift_message: `SELECT 2 * t.id % 100000000, NULL, NULL::bigint, t.createddate, t.lastmodifieddate,
      jsonb_build_object('custrecord_gift_invoice', t.id::text)
    FROM ledger.transaction t WHERE t.type = 'CustInvc' AND t.id % 17 = 0`,
  customrecord_delivery_slot: `SELECT n, 'Slot ' || n, CASE WHEN n > 4 THEN 1 + n % 4 END, ${DEFINED_AT}, ${DEFINED_AT}, NULL::jsonb
    FROM generate_series(1, 12) n`,
  customrecord_price_agreement: `SELECT c.id + 5, NULL, NULL::bigint, c.datecreated, c.datecreated,
      jsonb_build_object('custrecord_price_customer', c.id::text, 'custrecord_price_item', (SELECT min(i.id) FROM ledger.item i)::text)
    FROM ledger.customer c WHERE c.id % 6 = 0`,
  customrecord_sales_territory: `SELECT n, (ARRAY['World', 'UK & Ireland', 'Europe', 'Overseas', 'North', 'South', 'Benelux', 'Iberia', 'Nordics'])[n],
      CASE WHEN n > 7 THEN 3 WHEN n > 4 THEN 2 WHEN n > 1 THEN 1 END, ${DEFINED_AT}, ${DEFINED_AT}, NULL::jsonb
    FROM generate_series(1, 9) n`,
  customrecord_item_certificate: `SELECT i.id, 'Certificate of ' || i.itemid, NULL::bigint, i.createddate, i.createddate,
      jsonb_build_object('custrecord_certificate_item', i.id::text)
    FROM ledger.item i WHERE i.id % 13 = 0`,
  customrecord_complaint: `SELECT t.id % 100000000, 'C-' || t.tranid, lag(t.id) OVER (PARTITION BY t.entity ORDER BY t.id) % 100000000, t.createddate,
      t.lastmodifieddate, jsonb_build_object('custrecord_complaint_customer', t.entity::text, 'custrecord_complaint_credit', t.id::text)
    FROM ledger.transaction t WHERE t.type = 'CustCred' AND t.id % 4 = 0`,
  customrecord_sync_log: `SELECT 7 * n + n % 5, NULL, NULL::bigint, ${DEFINED_AT}, ${DEFINED_AT}, NULL::jsonb FROM generate_series(1, 500) n`,
};

/** The values of the other fields are computed from the id. */
const recordSql = ({ name, hasName, hasTimes, hasExternalId }: CustomRecordType): string => `
  INSERT INTO ledger.${name} (id, name, isinactive, externalid, parent, owner, created, lastmodified, lastmodifiedby, extra)
  SELECT b.id, ${hasName ? 'b.name' : 'NULL'}, CASE WHEN b.id % 29 = 0 THEN 'T' ELSE 'F' END,
    ${hasExternalId ? `CASE WHEN b.id % 3 > 0 THEN '${name.slice('customrecord_'.length)}-' || b.id END` : 'NULL'}, b.parent,
    9100001 + b.id % 20, ${hasTimes ? 'b.created, b.changed, 9100001 + b.id % 7' : 'NULL, NULL, NULL'},
    NULLIF(jsonb_strip_nulls(COALESCE(${customValuesSql(name)}, '{}') || COALESCE(b.refs, '{}')), '{}')
  FROM (${SOURCES[name]}) b(id, name, parent, created, changed, refs)`;

const VALUES = ['customer', 'vendor', 'employee', 'contact', 'item'].map(
  (table) => `UPDATE ledger.${table} b SET extra = ${customValuesSql(table)} WHERE ${hasValuesSql(table)}`,
);

/** The values of the fields of transactions and lines are inserted with them, see `customValuesSql`. */
export const customStatements = (): string[] => [
  ...LEDGER_ADDITIONS,
  CUSTOM_RECORD_DDL,
  insertFieldsSql(quoteSqlText(JSON.stringify(FIELDS))),
  `INSERT INTO ledger.customlistvalue VALUES ${LISTS.join(', ')}`,
  ...CUSTOM_RECORD_TYPES.map(recordSql),
  ...VALUES,
];
