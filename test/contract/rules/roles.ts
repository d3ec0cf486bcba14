// Authorization: every operation with every role, with exactly its permission, with all but it, by key and by
// session.
import {
  assignablePermissions,
  type BuiltInRole,
  builtInRoles,
  isReadPermission,
  isRolePermission,
  type Permission,
} from '../../../src/core/permissions.ts';
import { type Route, successStatus } from '../../../src/http/route/route.ts';
import { makeKey, makeMember, makeSession } from '../../setup/organization.ts';
import type { Sent } from '../builder.ts';
import type { Answer } from '../http.ts';
import {
  type Credential,
  keyCredential,
  missingBuilder,
  type Site,
  sessionCredential,
  type Walk,
} from '../walk.ts';
import { answerProblems } from './responses.ts';

type Caller = {
  readonly name: string;
  readonly credential: Credential;
  readonly kind: 'key' | 'session' | 'restricted key';
  readonly holds: ReadonlySet<string>;
  readonly isOwner?: boolean;
};

const roleNames = Object.keys(builtInRoles) as BuiltInRole[];

/** Callers that every operation is tested with. */
async function standardCallers(site: Site): Promise<Caller[]> {
  const { ctx, organization } = site;
  const callers: Caller[] = [];
  for (const name of roleNames) {
    const isOwner = name === 'owner';
    const userId = isOwner ? site.owner.id : (await makeMember(ctx, organization.id, name)).id;
    const { secret } = await makeKey(ctx, organization.id, { permissions: ['write'], createdBy: userId });
    const session = await makeSession(ctx, userId);
    const holds = new Set<string>(builtInRoles[name]);
    callers.push({ name: `${name}'s key`, credential: keyCredential(secret), kind: 'key', holds, isOwner });
    const signedIn = new Set([...holds, ...(ctx.settings.allowSignup ? ['organization:create'] : [])]);
    callers.push({
      name: `${name}'s session`,
      credential: sessionCredential(ctx, session),
      kind: 'session',
      holds: signedIn,
      isOwner,
    });
  }
  const reading = await makeKey(ctx, organization.id, { permissions: ['read'] });
  const restricted = await makeKey(ctx, organization.id, { permissions: ['write'], versions: ['v1'] });
  return [
    ...callers,
    {
      name: "owner's reading key",
      credential: keyCredential(reading.secret),
      kind: 'key',
      holds: new Set(assignablePermissions.filter(isReadPermission)),
    },
    {
      name: 'a restricted key',
      credential: keyCredential(restricted.secret),
      kind: 'restricted key',
      holds: new Set(),
    },
  ];
}

const held = new WeakMap<Site, Map<string, Promise<Caller[]>>>();

/** Made once for each site. */
function callersFor(site: Site, of: string, make: () => Promise<Caller[]>): Promise<Caller[]> {
  const callers = held.get(site) ?? new Map<string, Promise<Caller[]>>();
  held.set(site, callers);
  const made = callers.get(of) ?? make();
  callers.set(of, made);
  return made;
}

/**
 * Members whose own role has just the permission, everything else, or just what an operation that reads
 * records needs.
 */
async function customCallers(site: Site, permission: Permission, readsRecords: boolean): Promise<Caller[]> {
  const { ctx, organization } = site;
  const make = async (name: string, holds: readonly Permission[]): Promise<Caller> => {
    const member = await makeMember(ctx, organization.id, holds);
    const { secret } = await makeKey(ctx, organization.id, { permissions: ['write'], createdBy: member.id });
    return { name, credential: keyCredential(secret), kind: 'key', holds: new Set(holds) };
  };
  const others = assignablePermissions.filter((other) => other !== permission);
  return [
    await make('a role with just its permission', [permission]),
    await make('a role with all others', others),
    ...(readsRecords
      ? [await make('a role with its permission and record:read', [permission, 'record:read'])]
      : []),
  ];
}

/** The exact message of the 403; undefined if the caller is admitted. */
function findRefusal(route: Route, { kind, holds }: Caller): string | undefined {
  if (route.permission === 'any') return undefined;
  if (kind === 'restricted key')
    return 'A key restricted in what it reads may only call GET /whoami and mint and revoke its own tokens on the management interface';
  if (route.permission === 'authenticated') return undefined;
  if (route.permission === 'signed-in')
    return kind === 'key' ? 'Only a signed-in person may call this operation, not an API key' : undefined;
  const needed = [route.permission, ...(route.readsRecords === true ? ['record:read'] : [])];
  const missing = needed.find((permission) => !holds.has(permission));
  return missing === undefined ? undefined : `Missing required permission: ${missing}`;
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

async function listCallers(route: Route, site: Site): Promise<Caller[]> {
  const { permission, readsRecords = false } = route;
  const standard = await callersFor(site, '', () => standardCallers(site));
  if (!isRolePermission(permission)) return standard;
  const custom = await callersFor(site, `${permission} ${readsRecords}`, () =>
    customCallers(site, permission, readsRecords),
  );
  return [...standard, ...custom];
}

export async function rolesMatrix(walk: Walk, route: Route): Promise<string[]> {
  const found = walk.findBuilder(route);
  if (found === undefined) return [missingBuilder(route)];
  const { builder } = found;
  const problems: string[] = [];
  let site = await found.site();
  let callers = await listCallers(route, site);
  // A refused request changes nothing, so one serves all callers that are refused.
  let unused: Sent | undefined;
  for (let index = 0; index < callers.length; index += 1) {
    if (builder.destroys === true && index > 0) {
      site = await found.site();
      callers = await listCallers(route, site);
    }
    const caller = callers[index];
    if (caller === undefined) throw new Error('two sites have different callers');
    const isRefused = findRefusal(route, caller) !== undefined && builder.destroys !== true;
    const sent: Sent = isRefused && unused !== undefined ? unused : await builder.build(site);
    if (isRefused) unused = sent;
    const answer = await walk.send(route, sent, caller.credential);
    problems.push(
      ...cellProblems(route, caller, answer, builder.mayRefuse ?? []),
      ...answerProblems(walk, route, answer),
    );
  }
  return problems;
}
