// What a write names has to be there: references by id, or by external id, which becomes the id.
import type { ClientBase, Pool } from 'pg';
import type { Property } from './property.ts';
import type { RecordType } from './record-types.ts';
import { invalidValue } from './refusals.ts';
import type { Values } from './write-body.ts';

/** Where the targets of references are. What isn't named here has no table in this account and is taken as it is. */
const TARGETS: Record<string, string> = {
  customer: 'customer',
  inventoryItem: 'item',
  currency: 'currency',
  subsidiary: 'subsidiary',
  invoice: 'transaction',
};

/** The values with external ids replaced. */
export async function checkReferences(client: ClientBase, type: RecordType, values: Values): Promise<Map<string, string | null>> {
  const checked = new Map(values);
  for (const property of type.properties) {
    const value = checked.get(property.column);
    if (property.kind !== 'reference' || typeof value !== 'string') continue;
    checked.set(property.column, await resolve(client, property, value, property.name));
  }
  return checked;
}

/** Throws a Refusal that names `path` if there is no such record. */
export async function resolve(client: ClientBase, property: Property, value: string, path: string): Promise<string> {
  const table = TARGETS[property.to ?? ''];
  const isExternal = value.startsWith('eid:');
  if (table === undefined && !isExternal) return value;
  const plain = isExternal ? value.slice('eid:'.length) : value;
  const where = isExternal ? 'externalid = $1' : 'id = $1';
  const hasExternalIds = table === 'customer' || table === 'item' || table === 'transaction';
  const found =
    table === undefined || (isExternal && !hasExternalIds)
      ? undefined
      : (await client.query<{ id: string }>(`SELECT id FROM ledger.${table} WHERE ${where}`, [plain])).rows[0];
  if (!found) throw invalidValue(plain, path, property.name);
  return found.id;
}

export async function findByExternalId(client: ClientBase | Pool, type: RecordType, externalId: string): Promise<string | undefined> {
  const kind = type.transactionType === undefined ? '' : `AND type = '${type.transactionType}'`;
  const { rows } = await client.query<{ id: string }>(`SELECT id FROM ledger.${type.table} WHERE externalid = $1 ${kind}`, [externalId]);
  return rows[0]?.id;
}
