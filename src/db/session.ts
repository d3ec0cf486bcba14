// The role and the settings with which every pooled connection works. They are sent as start-up options,
// which some connection poolers drop. Without the role, row-level security might not apply, so each new
// connection is asked for them and refused when they differ.
import { type ClientBase, escapeIdentifier, escapeLiteral } from 'pg';
import { UnusableDatabase } from './unusable-database.ts';

export const serviceRole = 'portal_service';

/**
 * A statement ran in a session whose role another client of the connection pooler had changed: row-level
 * security might not apply.
 */
export class ForeignRole extends Error {
  override readonly name = 'ForeignRole';
  /** SQLSTATE of a connection that can't be used. */
  readonly code = '08000';
  constructor() {
    super(
      `A session of PostgreSQL has another role than ${serviceRole}: another client of the connection pooler has changed it`,
    );
  }
}

export const sessionSettings = {
  timezone: 'UTC',
  datestyle: 'ISO',
  intervalstyle: 'iso_8601',
  search_path: 'public',
  row_security: 'on',
};

/** The start-up options of a connection; with `role: null` it keeps the role that the login starts with. */
export function startupOptions(role: string | null): string {
  const settings = { ...(role !== null && { role }), ...sessionSettings };
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
}

const readSession = `select session_user as login, current_setting('is_superuser') as superuser, current_user as role,
  current_setting('timezone') as timezone,
  split_part(current_setting('datestyle'), ',', 1) as datestyle, current_setting('intervalstyle') as intervalstyle,
  current_setting('search_path') as search_path, current_setting('row_security') as row_security,
  (extract(epoch from current_setting('statement_timeout')::interval) * 1000)::int as statement_timeout,
  (extract(epoch from current_setting('lock_timeout')::interval) * 1000)::int as lock_timeout`;

/** In milliseconds; without a number, whatever the connection has. */
export type SessionLimits = {
  readonly [Name in 'statement_timeout' | 'lock_timeout']?: number | false | undefined;
};

type Setting = readonly [name: string, value: string | number];

/** How the login gets these settings as defaults. */
function adviceFor(login: string, role: string, missing: readonly Setting[]): string {
  if (role !== serviceRole) return '';
  const statements = missing.map(
    ([name, value]) => `ALTER ROLE ${escapeIdentifier(login)} SET ${name} = ${escapeLiteral(String(value))};`,
  );
  return `Run as an administrator, then let the pooler open new connections (RECONNECT in the console of PgBouncer): ${statements.join(' ')} `;
}

/**
 * Rejects with UnusableDatabase unless the connection has the role, the settings and the limits. One round
 * trip. A connection isn't set right instead: behind a pooler that shares connections among transactions, the
 * next statement may run on another one.
 */
export async function assertSession(client: ClientBase, role: string | null, limits: SessionLimits = {}) {
  const { rows } = await client.query<Record<string, string | number>>(readSession);
  const wanted = { ...(role !== null && { role }), ...sessionSettings, ...limits };
  const [row = {}] = rows;
  const differing = Object.entries(wanted).flatMap(([name, value]): Setting[] =>
    value === undefined || value === false || row[name] === value ? [] : [[name, value]],
  );
  if (differing.length === 0) return;
  const listed = differing
    .map(([name, value]) => `${name} is ${String(row[name])} instead of ${value}`)
    .join(', ');
  const login = String(row['login']);
  const advice =
    row['superuser'] === 'on'
      ? `${login} is a superuser: connect as a plain member of portal_service. `
      : adviceFor(login, role ?? '', differing);
  throw new UnusableDatabase(
    `PostgreSQL opened a connection without the settings of the service: ${listed}. A connection pooler that drops start-up options needs ` +
      `them as defaults of the login. ${advice}See docs/operations.md#connection-poolers.`,
  );
}
