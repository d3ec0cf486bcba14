// Custom fields come, change and go, as an administrator does it in NetSuite.
import type { Pool, PoolClient } from 'pg';
import { z } from 'zod';
import {
  deleteCustomField,
  insertCustomField,
  listCustomFields,
  recreateView,
  renameEntries,
  updateCustomField,
} from '../database/custom-field-store.ts';
import { inWriteTransaction } from '../database/write-transaction.ts';
import {
  type Choice,
  CUSTOM_FIELD_TYPES,
  type CustomField,
  type CustomFieldType,
  customPrefix,
  hasChoices,
  isCustomRecord,
  REFERENCE_TYPES,
  TABLES_WITH_CUSTOM_FIELDS,
} from '../tables/custom-fields.ts';
import type { RoleVisibility } from '../tables/role-visibility.ts';
import { QUERY_REFUSALS } from '../tables/table.ts';
import { invalid, notFound } from './control-error.ts';
import { IdText } from './parse.ts';

const TYPES = Object.keys(CUSTOM_FIELD_TYPES) as CustomFieldType[];
/** Other names of the types; NetSuite's own names are accepted too. */
const TYPE_ALIASES: Readonly<Record<string, CustomFieldType>> = {
  string: 'text',
  decimal: 'number',
  float: 'number',
  checkbox: 'boolean',
  time: 'datetime',
  select: 'list',
  ...Object.fromEntries(TYPES.map((type) => [CUSTOM_FIELD_TYPES[type].valueType.toLowerCase(), type])),
};

const FieldType = z.string('must be a text').transform((text, context): CustomFieldType => {
  const known = TYPES.find((type) => type === text.toLowerCase()) ?? TYPE_ALIASES[text.toLowerCase()];
  if (known === undefined)
    context.addIssue({ code: 'custom', message: `must be one of ${TYPES.join(', ')}` });
  return known ?? 'text';
});
const Label = z.string().min(1).max(200);
const ListValues = z.array(
  z.union([z.string(), z.strictObject({ id: IdText, name: z.string() })], 'must be a text or {"id", "name"}'),
);

export const NewField = z.strictObject({
  table: z.string(),
  name: z.string(),
  type: FieldType,
  label: Label,
  values: ListValues.optional(),
  target: z.string().optional(),
  refusal: z.enum(QUERY_REFUSALS).optional(),
  isOnlyInQueries: z.boolean().optional(),
});
export const FieldChange = z.strictObject({
  type: FieldType.optional(),
  label: Label.optional(),
  values: ListValues.optional(),
});

/** Texts get the ids 1, 2, 3 and so on. */
const toChoices = (given: z.output<typeof ListValues>): Choice[] =>
  given.map((value, i) => (typeof value === 'string' ? { id: String(i + 1), name: value } : value));

type Parts = { pool: Pool; timeZone: string; role: RoleVisibility };

/**
 * Throws ControlError 422 for a table without custom fields, a wrong or taken name, and for values or a
 * target that don't go with the type.
 */
export async function createField(
  parts: Parts,
  { values, ...given }: z.output<typeof NewField>,
): Promise<CustomField> {
  const prefix = parts.role.known(given.table) && customPrefix(given.table);
  if (prefix === undefined) {
    const tables = [...TABLES_WITH_CUSTOM_FIELDS, ...listCustomRecords(parts.role)];
    throw invalid({
      path: 'table',
      message: `must be one of ${tables.join(', ')}: other tables have no custom fields`,
    });
  }
  if (!given.name.startsWith(prefix) || !/^[a-z0-9_]{1,60}$/.test(given.name)) {
    throw invalid({
      path: 'name',
      message: `must begin with ${prefix} and have at most 60 lower-case letters, digits and underscores`,
    });
  }
  if (parts.role.known(given.table)?.columns.some(({ name }) => name === given.name)) {
    throw invalid({ path: 'name', message: `is taken: ${given.table} has a column ${given.name}` });
  }
  if (hasChoices(given.type) !== (values !== undefined)) {
    const message =
      values === undefined
        ? `is required for a ${given.type}`
        : 'only goes with the types list and multiselect';
    throw invalid({ path: 'values', message });
  }
  assertTarget(parts.role, given);
  const field = { ...given, values: toChoices(values ?? []) };
  await changeFields(parts, field.table, (client) => insertCustomField(client, field));
  return field;
}

const listCustomRecords = (role: RoleVisibility): string[] =>
  role.tables.map(({ name }) => name).filter(isCustomRecord);

function assertTarget(
  role: RoleVisibility,
  { type, target }: Pick<z.output<typeof NewField>, 'type' | 'target'>,
): void {
  if (type !== 'reference' && target !== undefined)
    throw invalid({ path: 'target', message: 'only goes with the type reference' });
  const tables = [...Object.keys(REFERENCE_TYPES), ...listCustomRecords(role)];
  if (type === 'reference' && !tables.includes(target ?? ''))
    throw invalid({ path: 'target', message: `must be one of ${tables.join(', ')}` });
}

/**
 * A field that becomes a list has the values that its records hold as entries. New entries of a field that
 * chooses from a custom list rename those of the list. Throws ControlError 404 for an unknown field, 422 for
 * values of another type.
 */
export async function changeField(
  parts: Parts,
  table: string,
  name: string,
  { type, label, values }: z.output<typeof FieldChange>,
): Promise<CustomField> {
  const known = getField(parts.role, table, name);
  const changed = { ...known, type: type ?? known.type, label: label ?? known.label };
  if (values !== undefined && !hasChoices(changed.type))
    throw invalid({ path: 'values', message: 'only goes with the types list and multiselect' });
  if (values !== undefined) changed.values = toChoices(values);
  await changeFields(parts, table, async (client) => {
    if (values !== undefined && changed.list !== undefined)
      await renameEntries(client, changed.list, changed.values);
    if (changed.type === 'list' && changed.values.length === 0)
      changed.values = await heldValues(client, table, name);
    await updateCustomField(client, changed);
  });
  return changed;
}

/** Throws ControlError 404 for an unknown field. */
export async function removeField(parts: Parts, table: string, name: string): Promise<CustomField> {
  const known = getField(parts.role, table, name);
  await changeFields(parts, table, (client) => deleteCustomField(client, table, name));
  return known;
}

function getField(role: RoleVisibility, table: string, name: string): CustomField {
  const known = role.customFields(table).find((field) => field.name === name);
  if (!known) throw notFound(`${table} has no custom field ${name}.`);
  return known;
}

async function changeFields(
  { pool, timeZone, role }: Parts,
  table: string,
  work: (client: PoolClient) => Promise<void>,
): Promise<void> {
  const fields = await inWriteTransaction(pool, timeZone, async (client) => {
    await work(client);
    const changed = await listCustomFields(client);
    await recreateView(client, table, changed);
    return changed;
  });
  role.setCustomFields(fields);
}

/** Whole numbers only, since entries have internal ids. */
async function heldValues(client: PoolClient, table: string, name: string): Promise<Choice[]> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT DISTINCT extra->>$1 AS id FROM ledger.${table} WHERE extra->>$1 ~ '^-?[0-9]{1,18}$' ORDER BY 1 LIMIT 1000`,
    [name],
  );
  return rows.map(({ id }) => ({ id, name: id }));
}
