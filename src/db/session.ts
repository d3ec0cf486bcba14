// The role and the settings with which every pooled connection works. They are sent as start-up options, which some connection poolers
// drop. Without the role, row-level security might not apply, so each new connection is asked for them and refused when they differ.
import type { ClientBase } from 'pg';
import { UnusableDatabase } from './unusable-database.ts';

export const sessionSettings = { timezone: 'UTC', datestyle: 'ISO', intervalstyle: 'iso_8601', search_path: 'public', row_security: 'on' };

/** The start-up options of a connection; with `role: null` it keeps the role that the login starts with. */
export function startupOptions(role: string | null): string {
  const settings = { ...(role !== null && { role }), ...sessionSettings };
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
}

const readSession = `select current_user as role, current_setting('timezone') as timezone,
  split_part(current_setting('datestyle'), ',', 1) as datestyle, current_setting('intervalstyle') as intervalstyle,
  current_setting('search_path') as search_path, current_setting('row_security') as row_security,
  (extract(epoch from current_setting('statement_timeout')::interval) * 1000)::int as statement_timeout`;

/**
 * Rejects with UnusableDatabase unless the connection has the role, the settings and, if given, the statement timeout in milliseconds. One
 * round trip. A connection isn't set right instead: behind a pooler that shares connections among transactions, the next statement may
 * run on another one.
 */
export async function assertSession(client: ClientBase, role: string | null, statementTimeoutMs?: number): Promise<void> {
  const { rows } = await client.query<Record<string, string | number>>(readSession);
  const wanted = {
    ...(role !== null && { role }),
    ...sessionSettings,
    ...(statementTimeoutMs !== undefined && { statement_timeout: statementTimeoutMs }),
  };
  const differing = Object.entries(wanted).filter(([name, value]) => rows[0]?.[name] !== value);
  if (differing.length === 0) return;
  const listed = differing.map(([name, value]) => `${name} is ${String(rows[0]?.[name])} instead of ${value}`).join(', ');
  throw new UnusableDatabase(
    `PostgreSQL opened a connection without the settings of the service: ${listed}. A connection pooler that drops start-up options needs ` +
      'them as defaults of the login: docs/operations.md#connection-poolers.',
  );
}
