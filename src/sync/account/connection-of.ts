// Which of an organization's connections a record type belongs to: the first one's record types have bare names, those of
// another begin with its name and a colon.
import type { Tx } from '../../db/transaction.ts';

/** The name of a connection; null: the first one. */
export type ConnectionName = string | null;

export function connectionOf(recordType: string): ConnectionName {
  const end = recordType.indexOf(':');
  return end === -1 ? null : recordType.slice(0, end);
}

/** What the names of its record types begin with. */
export const namePrefix = (connection: ConnectionName): string =>
  connection === null ? '' : `${connection}:`;

export const selectConnection = (tx: Tx, organizationId: string, connection: ConnectionName) =>
  tx('erp_connections').where({
    organization_id: organizationId,
    ...(connection === null ? { is_first: true } : { name: connection }),
  });

/** Joins the connection `c` of each record type, whose name is in this column. */
export const isConnectionOf = (column: string): string =>
  `case when strpos(${column}, ':') > 0 then c.name = split_part(${column}, ':', 1) else c.is_first end`;

/** Whether a column has one of these names of record types, or one of a connection's. */
export function isOneOf(
  column: string,
  of: ConnectionName | readonly string[],
): [sql: string, values: (string | string[])[]] {
  if (of === null) return [`strpos(${column}, ':') = 0`, []];
  return typeof of === 'string'
    ? [`starts_with(${column}, ?)`, [namePrefix(of)]]
    : [`${column} = any(?::text[])`, [[...of]]];
}

/** In groups of one connection each. */
export function groupByConnection<T>(
  all: readonly T[],
  nameOf: (one: T) => string,
): ReadonlyMap<ConnectionName, T[]> {
  return Map.groupBy(all, (one) => connectionOf(nameOf(one)));
}
