// The login with which the service connects. As a plain member of portal_service it can't gain anything by
// leaving that role (SET ROLE NONE, RESET ROLE): it owns nothing, and without inheritance it has not even the
// privileges of portal_service.
import { type ClientBase, escapeIdentifier, escapeLiteral, type Pool } from 'pg';
import { connectClient, type DatabaseAddress, poolConfig } from './connect.ts';
import { RoutedClient } from './routed-client.ts';
import { sessionSettings } from './session.ts';
import { explainDatabaseError } from './unusable-database.ts';

/** Without a password for a server that authenticates in another way, such as by certificates. */
export type ServiceLogin = { readonly user: string; readonly password?: string | undefined };

/** Key of the advisory lock: an arbitrary number that nothing else uses. */
const loginLock = 7_205_119_205;

/** The login that an address names. */
export function toServiceLogin(address: DatabaseAddress): ServiceLogin {
  const { user = '', password } = new RoutedClient(poolConfig(address, null));
  return { user, password };
}

/** The session's settings as the login's defaults, because poolers may drop start-up options. */
function setLogin({ user, password }: ServiceLogin): string[] {
  const name = escapeIdentifier(user);
  const defaults = Object.entries({ role: 'portal_service', ...sessionSettings });
  return [
    `alter role ${name} login noinherit${password === undefined ? '' : ` password ${escapeLiteral(password)}`}`,
    ...defaults.map(([setting, value]) => `alter role ${name} set ${setting} = ${escapeLiteral(value)}`),
  ];
}

const createLogin = (name: string): string => `create role ${name} login noinherit`;
const grantService = (name: string): string => `grant portal_service to ${name} with inherit false, set true`;

/** Statements that make the login, created when it `isMissing`, a member of portal_service. */
export function createLoginStatements(login: ServiceLogin, { isMissing }: { readonly isMissing: boolean }) {
  const name = escapeIdentifier(login.user);
  return isMissing
    ? [createLogin(name), grantService(name), ...setLogin(login)]
    : [`alter role ${name} login`, grantService(name)];
}

/**
 * Creates the login if it doesn't exist, and makes it a member of portal_service, which must exist.
 * `overwrite` also sets the password and the defaults of an existing login. `owner` connects as a login that
 * may do so. Rejects with UnusableDatabase when it may not.
 */
export async function ensureServiceLogin(
  owner: DatabaseAddress,
  login: ServiceLogin,
  { overwrite = false } = {},
): Promise<void> {
  const client = await connectClient(poolConfig(owner, null))();
  // A connection that breaks fails the statement; without a listener the event would end the process.
  client.on('error', () => undefined);
  const name = escapeIdentifier(login.user);
  const isTrue = async (sql: string): Promise<boolean> => {
    const { rows } = await client.query<{ result: boolean }>(sql, [login.user]);
    return rows[0]?.result === true;
  };
  try {
    await client.query(`begin; select pg_advisory_xact_lock(${loginLock})`);
    const isMissing = await isTrue('select not exists (select from pg_roles where rolname = $1) as result');
    if (isMissing) await client.query(createLogin(name));
    if (!(await isTrue("select pg_has_role($1, 'portal_service', 'SET') as result")))
      await client.query(grantService(name));
    if (isMissing || overwrite) await client.query(setLogin(login).join('; '));
    await client.query('commit');
  } catch (error) {
    throw explainDatabaseError(error, 'MIGRATION_DATABASE_URL');
  } finally {
    await client.end();
  }
}

/** The warning about a login with powers; `variable` names its address. */
export const tooPowerful = (variable: string): string =>
  `the login of ${variable} can do more than portal_service: a statement that leaves this role sees all organizations. ` +
  'Connect as a plain member of portal_service: docs/operations.md#database-logins';

export type LoginPowers = { readonly login: string; readonly powers: readonly string[] };

/** What the login of the pool's connections may do beyond portal_service; nothing for a plain member. */
export async function readLoginPowers(pool: Pick<Pool | ClientBase, 'query'>): Promise<LoginPowers> {
  const { rows } = await pool.query<LoginPowers>(
    `select r.rolname as login, array_remove(array[
       case when r.rolsuper then 'superuser' end,
       case when r.rolbypassrls then 'BYPASSRLS' end,
       case when r.rolcreaterole then 'CREATEROLE' end,
       case when exists (select from pg_database d where d.datname = current_database() and d.datdba = r.oid) then 'owns the database' end,
       case when exists (select from pg_class c where c.relnamespace = 'public'::regnamespace and c.relowner = r.oid) then 'owns tables' end,
       (select 'member of ' || string_agg(m.rolname, ', ' order by m.rolname) from pg_roles m
        where not r.rolsuper and m.oid <> r.oid and m.rolname not in ('portal_service', 'pg_database_owner') and pg_has_role(r.oid, m.oid, 'MEMBER'))
     ], null) as powers from pg_roles r where r.rolname = session_user`,
  );
  return rows[0] ?? { login: '', powers: [] };
}
