// Facts about a node of a Citus cluster that matter to the service, read in one statement, and the rules that
// it must meet. A rule that isn't met is repaired on the node or left to the operator, with instructions.
import { escapeIdentifier, escapeLiteral } from 'pg';
import { z } from 'zod';
import { nodeSettings } from '../../db/migrate.ts';
import { createLoginStatements, type ServiceLogin } from '../../db/service-login.ts';

const settings = [
  'shared_preload_libraries',
  'wal_level',
  'max_connections',
  'max_prepared_transactions',
] as const;
/** Needed on both nodes to move one organization. PostgreSQL's defaults suffice. */
const minimums = {
  max_replication_slots: 4,
  max_wal_senders: 4,
  max_logical_replication_workers: 4,
  max_worker_processes: 8,
} as const;

const Role = z.object({
  canLogIn: z.boolean(),
  /** As `name=value`. */
  defaults: z.array(z.string()),
  /** For this database alone: they come before the others. */
  databaseDefaults: z.array(z.string()),
  /** In schema public. */
  canCreateTables: z.boolean(),
  canUsePublic: z.boolean(),
  /** In the database. */
  canCreateSchemas: z.boolean(),
  isServiceMember: z.boolean(),
});
const Extension = z.object({ installed: z.string().nullable(), available: z.string() });
export const NodeFacts = z.object({
  version: z.number(),
  encoding: z.string(),
  settings: z.record(z.string(), z.string()),
  extensions: z.record(z.string(), Extension),
  roles: z.record(z.string(), Role),
});
export type NodeFacts = z.output<typeof NodeFacts>;

const texts = (values: readonly string[]): string => `array[${values.map(escapeLiteral).join()}]`;

/** SQL for the facts as JSON text: one row with one column. `logins`: further roles to read. */
export const readNodeFacts = (logins: readonly string[]): string => `select json_build_object(
  'version', current_setting('server_version_num')::int,
  'encoding', current_setting('server_encoding'),
  'settings', (select json_object_agg(name, setting) from pg_settings where name = any(${texts([...settings, ...Object.keys(minimums)])})),
  'extensions', (select coalesce(json_object_agg(name, json_build_object('installed', installed_version, 'available', default_version)), '{}')
    from pg_available_extensions where name in ('citus', 'pg_trgm')),
  'roles', (select coalesce(json_object_agg(r.rolname, json_build_object('canLogIn', r.rolcanlogin, 'defaults', coalesce(r.rolconfig, '{}'),
      'databaseDefaults', (select coalesce(array_agg(setting), '{}') from pg_db_role_setting s, unnest(s.setconfig) as setting
        where s.setrole = r.oid and s.setdatabase = (select oid from pg_database where datname = current_database())),
      'canCreateTables', has_schema_privilege(r.oid, 'public', 'CREATE'), 'canUsePublic', has_schema_privilege(r.oid, 'public', 'USAGE'),
      'canCreateSchemas', has_database_privilege(r.oid, current_database(), 'CREATE'),
      'isServiceMember', exists (select from pg_auth_members m join pg_roles g on g.oid = m.roleid
        where m.member = r.oid and g.rolname = 'portal_service' and m.set_option))), '{}')
    from pg_roles r where r.rolname = any(${texts(['portal_owner', 'portal_service', 'portal_simulator', ...logins])})))::text`;

export type Rule = {
  readonly check: string;
  isMet(facts: NodeFacts): boolean;
  /** The statements that repair it; none where only the operator can. */
  repair(facts: NodeFacts): readonly string[];
  toDo(facts: NodeFacts): string;
};

const byOperator = (check: string, isMet: Rule['isMet'], toDo: Rule['toDo']): Rule => ({
  check,
  isMet,
  toDo,
  repair: () => [],
});
const bySql = (check: string, isMet: Rule['isMet'], repair: Rule['repair']): Rule => ({
  check,
  isMet,
  repair,
  toDo: (facts) => `run there as a superuser: ${repair(facts).join('; ')}`,
});

const toNumberOrZero = ({ settings: read }: NodeFacts, name: string): number => Number(read[name] ?? 0);

const settingRules: readonly Rule[] = [
  byOperator(
    'wal_level = logical',
    (facts) => facts.settings['wal_level'] === 'logical',
    () =>
      "alter system set wal_level = 'logical', then restart the server: organizations are moved by logical replication",
  ),
  byOperator(
    'max_prepared_transactions >= max_connections',
    (facts) => toNumberOrZero(facts, 'max_prepared_transactions') >= toNumberOrZero(facts, 'max_connections'),
    () =>
      'remove the setting from the configuration of the server, then restart it: Citus then uses twice max_connections',
  ),
  ...Object.entries(minimums).map(([name, minimum]) =>
    byOperator(
      `${name} >= ${minimum}`,
      (facts) => toNumberOrZero(facts, name) >= minimum,
      () => `alter system set ${name} = ${minimum}, then restart the server`,
    ),
  ),
];

