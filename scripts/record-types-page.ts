// The text of docs/record-types.md, made from the record types that NetSuite's connector knows by name and
// the rules by which it reads all others.
import { readConfig } from '../src/config.ts';
import { modifiedColumns } from '../src/connectors/netsuite/discovery/candidates.ts';
import { sampleSize } from '../src/connectors/netsuite/discovery/column-types.ts';
import { usualKeys } from '../src/connectors/netsuite/discovery/find-rows.ts';
import { volatileByTable } from '../src/connectors/netsuite/discovery/known-columns.ts';
import { type KnownTable, knownTables } from '../src/connectors/netsuite/discovery/known-tables.ts';
import type { ColumnDefinition, RecordTypeDefinition } from '../src/connectors/netsuite/types/definition.ts';
import { recordTypeDefinitions } from '../src/connectors/netsuite/types/record-types.ts';

const { fullReadDays, recentlyClosedDays } = readConfig({}).settings.sync;

const code = (text: string): string => `\`${text}\``;
const codes = (texts: readonly string[]): string => texts.map(code).join(', ');
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [
    `| ${head.join(' | ')} |`,
    `|${'---|'.repeat(head.length)}`,
    ...rows.map((cells) => `| ${cells.join(' | ')} |`),
  ].join('\n');

const listVolatile = (columns: readonly ColumnDefinition[]): string[] =>
  columns
    .filter(({ volatile, excluded, derived }) => volatile && excluded === null && derived === undefined)
    .map(({ name }) => name);

const silent = Object.entries(volatileByTable)
  .map(([of, columns]) => `${codes(columns)} of ${code(of)}`)
  .join('; ');

function describeOpen({ openWhen: [first], columns }: RecordTypeDefinition): string {
  if (listVolatile(columns).length === 0) return '';
  if (first === undefined) return 'always';
  return `${code(first.field)} is not ${new Intl.ListFormat('en', { type: 'disjunction' }).format(first.isNoneOf.map(code))}`;
}

const knownByName = table(
  ['Record type', 'Table', 'Lines', 'Fields that NetSuite changes silently', 'Compared in each run while'],
  recordTypeDefinitions.map((definition) => {
    const { name, table: from, lines, columns } = definition;
    const ofLines = listVolatile(lines?.columns ?? []).map((column) => `lines.${column}`);
    const title = lines === null ? '' : `${lines.label}, from ${code(lines.table)}`;
    return [
      code(name),
      code(from),
      title,
      codes([...listVolatile(columns), ...ofLines]),
      describeOpen(definition),
    ];
  }),
);

const describeKey = ({ key }: KnownTable): string =>
  key === null
    ? 'none: use a query source'
    : key === undefined
      ? '`id`'
      : codes(key.map(({ column }) => column));

const onlyInQueries = table(
  ['Table', 'A row is', 'Family', 'Key', 'Changes with'],
  Object.entries(knownTables).map(([name, known]) => {
    const changes = known.parent === undefined ? 'itself' : `its ${code(known.parent.table)}`;
    return [
      code(name),
      known.label,
      code(known.family),
      describeKey(known),
      known.key === null ? '' : changes,
    ];
  }),
);

const longestKey = Object.entries(knownTables)
  .flatMap(([name, { key }]) => (key === undefined || key === null || key.length < 3 ? [] : [{ name, key }]))
  .map(({ name, key }) => {
    const parts = key.map(({ column, digits }, index) =>
      index === 0 ? code(column) : `${code(column)} in ${digits} digits`,
    );
    return `That of ${code(name)} has ${parts.join(', ')}.`;
  })
  .join(' ');

const introduction = `# Record types

Whatever a NetSuite account has and the role of the connection may read can be synced and published: standard records, transactions, custom records,
lists and transactions, and tables that only queries have. \`GET /netsuite/metadata\` [lists them](management.md#record-types). What has no record type
comes from a [query source](management.md#query-sources).

Some record types are [known by name](#known-by-name). All others are [read by rules](#read-by-rules), which take nothing for granted that wasn't seen in
the account. \`reading\` of \`GET /netsuite/metadata/{name}\` says for each record type how changes and deletions are found, and what its runs can't prove.

This page is made from the code: \`npm run generate\`.
`;

const knownSection = `## Known by name

For these the connector has names and types of fields, the lines as the document shows them, the fields that NetSuite changes without a new modification
time, the rule by which a record is open, and all names under which NetSuite lists deletions.

${knownByName}

Records that were closed in the last ${recentlyClosedDays} days (\`SYNC_RECENTLY_CLOSED_DAYS\`) are compared like open ones. Invoices, credit memos and sales
orders also have [fields as the document shows them](getting-started.md#signs-and-labels-of-netsuite).
`;

