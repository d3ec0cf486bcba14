// Lists every column with encrypted values, and the associated data of each value. A new encrypted column
// must be added here: otherwise key rotation skips it and its values can't be decrypted once the old key is
// removed. Two tests and the rotation itself search for encrypted values elsewhere.

import type { Knex } from 'knex';
import { secretBinding } from '../connectors/secret-binding.ts';
import { sandboxTokenBinding } from '../gateways/payments/sandbox/sandbox.ts';
import { tokenSigningKeyBinding } from '../identity/record-token.store.ts';
import { attachmentBinding, mailBinding } from '../mail/index.ts';
import { payAccountBinding } from '../platform/pay/provider/accounts.ts';
import { signInBinding } from '../platform/portal/sign-in.service.ts';
import { webhookBinding } from '../platform/webhooks/secrets.ts';
import { maskSecretBinding } from '../public/version/mask-secret.ts';

export type EncryptedColumn = {
  readonly table: string;
  readonly column: string;
  /** The columns that identify a row, in the order of an index. */
  readonly key: readonly string[];
  /** Number of rows per batch; 1 where the values are large. */
  readonly batch: number;
  /** The associated data of a row's value; takes the row's key columns and organization_id. */
  bindTo(row: Readonly<Record<string, string | number>>): string;
};

export const encryptedColumns: readonly EncryptedColumn[] = [
  {
    table: 'erp_connections',
    column: 'secrets',
    key: ['organization_id', 'name'],
    batch: 100,
    bindTo: ({ organization_id: id, name }) => secretBinding(String(id), String(name), 'erp-secrets'),
  },
  {
    table: 'erp_certificates',
    column: 'private_key',
    key: ['organization_id', 'connection', 'slot'],
    batch: 100,
    bindTo: ({ organization_id: id, connection, slot }) =>
      secretBinding(String(id), String(connection), slot === 1 ? 'erp-private-key-1' : 'erp-private-key-2'),
  },
  {
    table: 'pay_accounts',
    column: 'secrets',
    key: ['id'],
    batch: 100,
    bindTo: ({ organization_id: organizationId, id }) =>
      payAccountBinding(String(organizationId), String(id)),
  },
  {
    table: 'portal_sign_in',
    column: 'client_secret',
    key: ['organization_id'],
    batch: 100,
    bindTo: ({ organization_id: id }) => signInBinding(String(id)),
  },
  {
    table: 'mask_secrets',
    column: 'secret',
    key: ['organization_id'],
    batch: 100,
    bindTo: ({ organization_id: id }) => maskSecretBinding(String(id)),
  },
  {
    table: 'token_signing_keys',
    column: 'private_key',
    key: ['kid'],
    batch: 100,
    bindTo: ({ organization_id: organizationId, kid }) =>
      tokenSigningKeyBinding(String(organizationId), String(kid)),
  },
  ...['secret', 'previous_secret'].map((column) => ({
    table: 'webhook_endpoints',
    column,
    key: ['id'],
    batch: 100,
    bindTo: ({ organization_id: organizationId, id }: Readonly<Record<string, string | number>>) =>
      webhookBinding(String(organizationId), String(id)),
  })),
  {
    table: 'sandbox_payments',
    column: 'token',
    key: ['id'],
    batch: 100,
    bindTo: ({ id }) => sandboxTokenBinding(String(id)),
  },
  {
    table: 'outgoing_mails',
    column: 'body',
    key: ['id'],
    batch: 20,
    bindTo: ({ id }) => mailBinding(String(id)),
  },
  {
    table: 'mail_attachments',
    column: 'content',
    key: ['id'],
    batch: 1,
    bindTo: ({ id }) => attachmentBinding(String(id)),
  },
];

const keyIdSql = (column: string): string => `split_part(${column}, '.', 1)`;

/** The number of values in the column by the id of the key that encrypted them. */
export async function countByKey(owner: Knex, { table, column }: EncryptedColumn) {
  const { rows } = await owner.raw<{ rows: { key_id: string; count: number }[] }>(
    `select ${keyIdSql(column)} as key_id, count(*)::int as count from ${table} where ${column} is not null group by 1 order by 1`,
  );
  return new Map(rows.map(({ key_id: keyId, count }) => [keyId, count]));
}

export type EncryptedRow = {
  readonly key: readonly (string | number)[];
  readonly organizationId: string;
  readonly ciphertext: string;
  readonly bindTo: string;
};

/**
 * Reads the next batch of rows with a value, after `after` in the order of the key columns. `not` skips
 * values encrypted with that key id. `lock` locks the rows against changes until the transaction ends.
 */
export async function readEncryptedRows(
  db: Knex,
  encrypted: EncryptedColumn,
  { after, not = '', lock = false }: { after: EncryptedRow | undefined; not?: string; lock?: boolean },
): Promise<EncryptedRow[]> {
  const { table, column, key, batch } = encrypted;
  const { rows } = await db.raw<{ rows: Record<string, string | number>[] }>(
    `select ${[...new Set([...key, 'organization_id'])].join(', ')}, ${column} as ciphertext from ${table}
     where ${column} is not null and ${keyIdSql(column)} <> ? ${after === undefined ? '' : `and (${key.join(', ')}) > (${key.map(() => '?').join(', ')})`}
     order by ${key.join(', ')} limit ${batch} ${lock ? 'for no key update' : ''}`,
    [not, ...(after?.key ?? [])],
  );
  return rows.map((row) => ({
    key: key.map((name) => row[name] ?? ''),
    organizationId: String(row['organization_id']),
    ciphertext: String(row['ciphertext']),
    bindTo: encrypted.bindTo(row),
  }));
}

export const writeEncryptedValue = (
  db: Knex,
  { table, column, key }: EncryptedColumn,
  row: EncryptedRow,
  ciphertext: string,
) =>
  db(table)
    .where(Object.fromEntries(key.map((name, index) => [name, row.key[index]])))
    .update({ [column]: ciphertext });

/** A ciphertext anywhere in a text. Key ids come from ENCRYPTION_KEY and contain no special characters. */
const ciphertextPattern = (keyIds: readonly string[]): string =>
  `(^|[^A-Za-z0-9_-])(${keyIds.join('|')})[.][A-Za-z0-9_-]{16}[.][A-Za-z0-9_-]{22}[.]`;

/** Unlisted columns of schema public with values under these keys, as `table.column`. Reads every row. */
export async function findUnlistedColumns(owner: Knex, keyIds: readonly string[]): Promise<string[]> {
  const { rows } = await owner.raw<{ rows: { table: string; column: string }[] }>(
    `select c.relname as table, a.attname as column from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
       and a.atttypid::regtype::text in ('text', 'text[]', 'jsonb', 'json', 'character varying') and c.relname not like 'knex%'
     order by 1, 2`,
  );
  const found: string[] = [];
  for (const { table, column } of rows) {
    if (encryptedColumns.some((listed) => listed.table === table && listed.column === column)) continue;
    const search = await owner.raw<{ rows: { present: boolean }[] }>(
      `select exists (select from ?? where ??::text ~ ?) as present`,
      [table, column, ciphertextPattern(keyIds)],
    );
    if (search.rows[0]?.present === true) found.push(`${table}.${column}`);
  }
  return found;
}
