// Sign-in of visitors with a mailed code, by the machinery of members' sign-in. Known and unknown addresses get the
// same response, at the same speed: who is known is looked up behind it.
import type { Ctx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import { inTransaction } from '../db/transaction.ts';
import { type Author, writeAudit } from '../identity/audit.store.ts';
import {
  type CodeAudience,
  findMailAttempt,
  type StartedCode,
  startWithCode,
  type VerifiedCode,
  verifyCode,
} from '../identity/mailed-code.ts';
import { type ClientInfo, resolveReturnUrl } from '../identity/sign-in.ts';
import { describeBrowser, type SendCodeMail, shownCode } from '../mail/index.ts';
import {
  assertPeopleKnown,
  findPerson,
  type Portal,
  type PortalCtx,
  readShownBranding,
  recordVisitorSignIn,
} from '../platform/index.ts';
import { toBrand } from './brand.ts';
import type { LoadRenderer } from './renderer.ts';
import { deleteHeld, insertSession, recordActivity } from './sessions.store.ts';
import type { Site } from './sites.ts';
import type { FormProblem, Language } from './view-model.ts';
import { getPortal } from './visit.ts';

/** Of one organization: more sign-ins than in the busiest hour of a large one. */
const mailsPerHour = 3_000;
export const daySeconds = 86_400;

const toAudience = ({ organizationId }: Site): CodeAudience => ({
  name: `portal ${organizationId}`,
  mailsPerHour,
});

/** The absolute address of a page of this portal; its home for an address of anything else. */
export function resolvePage({ origin, base }: Site, returnTo: string): string {
  const home = `${origin}${base}/`;
  try {
    const target = resolveReturnUrl(returnTo, origin);
    return target.startsWith(home) || target === `${origin}${base}` ? target : home;
  } catch {
    return home;
  }
}

export const findAttempt = (ctx: Ctx, site: Site, cookies: readonly string[]) =>
  findMailAttempt(ctx, cookies, toAudience(site));

type Asked = {
  readonly email: string;
  readonly returnTo: string;
  readonly browsers: readonly string[];
  readonly network: string;
};

/** Starts an attempt. Rejects with 503 while the ERP doesn't say who is a visitor, and as `startWithCode` does. */
export async function askForCode(
  ctx: PortalCtx,
  { site, portal }: Pick<Delivery, 'site' | 'portal'>,
  { returnTo, ...asked }: Asked,
): Promise<StartedCode> {
  await assertPeopleKnown(ctx, portal);
  return startWithCode(ctx, { ...asked, returnTo: resolvePage(site, returnTo) }, toAudience(site));
}

type Delivery = {
  readonly site: Site;
  readonly portal: Portal;
  readonly started: StartedCode;
  readonly userAgent: string | null;
  readonly language: Language;
  readonly send: SendCodeMail;
  readonly loadRenderer: LoadRenderer;
};

/** Sends the mail in the background, to the address that the ERP or a member of the organization entered. */
export function deliverCode(ctx: PortalCtx, delivery: Delivery): void {
  const { site, portal, started, userAgent, language, send, loadRenderer } = delivery;
  const requestedAt = ctx.clock.now();
  const work = ctx.work.track('code-mails', async (stop) => {
    const { customers, writtenAs } = await findPerson(ctx, portal, started.email);
    if (customers.length === 0) return;
    const browser = describeBrowser(userAgent);
    const branding = await readShownBranding(ctx);
    const { name: company } = toBrand(site, branding);
    const { codeMailTexts } = await loadRenderer();
    const { subject, title, says, action, openAddress, notes } = codeMailTexts(language, {
      company,
      browser,
      requestedAt,
    });
    const url = `${site.origin}${site.base}/code?request=${started.id}`;
    const content = {
      language: { code: language, openAddress },
      accent: branding.accent ?? undefined,
      ...{ title, paragraphs: [says], code: shownCode(started.code), action: { label: action, url }, notes },
    };
    const to = { address: writtenAs, name: '' };
    await send(ctx, { to, fromName: branding.senderName ?? company, subject, content, requestedAt }, stop);
  });
  work.catch((error: unknown) => ctx.log.warn({ err: error }, 'a sign-in code could not be mailed'));
}

export const noCustomer = (): AppError =>
  new AppError('FORBIDDEN', 'No customer has this address', {
    details: [{ path: '', code: 'no_customer', message: 'Ask the company that runs the portal' }],
  });

export const visitorAuthor = (
  { organizationId }: Site,
  email: string,
  sessionId: string,
  { ip, requestId }: Pick<ClientInfo, 'ip' | 'requestId'>,
): Author => ({
  ...{ organizationId, ip, requestId },
  principal: { user: { id: null, email }, credential: { kind: 'visitor', id: sessionId } },
});

type Finished = Pick<VerifiedCode, 'email' | 'returnTo' | 'browser'> & {
  readonly token: string;
  readonly lifetimeSeconds: number;
};

/**
 * Signs the visitor in with the code, and ends the sessions that the browser held. Rejects with 403 `no_customer`
 * when the address has no customer any more, and as `verifyCode` does.
 */
export async function finishSignIn(
  ctx: PortalCtx,
  site: Site,
  given: { readonly code: string; readonly cookies: readonly string[]; readonly sessions: readonly string[] },
  client: ClientInfo,
): Promise<Finished> {
  const portal = await getPortal(ctx);
  const { email, returnTo, browser } = await verifyCode(ctx, given, toAudience(site));
  const { customers } = await findPerson(ctx, portal, email);
  if (customers.length === 0) throw noCustomer();
  const lifetimeSeconds = portal.settings.signInLifetimeDays * daySeconds;
  const token = await startSession(ctx, site, { email, sessions: given.sessions, lifetimeSeconds }, client);
  return { token, email, returnTo, browser, lifetimeSeconds };
}

type Starting = {
  readonly email: string;
  readonly sessions: readonly string[];
  readonly lifetimeSeconds: number;
};

/** Returns the token of a new session. */
export const startSession = (
  ctx: PortalCtx,
  site: Site,
  { email, sessions, lifetimeSeconds }: Starting,
  client: ClientInfo,
): Promise<string> =>
  inTransaction(ctx, async (tx) => {
    await deleteHeld(tx, site.organizationId, sessions);
    const previous = await recordVisitorSignIn(tx, site.organizationId, email);
    await recordActivity(tx, site.organizationId, email);
    const { id, token } = await insertSession(tx, site, {
      ...{ email, customer: null, viewer_id: null, previous_visit_at: previous },
      ...{ ip: client.ip, userAgent: client.userAgent, lifetimeSeconds },
    });
    await writeAudit(tx, visitorAuthor(site, email, id, client), 'visitor.sign-in', ['portal-session', id]);
    return token;
  });

const problemCodes: Readonly<Record<string, FormProblem['code']>> = {
  sign_in_expired: 'expired',
  wrong_code: 'wrong_code',
  code_used_up: 'code_used_up',
  too_many: 'too_many',
};

/** What a form says of an error; undefined for one that isn't about what was typed. */
export function toFormProblem({ status, details, headers, cause }: AppError): FormProblem | undefined {
  const [detail] = details;
  if (status === 422) return { code: detail?.path === 'code' ? 'no_code' : 'no_address' };
  const code = problemCodes[detail?.code ?? ''];
  if (code === undefined) return status === 429 ? { code: 'too_many', minutes: 1 } : undefined;
  if (code === 'too_many') {
    const seconds = Number(headers['Retry-After'] ?? 60);
    return { code, minutes: Math.max(1, Math.ceil(seconds / 60)) };
  }
  const { triesLeft } = (cause ?? {}) as { readonly triesLeft?: number };
  return triesLeft === undefined ? { code } : { code, tries: triesLeft };
}
