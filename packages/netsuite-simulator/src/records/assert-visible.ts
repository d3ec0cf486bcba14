// Asserts that a restricted role may write a record, and sees the records that a body refers to. Roles
// without restrictions pass unchecked.
import type { Pool } from 'pg';
import { UNRESTRICTED } from '../tables/role-restrictions.ts';
import type { RoleVisibility } from '../tables/role-visibility.ts';
import { APPLY_PROPERTIES, LINE_PROPERTIES, type Property } from './property.ts';
import { invalidValue, permissionDenied, recordNotFound } from './record-errors.ts';
import type { RestRecordType } from './record-type.ts';
import { findEnabledType } from './record-types.ts';
import type { Values, WriteBody } from './write-body.ts';

type Parts = { pool: Pool; role: RoleVisibility };

const isRestricted = (role: RoleVisibility): boolean => role.restrictions() !== UNRESTRICTED;

/** Throws RestError 403 for a type of transactions that the role may not read, or not write. */
export function assertTypeAllowed(role: RoleVisibility, type: RestRecordType, isWrite: boolean): void {
  const access = role.restrictions().transactionTypes[type.transactionType ?? ''] ?? 'full';
  if (access === 'none' || (access === 'view' && isWrite)) throw permissionDenied(type);
}

/** Rejects with RestError: as for an absent record if the role doesn't see it, 403 if it may only see it. */
export async function assertRecordWritable(
  { pool, role }: Parts,
  type: RestRecordType,
  id: string,
): Promise<void> {
  if (!isRestricted(role)) return;
  const has = async (purpose: 'read' | 'write'): Promise<boolean> =>
    (await pool.query(`SELECT 1 FROM ${role.rowsSql(type.table, [], purpose)} "row" WHERE id = $1`, [id]))
      .rows.length > 0;
  if (!(await has('read'))) throw recordNotFound(type);
  if (!(await has('write'))) throw permissionDenied(type);
}

/**
 * Rejects with a RestError 400 that names the first reference to a record outside of what the role may write.
 */
export async function assertReferencesVisible(
  parts: Parts,
  type: RestRecordType,
  body: WriteBody,
): Promise<void> {
  if (!isRestricted(parts.role)) return;
  await assertValuesVisible(parts, type.properties, body.values);
  for (const { values, path } of body.lines ?? [])
    await assertValuesVisible(parts, LINE_PROPERTIES, values, `${path}.`);
  for (const { values, path } of body.apply ?? [])
    await assertValuesVisible(parts, APPLY_PROPERTIES, values, `${path}.`);
}

async function assertValuesVisible(
  { pool, role }: Parts,
  properties: readonly Property[],
  values: Values,
  path = '',
): Promise<void> {
  for (const { kind, name, column, to = '' } of properties) {
    const value = values.get(column);
    const table = kind === 'reference' ? findEnabledType(role, to)?.table : undefined;
    if (table === undefined || typeof value !== 'string') continue;
    const isExternal = value.startsWith('eid:');
    // The write itself refuses an external id of records that have none.
    if (isExternal && !role.known(table)?.columns.some((each) => each.name === 'externalid')) continue;
    const { rows } = await pool.query(
      `SELECT 1 FROM ${role.rowsSql(table, [], 'write')} "row" WHERE ${isExternal ? 'externalid' : 'id::text'} = $1`,
      [isExternal ? value.slice('eid:'.length) : value],
    );
    if (rows.length === 0) throw invalidValue(value, `${path}${name}`, name);
  }
}
