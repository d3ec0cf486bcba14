// Resolves the references in a write, by id or by external id, to ids of existing records.
import type { ClientBase, Pool } from 'pg';
import type { Property } from './property.ts';
import { invalidValue } from './record-errors.ts';
import type { RestRecordType } from './record-type.ts';
import type { Values } from './write-body.ts';

/**
 * Tables of reference targets. Other targets have no table in this account; their ids are accepted unchecked.
 */
const TARGETS: Record<string, string> = {
  customer: 'customer',
  inventoryItem: 'item',
  currency: 'currency',
  subsidiary: 'subsidiary',
  invoice: 'transaction',
};

/**
 * Items that a line can have: not those of the system, whose ids are negative, and none that NetSuite
 * computes.
 */
const SELLABLE = "id > 0 AND itemtype NOT IN ('Subtotal', 'Discount', 'TaxItem', 'ShipItem')";

/**
 * The values with external ids replaced by ids. Rejects with RestError 400 for a reference to an absent
 * record.
 */
export async function resolveReferences(
  client: ClientBase,
  type: RestRecordType,
  values: Values,
): Promise<Map<string, string | null>> {
  const checked = new Map(values);
  for (const property of type.properties) {
    const value = checked.get(property.column);
    if (property.kind !== 'reference' || typeof value !== 'string') continue;
    checked.set(property.column, await resolveReference(client, property, value, property.name));
  }
  return checked;
}

/** Rejects with a RestError 400 that names `path` if there is no such record. */
export async function resolveReference(
  client: ClientBase,
  property: Property,
  value: string,
  path: string,
): Promise<string> {
  const table = TARGETS[property.to ?? ''];
  const isExternal = value.startsWith('eid:');
  if (table === undefined && !isExternal) {
    if (property.to === 'account' && !(await isAccount(client, value)))
      throw invalidValue(value, path, property.name);
    return value;
  }
  const plain = isExternal ? value.slice('eid:'.length) : value;
  const where = `${isExternal ? 'externalid' : 'id'} = $1${property.column === 'item' && table === 'item' ? ` AND ${SELLABLE}` : ''}`;
  const hasExternalIds = table === 'customer' || table === 'item' || table === 'transaction';
  const found =
    table === undefined || (isExternal && !hasExternalIds)
      ? undefined
      : (await client.query<{ id: string }>(`SELECT id FROM ledger.${table} WHERE ${where}`, [plain]))
          .rows[0];
  if (!found) throw invalidValue(plain, path, property.name);
  return found.id;
}

/** Any id is an account without a profile, where there is no list of them. */
async function isAccount(client: ClientBase, id: string): Promise<boolean> {
  const { rows } = await client.query(
    'SELECT WHERE EXISTS (SELECT FROM ledger.account WHERE id = $1) OR NOT EXISTS (SELECT FROM ledger.account)',
    [id],
  );
  return rows.length > 0;
}

export async function findByExternalId(
  client: ClientBase | Pool,
  type: RestRecordType,
  externalId: string,
): Promise<string | undefined> {
  const kind = type.transactionType === undefined ? '' : `AND type = '${type.transactionType}'`;
  const { rows } = await client.query<{ id: string }>(
    `SELECT id FROM ledger.${type.table} WHERE externalid = $1 ${kind}`,
    [externalId],
  );
  return rows[0]?.id;
}
