// Invites visitors by mail: one, or all customers of a view. The mail leads to the sign-in and carries no code.
import type { RequestCtx } from '../../core/ctx.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { countMailsInLastDay, enqueueMail, layoutMail, type NewMail } from '../../mail/index.ts';
import { readShownBranding } from './branding.service.ts';
import { invitationTexts } from './invitation-texts.ts';
import type { InvitationCounts, InvitationInput } from './invitations.schemas.ts';
import * as store from './invitations.store.ts';
import { findInvitee, findInvitees, type Invitees } from './invitees.ts';
import { findPortalSite } from './sites.store.ts';
import { getPortal } from './view-as.ts';
import type { Portal } from './visitor-scope.ts';

const maxPerCall = 5_000;
/** Mails of one transaction. */
const batchSize = 200;
const kind = 'portal-invitation';

/** How many mails the organization may still queue today, those of its subscriptions counted too. */
async function countMailsLeft(tx: Tx, ctx: RequestCtx): Promise<number> {
  const max = ctx.settings.mail.maxSubscriptionMailsPerDay;
  const invitations = await countMailsInLastDay(tx, ctx, kind, max);
  return Math.max(0, max - invitations - (await countMailsInLastDay(tx, ctx, 'subscription', max)));
}

type Plan = Omit<InvitationCounts, 'dryRun'> & { readonly emails: readonly string[] };

/** Whom of the addresses a mail would be sent to, in the order of the addresses. */
async function planMails(ctx: RequestCtx, { addresses, ...found }: Invitees, again: boolean): Promise<Plan> {
  const all = [...addresses.keys()].sort();
  const counts = { alreadySignedIn: 0, blocked: 0 };
  const waiting: string[] = [];
  for (let at = 0; at < all.length; at += 1_000) {
    const part = all.slice(at, at + 1_000);
    const rows = await inTransaction(ctx, (tx) => store.findKnown(tx, ctx.organizationId, part));
    const known = new Map(rows.map((row) => [row.email, row]));
    for (const email of part) {
      const { blocked, has_signed_in: hasSignedIn, is_recent: isRecent } = known.get(email) ?? {};
      if (blocked === true) counts.blocked += 1;
      else if (hasSignedIn === true) counts.alreadySignedIn += 1;
      if (blocked !== true && (again || (hasSignedIn !== true && isRecent !== true))) waiting.push(email);
    }
  }
  const left = await inTransaction(ctx, (tx) => countMailsLeft(tx, ctx));
  const emails = waiting.slice(0, Math.min(maxPerCall, left));
  const signedIn = again ? 0 : counts.alreadySignedIn;
  return {
    ...{ ...found, ...counts, addresses: all.length, invited: emails.length, emails },
    skipped: all.length - counts.blocked - signedIn - emails.length,
  };
}

type Letter = Pick<NewMail, 'subject' | 'text' | 'html' | 'fromName' | 'kind'>;

async function writeLetter(ctx: RequestCtx, { settings: { defaultLanguage } }: Portal): Promise<Letter> {
  const { slug, name } = ctx.principal.organization;
  const site = await findPortalSite(ctx, { slug });
  const hostname = site?.hostname ?? null;
  const base = hostname === null ? `${ctx.settings.publicUrl}/portal/${slug}` : `https://${hostname}`;
  const branding = await readShownBranding(ctx);
  const company = branding.name ?? name;
  const { host } = new URL(base);
  const texts = invitationTexts(defaultLanguage, { company, host });
  const { subject, title, paragraphs, action, openAddress, ignore, questions } = texts;
  const asking = branding.supportAddress === null ? [] : [`${questions} ${branding.supportAddress}`];
  const content = {
    language: { code: defaultLanguage, openAddress },
    accent: branding.accent ?? undefined,
    ...{ title, paragraphs, action: { label: action, url: `${base}/sign-in` }, notes: [...asking, ignore] },
  };
  return { kind, subject, fromName: branding.senderName ?? company, ...layoutMail(content) };
}

/** Queues the mails of one batch, and returns how many those are. */
async function queueBatch(
  tx: Tx,
  ctx: RequestCtx,
  letter: Letter,
  batch: readonly (readonly [email: string, writtenAs: string])[],
  again: boolean,
): Promise<number> {
  await store.lockInvitations(tx, ctx.organizationId);
  const allowed = batch.slice(0, await countMailsLeft(tx, ctx));
  const emails = allowed.map(([email]) => email);
  const claimed = await store.claimInvitations(tx, ctx.organizationId, emails, again);
  for (const [email, address] of allowed)
    if (claimed.has(email)) await enqueueMail(tx, ctx, { ...letter, to: { address } });
  return claimed.size;
}

/**
 * Throws 422 `portal_off`, `no_customer` for an address that no customer has, `unknown_view` for a view that the
 * caller may not see, and `no_customers` for one whose records name no customer. Without a dry run, each batch of
 * mails is a transaction: repeating a request that broke off invites the others.
 */
export async function inviteVisitors(ctx: RequestCtx, given: InvitationInput): Promise<InvitationCounts> {
  const { email, viewId, dryRun, again } = given;
  const portal = await getPortal(ctx);
  const invitees =
    email === undefined
      ? await findInvitees(ctx, portal, viewId ?? '')
      : await findInvitee(ctx, portal, email);
  const { emails, ...planned } = await planMails(ctx, invitees, again);
  if (dryRun) return { ...planned, dryRun };
  const letter = await writeLetter(ctx, portal);
  const mails = emails.map((one) => [one, invitees.addresses.get(one) ?? one] as const);
  let invited = 0;
  for (let at = 0; at === 0 || at < mails.length; at += batchSize) {
    invited += await inTransaction(ctx, async (tx) => {
      if (at === 0)
        await writeAudit(tx, ctx, 'portal.invite-visitors', ['portal-visitor', null], {
          ...(email === undefined ? { viewId } : { email }),
          again,
          ...planned,
        });
      return queueBatch(tx, ctx, letter, mails.slice(at, at + batchSize), again);
    });
  }
  return { ...planned, invited, skipped: planned.skipped + planned.invited - invited, dryRun };
}
