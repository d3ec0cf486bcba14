// Authorization: every operation with every role, with exactly its permission, with all but it, by key and by
// session.
import {
  assignablePermissions,
  builtInRoles,
  isReadPermission,
  isRolePermission,
  type Permission,
} from '../../../src/core/permissions.ts';
import { type Route, successStatus } from '../../../src/http/route/route.ts';
import { makeKey, makeMember, makeSession } from '../../setup/organization.ts';
import type { Answer } from '../http.ts';
import { type Credential, keyCredential, type Site, sessionCredential, type Walk } from '../walk.ts';
import { answerProblems } from './responses.ts';

type Caller = {
  readonly name: string;
  readonly kind: 'key' | 'session' | 'restricted key';
  readonly holds: ReadonlySet<string>;
  readonly isOwner?: boolean;
  readonly readsOnly?: boolean;
  signIn(site: Site): Promise<Credential>;
};
type Scopes = Parameters<typeof makeKey>[2];

/** Made once for each site. */
const members = new WeakMap<Site, Map<string, Promise<string>>>();
function findMember(site: Site, role: string | readonly string[]): Promise<string> {
  if (role === 'owner') return Promise.resolve(site.owner.id);
  const made = members.get(site) ?? new Map<string, Promise<string>>();
  members.set(site, made);
  const id = made.get(String(role)) ?? makeMember(site.ctx, site.organization.id, role).then((one) => one.id);
  made.set(String(role), id);
  return id;
}

const signInByKey = async ({ ctx, organization }: Site, scopes: Scopes): Promise<Credential> =>
  keyCredential((await makeKey(ctx, organization.id, { permissions: ['write'], ...scopes })).secret);

/** Callers that every operation is tested with. */
const standardCallers = (allowSignup: boolean): readonly Caller[] => [
  ...Object.entries(builtInRoles).flatMap(([role, permissions]): Caller[] => {
    const isOwner = role === 'owner';
    const may = [...permissions, ...(allowSignup ? ['organization:create'] : [])];
    return [
      {
        name: `${role}'s key`,
        kind: 'key',
        holds: new Set(permissions),
        isOwner,
        signIn: async (site) => signInByKey(site, { createdBy: await findMember(site, role) }),
      },
      {
        name: `${role}'s session`,
        kind: 'session',
        holds: new Set(may),
        isOwner,
        signIn: async (site) =>
          sessionCredential(site.ctx, await makeSession(site.ctx, await findMember(site, role))),
      },
    ];
  }),
  {
    name: "owner's reading key",
    kind: 'key',
    holds: new Set(assignablePermissions.filter(isReadPermission)),
    readsOnly: true,
    signIn: (site) => signInByKey(site, { permissions: ['read'] }),
  },
  {
    name: 'a restricted key',
    kind: 'restricted key',
    holds: new Set(),
    signIn: (site) => signInByKey(site, { versions: ['v1'] }),
  },
];

/**
 * Members whose own role has just the permission, everything else, or just what an operation that reads
 * records needs.
 */
function customCallers({ permission, orPermission, readsRecords }: Route): readonly Caller[] {
  if (!isRolePermission(permission)) return [];
  const make = (name: string, holds: readonly Permission[]): Caller => ({
    name,
    kind: 'key',
    holds: new Set(holds),
    signIn: async (site) => signInByKey(site, { createdBy: await findMember(site, holds) }),
  });
  const own = [permission, orPermission?.permission];
  const others = assignablePermissions.filter((other) => !own.includes(other));
  return [
    make('a role with just its permission', [permission]),
    make('a role with all others', others),
    ...(readsRecords === true
      ? [make('a role with its permission and record:read', [permission, 'record:read'])]
      : []),
    ...(orPermission !== undefined && orPermission.for === undefined
      ? [make('a role with the other permission that suffices', [orPermission.permission, 'record:read'])]
      : []),
  ];
}

/** The exact message of the 403; undefined if the caller is admitted. */
function findRefusal(route: Route, { kind, holds, readsOnly = false }: Caller): string | undefined {
  if (route.permission === 'any') return undefined;
  if (kind === 'restricted key')
    return 'A key for the public interface may only call GET /whoami and mint and revoke its own tokens on the management interface';
  if (route.permission === 'authenticated') return undefined;
  if (route.permission === 'signed-in')
    return kind === 'key' ? 'Only a signed-in person may call this operation, not an API key' : undefined;
  const suffices = (permission: string): boolean =>
    holds.has(permission as Permission) ||
    (permission === route.permission &&
      route.orPermission?.for === undefined &&
      route.orPermission !== undefined &&
      holds.has(route.orPermission.permission));
  const needed = [route.permission, ...(route.readsRecords === true ? ['record:read'] : [])];
  const missing = needed.find((permission) => !suffices(permission));
  if (missing === route.permission || !(route.writes === true && readsOnly))
    return missing === undefined ? undefined : `Missing required permission: ${missing}`;
  return 'This credential can only read';
}

function cellProblems(route: Route, caller: Caller, answer: Answer, mayRefuse: readonly string[]): string[] {
  const refusal = findRefusal(route, caller);
  const said = `${caller.name} is answered ${answer.status} ${answer.status < 300 ? '' : answer.text}`;
  if (refusal !== undefined) {
    const exact =
      answer.status === 403 &&
      answer.body?.error?.code === 'FORBIDDEN' &&
      answer.body.error.message === refusal;
    return exact ? [] : [`${said}, not 403 ${refusal}`];
  }
  if (caller.isOwner === true)
    return answer.status === successStatus(route) ? [] : [`${said}, not ${successStatus(route)}`];
  if (answer.status === 403 && mayRefuse.includes(answer.body?.error?.details?.[0]?.code)) return [];
  return answer.status === 401 || answer.status === 403 ? [`${said} though it may`] : [];
}

/** Signed in once for each site. */
const credentials = new WeakMap<Site, Map<string, Promise<Credential>>>();
function credentialOf(caller: Caller, site: Site): Promise<Credential> {
  const held = credentials.get(site) ?? new Map<string, Promise<Credential>>();
  credentials.set(site, held);
  const key = `${caller.name} ${[...caller.holds].join()}`;
  const credential = held.get(key) ?? caller.signIn(site);
  held.set(key, credential);
  return credential;
}

export async function rolesMatrix(walk: Walk, route: Route): Promise<string[]> {
  const { builder, site: openSite, toRefuse } = walk.getBuilder(route);
  const prepare = async () => {
    const site = await openSite();
    return { site, sent: await builder.build(site) };
  };
  // As in rules/inputs.ts: one prepared request serves all callers, except where each changes its object.
  const isReusable = ['GET', 'PUT', 'PATCH'].includes(route.method) && builder.repeatable !== false;
  let reused: ReturnType<typeof prepare> | undefined;
  const problems: string[] = [];
  for (const caller of [...standardCallers(walk.ctx.settings.allowSignup), ...customCallers(route)]) {
    const isRefused = findRefusal(route, caller) !== undefined;
    if (isReusable) reused ??= prepare();
    const { site, sent } = await (isRefused ? toRefuse() : (reused ?? prepare()));
    const answer = await walk.send(route, sent, await credentialOf(caller, site));
    problems.push(
      ...cellProblems(route, caller, answer, builder.mayRefuse ?? []),
      ...answerProblems(walk, route, answer),
    );
  }
  return problems;
}