const rulesSection = `## Read by rules

| What | Rule |
|---|---|
| Name | That of the metadata catalogue, such as \`purchaseOrder\` or \`customrecord_warranty\`; of a table that the catalogue lacks, its name in lower case |
| Fields | The properties in the catalogue, the custom fields, and the columns of the first ${sampleSize} rows. Each is tried in a query. One that fails stays in the list with NetSuite's reason |
| Types | Those of the catalogue, of the list of custom fields or of NetSuite's documentation. Where none names one, the type follows from the values of these rows, and the field has a \`warning\`. A field with a value of another type is text, with a \`warning\` |
| References and lists | Have the display text as \`<field>.name\`. A \`target\` names the record type where the catalogue does. |
| Multiple selects | The ids of the chosen entries, and their names by id: those of custom lists, custom record types and subsidiaries that the role can read. Of others, and in queries of your own, there are no names. NetSuite's own texts, which join ids and names by commas, are the field and \`<field>.name\` |
| Id | The first of ${codes(usualKeys)} with a different integer in each row, or [several columns](#keys-of-several-columns). The field is always called \`id\` |
| Changes | By the first of ${codes(modifiedColumns)} that the table has; of posting lines, and of rows without such a column, by the modification time of the record to which they belong; otherwise each run reads everything |
| Deletions | By NetSuite's list of deletions, under the names that the record type may have there, and by comparison of ids. Rows that are no records, such as links and posting lines, aren't in the list |
| Transactions | All rows of \`transactionline\` are lines, those of the header, of taxes and of costs included: \`mainline\`, \`taxline\` and \`iscogs\` tell them apart. A field of lines without a value in the first 1,000 of them is left out. Status, amounts paid and unpaid and the date closed are compared in each run while the transaction is open: while an amount is unpaid, or in a status in which not all are closed |
| Amounts of other records | ${silent}: they follow documents without a new modification time. Those of posting lines are compared once a day, the others in each run |
| Items | All kinds are in \`item\` |

### Keys of several columns

Rows of some tables are identified by several integers. The id is one number with the digits of all of them: each part but the first is padded with zeros to a
fixed length. ${longestKey} A row with a longer part is a rejected record.
`;

const tablesSection = `## Tables that only queries have

The metadata catalogue doesn't list these. Accounts don't have all of them. The choices of a multiple select are in tables \`map_<table>_<field>\`, with the
key \`mapone\`, \`maptwo\`.

${onlyInQueries}
`;

const proofSection = `## What runs prove

A run that is \`succeeded\` proves the same for every record type, by [the same checks](guarantees.md#what-is-proved). What differs is how soon a silent change
is seen.

| \`reading.changes\` | A run reads | Seen at the latest |
|---|---|---|
| \`modified\` | What has a new modification time | A change with a new time: in the next run. Any other: within ${fullReadDays} days (\`SYNC_FULL_READ_DAYS\`), when each record is read in full again |
| \`parent\` | What belongs to a record with a new modification time | A change that moves that record's time: in the next run. Any other: within ${fullReadDays} days |
| \`tracked\` | What the ERP reports as changed since the last run | A change that it reports: in the next run. Any other: within ${fullReadDays} days |
| \`full\` | Everything | In the next run |

| \`reading.deletions\` | A deletion is found |
|---|---|
| \`listed\` | In NetSuite's list, or as below |
| \`compared\` | In the next run, because the counts differ; on the next calendar day if another record appeared meanwhile |

Each absent record is requested by id before it is deleted, whatever its type, and [larger numbers wait for approval](management.md#held-back-deletions).

What the rules can't know:

- **Fields that NetSuite changes silently** in record types without a rule of their own. They are seen when the record is read in full again.
- **Display texts** of references, and names of entries: when what they name is renamed, they are compared on the next calendar day.
- **Whether a reference without a \`target\`** names another synced record. Records that such fields name aren't held back when they are absent.
`;

const refusedSection = `## What can't be synced

| Reason in the metadata | What to do |
|---|---|
| The role can't read it | Give the role of the connection the permission that the reason names |
| The account's queries don't have the table | A query source, where other tables have the data |
| No column identifies its rows | A query source with a key of its own |
| Its records are in another record type, such as \`inventoryItem\` in \`item\` | Sync that one |
`;

/** The whole page. `npm run generate` writes it to docs/record-types.md. */
export const recordTypesPage = (): string =>
  [introduction, knownSection, rulesSection, tablesSection, proofSection, refusedSection].join('\n');
