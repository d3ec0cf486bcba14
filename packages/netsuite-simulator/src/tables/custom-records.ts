// The custom records and lists of accounts with a profile. Their fields are custom fields, kept like those of
// other tables.
import {
  type AccountColumn,
  type AccountTable,
  referenceColumn,
  tableColumn,
  tableColumns,
} from './table.ts';

/** The columns that an administrator turns on or off for a record type. */
export type CustomRecordType = {
  /** In lower case, also the name of the SuiteQL table. */
  name: string;
  title: string;
  hasName?: boolean;
  /** `created`, `lastmodified` and who did it. */
  hasTimes?: boolean;
  hasExternalId?: boolean;
  /** Records of the type are in a hierarchy. */
  hasParent?: boolean;
};
export type CustomList = { name: string; title: string };

export const CUSTOM_RECORD_TYPES: readonly CustomRecordType[] = [
  { name: 'customrecord_warranty', title: 'Warranty', hasName: true, hasTimes: true, hasExternalId: true },
  { name: 'customrecord_gift_message', title: 'Gift Message', hasTimes: true },
  { name: 'customrecord_delivery_slot', title: 'Delivery Slot', hasName: true, hasParent: true },
  { name: 'customrecord_price_agreement', title: 'Price Agreement', hasTimes: true, hasExternalId: true },
  {
    name: 'customrecord_sales_territory',
    title: 'Sales Territory',
    hasName: true,
    hasExternalId: true,
    hasParent: true,
  },
  { name: 'customrecord_item_certificate', title: 'Item Certificate', hasName: true, hasTimes: true },
  {
    name: 'customrecord_complaint',
    title: 'Complaint',

    hasName: true,
    hasTimes: true,
    hasExternalId: true,
    hasParent: true,
  },
  { name: 'customrecord_sync_log', title: 'Sync Log' },
];
export const CUSTOM_LISTS: readonly CustomList[] = [
  { name: 'customlist_sales_channel', title: 'Sales Channel' },
  { name: 'customlist_colour', title: 'Colour' },
  { name: 'customlist_material', title: 'Material' },
  { name: 'customlist_complaint_reason', title: 'Complaint Reason' },
  { name: 'customlist_warranty_status', title: 'Warranty Status' },
];

const RECORD_COLUMNS = `id bigint PRIMARY KEY, name text, isinactive text NOT NULL, externalid text UNIQUE, parent bigint, owner bigint,
  created timestamptz, lastmodified timestamptz, lastmodifiedby bigint, extra jsonb`;

/** Their base tables. All entries of lists are in one. */
export const CUSTOM_RECORD_DDL = `${CUSTOM_RECORD_TYPES.map(({ name }) => `CREATE TABLE ledger.${name} (${RECORD_COLUMNS})`).join(';\n')};
CREATE TABLE ledger.customlistvalue (list text, id bigint, name text NOT NULL, isinactive text NOT NULL, lastmodified timestamptz NOT NULL,
  PRIMARY KEY (list, id))`;

const personColumn = (name: string): AccountColumn => referenceColumn(name, 'employee', 'entityid');
/** The system's employee. */
export const SYSTEM_OWNER = tableColumn(
  'integer',
  'owner',
  '-5',
  'SELECT e.entityid FROM ledger.employee e WHERE e.id = -5',
);
/** When fields, record types and lists were defined. */
export const DEFINED_AT = "TIMESTAMPTZ '2011-01-10 09:00:00+00'";
const KEYS = [
  ...tableColumns('integer', 'id'),
  tableColumn('integer', 'recordid', 'b.id'),
  tableColumn('text', 'scriptid', `'VAL_' || b.id`),
  ...tableColumns('flag', 'isinactive'),
];

const customRecordTable = ({
  name,
  hasName,
  hasTimes,
  hasExternalId,
  hasParent,
}: CustomRecordType): AccountTable => ({
  name,
  from: `ledger.${name} b`,
  columns: [
    ...KEYS,
    personColumn('owner'),
    ...(hasName ? tableColumns('text', 'name') : []),
    ...(hasExternalId ? tableColumns('text', 'externalid') : []),
    ...(hasParent ? [referenceColumn('parent', name, 'name')] : []),
    ...(hasTimes
      ? [...tableColumns('datetime', 'created lastmodified'), personColumn('lastmodifiedby')]
      : []),
  ],
});

const customListTable = ({ name }: CustomList): AccountTable => ({
  name,
  from: `(SELECT * FROM ledger.customlistvalue v WHERE v.list = '${name}') b`,
  columns: [...KEYS, ...tableColumns('text', 'name'), ...tableColumns('datetime', 'lastmodified')],
});

/**
 * The definitions, as rows of (internalid, scriptid, name). Real accounts have their script ids in upper
 * case.
 */
const definitions = (all: readonly { name: string; title: string }[], first: number): string =>
  `(VALUES ${all.map(({ name, title }, i) => `(${first + i}, '${name.toUpperCase()}', '${title}')`).join(', ')}) b(internalid, scriptid, name)`;

const definitionTable = (name: string, from: string, columns: readonly AccountColumn[]): AccountTable => ({
  name,
  from,
  columns: [
    ...tableColumns('integer', 'internalid'),
    ...tableColumns('text', 'scriptid name'),
    tableColumn('text', 'description', 'NULL'),
    tableColumn('flag', 'isinactive', "'F'"),
    SYSTEM_OWNER,
    ...columns,
  ],
});

/** Internal ids of custom record types and lists are of one sequence, which also numbers other types. */
const [FIRST_LIST_ID, FIRST_TYPE_ID] = [401, 501];
const NAMED = `CASE WHEN b.scriptid IN ('${CUSTOM_RECORD_TYPES.filter(({ hasName }) => hasName)
  .map(({ name }) => name.toUpperCase())
  .join("', '")}') THEN 'T' ELSE 'F' END`;

/**
 * SQL of the internal ids of custom lists and record types by name, between CASE and END:
 * `customfield.fieldvaluetyperecord` names them.
 */
export const CUSTOM_TYPE_IDS = [
  ...CUSTOM_LISTS.map(({ name }, i) => `WHEN '${name}' THEN ${FIRST_LIST_ID + i}`),
  ...CUSTOM_RECORD_TYPES.map(({ name }, i) => `WHEN '${name}' THEN ${FIRST_TYPE_ID + i}`),
].join(' ');

/**
 * The internal id of a custom record type, which `deletedrecord.recordtypeid` and `customfield.recordtype`
 * name.
 */
export const customRecordTypeId = (name: string): number =>
  FIRST_TYPE_ID + CUSTOM_RECORD_TYPES.findIndex((type) => type.name === name);

export const CUSTOM_TABLES: readonly AccountTable[] = [
  definitionTable('customrecordtype', definitions(CUSTOM_RECORD_TYPES, FIRST_TYPE_ID), [
    tableColumn('flag', 'includename', NAMED),
  ]),
  definitionTable('customlist', definitions(CUSTOM_LISTS, FIRST_LIST_ID), [
    tableColumn('flag', 'isordered', "'T'"),
    tableColumn('datetime', 'lastmodifieddate', DEFINED_AT),
  ]),
  ...CUSTOM_RECORD_TYPES.map(customRecordTable),
  ...CUSTOM_LISTS.map(customListTable),
];
