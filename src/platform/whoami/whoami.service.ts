// The caller, their sessions and their organizations. An ended session is refused at its next request,
// because each request looks it up.
import type { CallerCtx, Principal, TenantCtx } from '../../core/ctx.ts';
import { type AppError, invalid, notFound } from '../../core/errors.ts';
import { allPermissions, type Permission, signUpPermission } from '../../core/permissions.ts';
import { instant } from '../../http/fields.ts';
import { findPage, type NamedPageQuery, type PageQuery, toPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { unauthorized } from '../../identity/principal.ts';
import {
  bindOrganization,
  inUserTransaction,
  listSessions,
  setActiveOrganization,
} from '../../identity/sessions.store.ts';
import { endSessions } from '../../identity/sign-in.ts';
import { findMemberships } from '../../identity/users.store.ts';
import { scopesView } from '../api-keys/resolve-scopes.ts';
import { readMetrics } from './whoami.store.ts';

/** A restricted key is often given to another company, which needs no address of the key's creator. */
function describeUser({ user, isRestrictedKey }: Principal) {
  if (!isRestrictedKey) return user;
  // People whose name isn't known have their address as name.
  return {
    ...user,
    email: null,
    name: user.name.toLowerCase() === user.email.toLowerCase() ? '' : user.name,
  };
}

async function readUsageMetrics(ctx: TenantCtx) {
  const { storage, activeUsers, activeVisitors, activeKeys, credits } = await readMetrics(ctx);
  const granted = ctx.settings.agentCreditsPerMonth;
  const { used, reserved, resetsAt } = credits;
  const agentCredits = {
    granted,
    used,
    remaining: Math.max(0, granted - used - reserved),
    resetsAt: instant(resetsAt),
  };
  return {
    ...{ monthlyActiveUsers: activeUsers, monthlyActiveVisitors: activeVisitors },
    ...{ storage, activeApiKeys: activeKeys, agentCredits },
  };
}

/** A key reads masked fields as they are by its scopes alone, whatever its creator may do. */
const canUse = ({ credential, reads }: Principal, permission: Permission): boolean =>
  permission !== 'unmasked:read' || credential.kind !== 'api-key' || reads.unmasked;

/** A caller for whom no organization is selected, and what to do about it. */
function describeUnselected({ settings, caller }: CallerCtx, refusal: AppError | undefined) {
  const { user, credential, readOnly, principal } = caller;
  const maySignUp = settings.allowSignup && credential.kind !== 'api-key' && !readOnly;
  const [reason] = refusal?.details ?? [];
  return {
    user: principal === undefined ? user : describeUser(principal),
    organization: null,
    membership: null,
    permissions: maySignUp ? [signUpPermission] : [],
    credential,
    scopes: null,
    metrics: null,
    nextStep: reason === undefined ? null : { code: reason.code, message: reason.message },
  };
}

/** Undefined for tokens and keys. */
const currentSession = ({ caller }: CallerCtx): string | undefined =>
  caller.credential.kind === 'session' ? caller.credential.id : undefined;

type Selection = { readonly from: string | null; readonly to: string };

/** Makes it the session's active one; the caller must be a member. Throws 401 when the session has ended. */
const selectOrganization = (ctx: CallerCtx, sessionId: string, organizationId: Selection): Promise<void> =>
  inUserTransaction(ctx, ctx.caller.user.id, async (tx) => {
    const { user, credential } = ctx.caller;
    if (!(await setActiveOrganization(tx, user.id, sessionId, organizationId.to))) throw unauthorized();
    await bindOrganization(tx, organizationId.to);
    const author = { ...ctx, organizationId: organizationId.to, principal: { user, credential } };
    const target = ['session', sessionId] as const;
    await writeAudit(tx, author, 'session.choose-organization', target, { organizationId });
  });

/** Also selects the organization left when the active one is gone. Throws 401 when the session has ended. */
export async function describeCaller(ctx: CallerCtx) {
  const { principal, refusal, writeRefusal } = ctx.caller;
  if (principal === undefined || refusal !== undefined) return describeUnselected(ctx, refusal);
  const { organization, role, permissions, credential, isRestrictedKey, reads } = principal;
  const [layer] = reads.layers;
  const session = currentSession(ctx);
  if (writeRefusal !== undefined && session !== undefined)
    await selectOrganization(ctx, session, { from: null, to: organization.id });
  return {
    user: describeUser(principal),
    organization,
    membership: { role },
    permissions: allPermissions.filter(
      (permission) => permissions.has(permission) && canUse(principal, permission),
    ),
    credential,
    scopes: layer === undefined ? null : { ...scopesView(layer), unmasked: reads.unmasked },
    metrics: isRestrictedKey ? null : await readUsageMetrics({ ...ctx, organizationId: organization.id }),
    nextStep: null,
  };
}

export async function listOwnSessions(ctx: CallerCtx, page: PageQuery) {
  const userId = ctx.caller.user.id;
  const { rows, total } = await inUserTransaction(ctx, userId, (tx) =>
    listSessions(tx, userId, page, ctx.settings.session),
  );
  const view = rows.map((row) => ({
    id: row.id,
    createdAt: instant(row.created_at),
    lastSeenAt: instant(row.last_seen_at),
    expiresAt: instant(row.expires_at),
    ip: row.ip,
    userAgent: row.user_agent,
    current: row.id === currentSession(ctx),
  }));
  return toPage(view, total, page);
}

/** Throws 404 when the caller has no such session. */
export async function endOwnSession(ctx: CallerCtx, id: string): Promise<void> {
  const ended = await endSessions(ctx, ctx.caller, { only: id }, ctx);
  if (ended.length === 0) throw notFound('Session');
}

export const endOtherSessions = async (ctx: CallerCtx): Promise<void> => {
  await endSessions(ctx, ctx.caller, { except: currentSession(ctx) ?? null }, ctx);
};

/** Newest first. An API key sees only its own organization. */
export async function listOwnOrganizations(ctx: CallerCtx, query: NamedPageQuery) {
  const { user, credential, principal } = ctx.caller;
  const own = principal === undefined ? [] : [{ organization: principal.organization, role: principal.role }];
  const all = credential.kind === 'api-key' ? own : (await findMemberships(ctx, user.id)).reverse();
  const shown = all.map(({ organization, role }) => ({
    ...organization,
    role: { id: role.id, name: role.name },
    active: organization.id === principal?.organization.id,
  }));
  return findPage(shown, query, ({ name }) => [name]);
}

/** Throws 422 without a session or when the caller is not a member, 401 when the session has ended. */
export async function chooseActiveOrganization(ctx: CallerCtx, organizationId: string) {
  const { user, principal, writeRefusal } = ctx.caller;
  const sessionId = currentSession(ctx);
  if (sessionId === undefined) {
    const reason = 'A token names its organization in the header x-organization-id';
    throw invalid('Only a session has an active organization', [
      { path: '', code: 'no_session', message: reason },
    ]);
  }
  const chosen = (await findMemberships(ctx, user.id)).find(
    ({ organization }) => organization.id === organizationId,
  );
  if (chosen === undefined)
    throw invalid('You are not a member of this organization', [
      { path: 'organizationId', code: 'not_a_member', message: 'Choose one of your own organizations' },
    ]);
  const from = writeRefusal === undefined ? (principal?.organization.id ?? null) : null;
  await selectOrganization(ctx, sessionId, { from, to: organizationId });
  return { organization: chosen.organization, role: { id: chosen.role.id, name: chosen.role.name } };
}
