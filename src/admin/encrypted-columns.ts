// Every column whose values are sealed with an encryption key, and what each value is bound to. Whoever seals something new adds its
// column here: else it could not be opened any more once the key that closed it is gone. Two tests and the rotation itself look for
// sealed values anywhere else.
import type { Knex } from 'knex';
import { sandboxTokenBinding } from '../gateways/payments/sandbox/sandbox.ts';
import { attachmentBinding, mailBinding } from '../mail/index.ts';
import { payAccountBinding } from '../platform/pay/accounts.ts';
import { secretBinding } from '../sync/index.ts';

export type SealedColumn = {
  readonly table: string;
  readonly column: string;
  /** The columns that tell its rows apart, in the order of an index. */
  readonly key: readonly string[];
  /** So many at once: what is large goes one by one. */
  readonly batch: number;
  bindTo(row: Readonly<Record<string, string | number>>): string;
};

export const sealedColumns: readonly SealedColumn[] = [
  {
    table: 'erp_connections',
    column: 'secrets',
    key: ['organization_id'],
    batch: 100,
    bindTo: ({ organization_id: id }) => secretBinding(String(id), 'erp-secrets'),
  },
  {
    table: 'erp_certificates',
    column: 'private_key',
    key: ['organization_id', 'slot'],
    batch: 100,
    bindTo: ({ organization_id: id, slot }) => secretBinding(String(id), slot === 1 ? 'erp-private-key-1' : 'erp-private-key-2'),
  },
  {
    table: 'pay_accounts',
    column: 'secrets',
    key: ['id'],
    batch: 100,
    bindTo: ({ organization_id: organizationId, id }) => payAccountBinding(String(organizationId), String(id)),
  },
  { table: 'sandbox_payments', column: 'token', key: ['id'], batch: 100, bindTo: ({ id }) => sandboxTokenBinding(String(id)) },
  { table: 'outgoing_mails', column: 'body', key: ['id'], batch: 20, bindTo: ({ id }) => mailBinding(String(id)) },
  { table: 'mail_attachments', column: 'content', key: ['id'], batch: 1, bindTo: ({ id }) => attachmentBinding(String(id)) },
];

const keyIdSql = (column: string): string => `split_part(${column}, '.', 1)`;

/** How many values of the column each key closed. */
export async function countByKey(owner: Knex, { table, column }: SealedColumn): Promise<Map<string, number>> {
  const { rows } = await owner.raw<{ rows: { key_id: string; count: number }[] }>(
    `select ${keyIdSql(column)} as key_id, count(*)::int as count from ${table} where ${column} is not null group by 1 order by 1`,
  );
  return new Map(rows.map(({ key_id: keyId, count }) => [keyId, count]));
}

export type SealedRow = {
  readonly key: readonly (string | number)[];
  readonly organizationId: string;
  readonly box: string;
  readonly bindTo: string;
};

/**
 * The next rows with a value, after `after` in the order of the key; `not` passes over those that this key closed. Within a transaction
 * `lock` keeps them as they are until it ends.
 */
export async function readSealed(
  db: Knex,
  sealed: SealedColumn,
  { after, not = '', lock = false }: { after: SealedRow | undefined; not?: string; lock?: boolean },
): Promise<SealedRow[]> {
  const { table, column, key, batch } = sealed;
  const { rows } = await db.raw<{ rows: Record<string, string | number>[] }>(
    `select ${[...new Set([...key, 'organization_id'])].join(', ')}, ${column} as box from ${table}
     where ${column} is not null and ${keyIdSql(column)} <> ? ${after === undefined ? '' : `and (${key.join(', ')}) > (${key.map(() => '?').join(', ')})`}
     order by ${key.join(', ')} limit ${batch} ${lock ? 'for no key update' : ''}`,
    [not, ...(after?.key ?? [])],
  );
  return rows.map((row) => ({
    key: key.map((name) => row[name] ?? ''),
    organizationId: String(row['organization_id']),
    box: String(row['box']),
    bindTo: sealed.bindTo(row),
  }));
}

export const writeSealed = (db: Knex, { table, column, key }: SealedColumn, row: SealedRow, box: string) =>
  db(table)
    .where(Object.fromEntries(key.map((name, index) => [name, row.key[index]])))
    .update({ [column]: box });

/** Key id, iv, tag and text of a box, anywhere in a text; the ids are those of the environment, which hold no special characters. */
const boxForm = (keyIds: readonly string[]): string => `(^|[^A-Za-z0-9_-])(${keyIds.join('|')})[.][A-Za-z0-9_-]{16}[.][A-Za-z0-9_-]{22}[.]`;

/** Columns of schema public that hold boxes of these keys and aren't in the list above, as `table.column`. Reads every row. */
export async function findUnlisted(owner: Knex, keyIds: readonly string[]): Promise<string[]> {
  const { rows } = await owner.raw<{ rows: { table: string; column: string }[] }>(
    `select c.relname as table, a.attname as column from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
       and a.atttypid::regtype::text in ('text', 'text[]', 'jsonb', 'json', 'character varying') and c.relname not like 'knex%'
     order by 1, 2`,
  );
  const found: string[] = [];
  for (const { table, column } of rows) {
    if (sealedColumns.some((sealed) => sealed.table === table && sealed.column === column)) continue;
    const held = await owner.raw<{ rows: { there: boolean }[] }>(`select exists (select from ?? where ??::text ~ ?) as there`, [
      table,
      column,
      boxForm(keyIds),
    ]);
    if (held.rows[0]?.there === true) found.push(`${table}.${column}`);
  }
  return found;
}