const extensionRule = (name: string, minimumMajor: number): Rule => ({
  check: `extension ${name}`,
  isMet: ({ extensions: { [name]: found } }) =>
    found?.installed === found?.available && Number.parseInt(found?.installed ?? '', 10) >= minimumMajor,
  repair: ({ extensions: { [name]: found } }) =>
    found === undefined
      ? []
      : [found.installed === null ? `create extension ${name}` : `alter extension ${name} update`],
  toDo: ({ extensions: { [name]: found } }) =>
    found === undefined
      ? `install the package of the extension ${name} on this machine`
      : `run there as a superuser: create extension ${name}, or alter extension ${name} update; it is ${found.installed ?? 'missing'}, and ${found.available} is installed on the machine. At least ${minimumMajor}.0 is required`,
});

const roleRule = (name: string, mayLogIn: boolean): Rule =>
  bySql(
    mayLogIn ? `role ${name} may log in` : `role ${name}`,
    ({ roles }) => roles[name] !== undefined && (roles[name].canLogIn || !mayLogIn),
    ({ roles }) => [
      `${roles[name] === undefined ? 'create' : 'alter'} role ${name} ${mayLogIn ? 'login' : 'nologin'} noinherit`,
    ],
  );

const rightsRule = (database: string): Rule =>
  bySql(
    'rights of portal_owner and portal_service',
    ({ roles: { portal_owner: owner, portal_service: service } }) =>
      owner?.canCreateTables === true &&
      owner.canUsePublic &&
      owner.canCreateSchemas &&
      service?.canUsePublic === true &&
      service.canCreateSchemas,
    () => [
      'grant usage, create on schema public to portal_owner',
      'grant usage on schema public to portal_service',
      `grant create, connect on database ${escapeIdentifier(database)} to portal_owner, portal_service`,
    ],
  );

/** The names of the service's settings that portal_service has otherwise in this database. */
function overriddenSettings({ roles: { portal_service: service } }: NodeFacts): string[] {
  const names = new Set(
    service?.databaseDefaults.map((setting) => setting.replace(/=.*$/s, '').toLowerCase()),
  );
  return nodeSettings.flatMap(([name]) => (names.has(name) ? [name] : []));
}

/** The sessions that Citus opens on a node start with the role's defaults: see `nodeSettings`. */
const defaultsRule = (database: string): Rule =>
  bySql(
    'defaults of portal_service',
    (facts) => {
      const found = new Set(facts.roles['portal_service']?.defaults.map((setting) => setting.toLowerCase()));
      return (
        overriddenSettings(facts).length === 0 &&
        nodeSettings.every(([name, value]) => found.has(`${name}=${value}`.toLowerCase()))
      );
    },
    (facts) => [
      ...overriddenSettings(facts).map(
        (name) => `alter role portal_service in database ${escapeIdentifier(database)} reset ${name}`,
      ),
      ...nodeSettings.map(
        ([name, value]) => `alter role portal_service set ${name} = ${escapeLiteral(value)}`,
      ),
    ],
  );

const loginRule = (login: ServiceLogin): Rule => ({
  ...bySql(
    `login ${login.user}`,
    ({ roles: { [login.user]: role } }) => role?.canLogIn === true && role.isServiceMember,
    ({ roles: { [login.user]: role } }) => createLoginStatements(login, { isMissing: role === undefined }),
  ),
  toDo: () =>
    `create the login ${login.user} there, as a member of portal_service: docs/operations.md#database-logins`,
});

/** What each node must have, in order of repair. `login`: the service's, if another than this command's. */
export const nodeRules = (database: string, login: ServiceLogin | undefined): readonly Rule[] => [
  byOperator(
    'PostgreSQL 17 or later',
    ({ version }) => version >= 170_000,
    () => 'upgrade the server',
  ),
  byOperator(
    'encoding UTF8',
    ({ encoding }) => encoding === 'UTF8',
    () => `create the database ${database} again with: encoding utf8 template template0`,
  ),
  ...settingRules,
  extensionRule('citus', 14),
  extensionRule('pg_trgm', 1),
  roleRule('portal_owner', true),
  roleRule('portal_service', true),
  roleRule('portal_simulator', false),
  rightsRule(database),
  defaultsRule(database),
  ...(login === undefined ? [] : [loginRule(login)]),
];

/** Citus must be loaded before anything else can be asked of it. */
export const isCitusLoaded = ({ settings: read }: NodeFacts): boolean =>
  /\bcitus\b/.test(read['shared_preload_libraries'] ?? '');
