// The caller, their sessions and their organizations. An ended session is refused at its next request, because each request looks it up.
import type { CallerCtx, Principal, RequestCtx } from '../../core/ctx.ts';
import { invalid, notFound } from '../../core/errors.ts';
import { allPermissions } from '../../core/permissions.ts';
import { instant } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { unauthorized } from '../../identity/principal.ts';
import { bindOrganization, inUserTransaction, listSessions, setActiveOrganization } from '../../identity/sessions.store.ts';
import { endSessions } from '../../identity/sign-in.ts';
import { findMemberships } from '../../identity/users.store.ts';
import { readMetrics } from './whoami.store.ts';

/** A restricted key is often given to another company, which needs no address of the person who created it. */
function describeUser({ user, isRestrictedKey }: Principal) {
  if (!isRestrictedKey) return user;
  // People whose name isn't known have their address as name.
  return { ...user, email: null, name: user.name.toLowerCase() === user.email.toLowerCase() ? '' : user.name };
}

export async function describeCaller(ctx: RequestCtx) {
  const { organization, role, permissions, credential } = ctx.principal;
  const { storage, activeUsers, activeKeys, credits } = await readMetrics(ctx);
  const granted = ctx.settings.agentCreditsPerMonth;
  const { used, reserved, resetsAt } = credits;
  const agentCredits = { granted, used, remaining: Math.max(0, granted - used - reserved), resetsAt: instant(resetsAt) };
  return {
    user: describeUser(ctx.principal),
    organization,
    membership: { role },
    credential,
    permissions: allPermissions.filter((permission) => permissions.has(permission)),
    metrics: { monthlyActiveUsers: activeUsers, storage, activeApiKeys: activeKeys, agentCredits },
  };
}

/** Undefined for tokens and keys. */
const currentSession = ({ caller }: CallerCtx): string | undefined =>
  caller.credential.kind === 'session' ? caller.credential.id : undefined;

export async function listOwnSessions(ctx: CallerCtx, page: PageQuery) {
  const userId = ctx.caller.user.id;
  const { rows, total } = await inUserTransaction(ctx, userId, (tx) => listSessions(tx, userId, page, ctx.settings.session));
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
export async function listOwnOrganizations(ctx: CallerCtx, page: PageQuery, q: string | undefined) {
  const { user, credential, principal } = ctx.caller;
  const own = principal === undefined ? [] : [{ organization: principal.organization, role: principal.role }];
  const all = credential.kind === 'api-key' ? own : (await findMemberships(ctx, user.id)).reverse();
  const found = q === undefined ? all : all.filter(({ organization }) => organization.name.toLowerCase().includes(q.toLowerCase()));
  const shown = found.slice((page.page - 1) * page.pageSize, page.page * page.pageSize).map(({ organization, role }) => ({
    ...organization,
    role: { id: role.id, name: role.name },
    active: organization.id === principal?.organization.id,
  }));
  return toPage(shown, found.length, page);
}

/** Throws 422 when the credential is not a session or the caller is not a member, 401 when the session has ended meanwhile. */
export async function chooseActiveOrganization(ctx: CallerCtx, organizationId: string) {
  const { user, credential, principal } = ctx.caller;
  const sessionId = currentSession(ctx);
  if (sessionId === undefined) {
    const reason = 'A token names its organization in the header x-organization-id';
    throw invalid('Only a session has an active organization', [{ path: '', code: 'no_session', message: reason }]);
  }
  const chosen = (await findMemberships(ctx, user.id)).find(({ organization }) => organization.id === organizationId);
  if (chosen === undefined)
    throw invalid('You are not a member of this organization', [
      { path: 'organizationId', code: 'not_a_member', message: 'See GET /whoami/organizations' },
    ]);
  await inUserTransaction(ctx, user.id, async (tx) => {
    if (!(await setActiveOrganization(tx, user.id, sessionId, organizationId))) throw unauthorized();
    await bindOrganization(tx, organizationId);
    const author = { organizationId, principal: { user, credential }, ip: ctx.ip, requestId: ctx.requestId, claim: ctx.claim };
    const changes = { organizationId: { from: principal?.organization.id ?? null, to: organizationId } };
    await writeAudit(tx, author, { action: 'session.choose-organization', target: { type: 'session', id: sessionId }, changes });
  });
  return { organization: chosen.organization, role: { id: chosen.role.id, name: chosen.role.name } };
}
