// Domains of an organization. Adding one reveals nothing about other organizations: only callers who prove
// control of the DNS learn that the hostname is taken. No transaction is open during DNS lookups.
import { randomBytes } from 'node:crypto';
import { domainToASCII } from 'node:url';
import type { RequestCtx, TenantCtx } from '../../core/ctx.ts';
import { invalid, orNotFound } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import { violatesConstraint } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { resolveTxt, type TxtAnswer } from '../../gateways/dns.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { type PageQuery, viewPage } from '../../http/page.ts';
import { type Author, writeAudit } from '../../identity/audit.store.ts';
import { assertQuota } from '../quotas.ts';
import { getterOf } from '../rows.ts';
import {
  challengeName,
  type DomainVerdict,
  decideVerdict,
  isOwnHost,
  nextCheckMs,
  ownHost,
  takenElsewhere,
} from './domain-verdict.ts';
import type { Domain, DomainPatch } from './domains.schemas.ts';
import * as store from './domains.store.ts';
import { parseHostname } from './hostname.ts';

const view = (row: store.DomainRow): Domain => ({
  id: row.id,
  hostname: row.hostname,
  status: row.status,
  verification: { type: 'TXT', name: challengeName(row.hostname), value: row.verification_value },
  isPrimary: row.is_primary,
  verifiedAt: instantOrNull(row.verified_at),
  lastCheckedAt: instantOrNull(row.last_checked_at),
  lastError: row.last_error,
  missingSince: instantOrNull(row.missing_since),
  createdAt: instant(row.created_at),
});

const getRow = getterOf(store.findDomain, 'Domain');

/** Hostnames are stored in punycode, so search texts in other scripts are converted too. */
const toSearchText = (q: string): string =>
  /^[\x20-\x7e]*$/.test(q) ? q.toLowerCase() : domainToASCII(q) || q.toLowerCase();

export const listDomains = (ctx: RequestCtx, page: PageQuery, { q, status }: store.DomainFilter) =>
  inTransaction(ctx, async (tx) => {
    const filter = { q: q === undefined ? undefined : toSearchText(q), status };
    return viewPage(await store.listDomainRows(tx, ctx.organizationId, page, filter), page, view);
  });

/** Throws 404 for an unknown domain. */
export const getDomain = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => view(await getRow(tx, ctx, id)));

const hostnameProblem = (message: string, code: string, detail: string) =>
  invalid(message, [{ path: 'hostname', code, message: detail }]);

/** Throws 422 for an invalid hostname, `own_host`, `duplicate`, or `limit_reached` at the quota. */
export async function createDomain(ctx: RequestCtx, given: string) {
  const read = parseHostname(given);
  if ('problem' in read)
    throw hostnameProblem('This hostname cannot be added', read.problem.code, read.problem.message);
  const { hostname } = read;
  if (isOwnHost(ctx.settings, hostname))
    throw hostnameProblem(
      'This hostname cannot be added',
      'own_host',
      'is the hostname of the service itself: choose another one',
    );
  const id = createId();
  try {
    return await inTransaction(ctx, async (tx) => {
      await store.lockOrganizationDomains(tx, ctx.organizationId);
      await assertQuota(tx, ctx, 'domains');
      const value = `portal-verification=${randomBytes(16).toString('hex')}`;
      await store.insertDomain(
        tx,
        ctx.organizationId,
        { id, hostname, verification_value: value },
        nextCheckMs(0),
      );
      await writeAudit(tx, ctx, 'domain.create', ['domain', id], { hostname });
      return view(await getRow(tx, ctx, id));
    });
  } catch (error) {
    if (violatesConstraint(error, 'hostname_is_unique_in_organization'))
      throw hostnameProblem(
        'The organization already has this domain',
        'duplicate',
        'is already one of your domains',
      );
    throw error;
  }
}

const notVerified = () =>
  invalid('Only a verified domain can be the primary one', [
    { path: 'isPrimary', code: 'not_verified', message: 'Verify the domain first' },
  ]);

/** Throws 404, 422 `not_verified` when it is to become primary without being verified. */
export const updateDomain = (ctx: RequestCtx, id: string, change: DomainPatch) =>
  inTransaction(ctx, async (tx) => {
    await store.lockOrganizationDomains(tx, ctx.organizationId);
    const row = await getRow(tx, ctx, id);
    let former: string | null = null;
    if (change.isPrimary === true) {
      if (row.status !== 'verified') throw notVerified();
      former = await store.unsetPrimary(tx, ctx.organizationId);
      await store.setPrimary(tx, ctx.organizationId, id);
    } else if (change.isPrimary === false && row.is_primary) {
      former = await store.unsetPrimary(tx, ctx.organizationId);
    }
    const changes = {
      ...change,
      ...(former !== null && former !== row.hostname && { formerPrimary: former }),
    };
    await writeAudit(tx, ctx, 'domain.update', ['domain', id], changes);
    return view(await getRow(tx, ctx, id));
  });

/** Other organizations can verify the hostname afterwards. Throws 404 for an unknown domain. */
export const deleteDomain = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    const row = orNotFound(await store.lockDomain(tx, ctx.organizationId, id), 'Domain');
    await store.deleteDomainRow(tx, ctx.organizationId, id);
    const changes = { hostname: row.hostname, status: row.status, isPrimary: row.is_primary };
    await writeAudit(tx, ctx, 'domain.delete', ['domain', id], changes);
  });

/** A unique constraint lets only one organization verify a hostname; for a second one the domain fails. */
async function saveVerdict(tx: Tx, ctx: TenantCtx, id: string, verdict: DomainVerdict): Promise<void> {
  try {
    await tx.transaction((point) => store.saveCheck(point, ctx.organizationId, id, verdict));
  } catch (error) {
    if (!violatesConstraint(error, 'verified_hostname_has_one_organization')) throw error;
    await store.saveCheck(tx, ctx.organizationId, id, takenElsewhere);
  }
}

/** What a background check saw of the domain before its DNS lookup. */
export type SeenDomain = Pick<store.DomainRow, 'status' | 'last_checked_at'>;

const isUnchanged = (row: SeenDomain, seen: SeenDomain): boolean =>
  row.status === seen.status && row.last_checked_at?.getTime() === seen.last_checked_at?.getTime();

/**
 * Saves the result of a DNS lookup, decided on the row as it is after the lookup. Undefined when the domain
 * was deleted, or when it was checked by someone else since a background check saw it.
 */
export const recordCheck = (
  ctx: TenantCtx,
  author: Author,
  id: string,
  answer: TxtAnswer,
  seen?: SeenDomain,
) =>
  inTransaction(ctx, async (tx) => {
    const before = await store.lockDomain(tx, ctx.organizationId, id);
    if (before === undefined || (seen !== undefined && !isUnchanged(before, seen))) return undefined;
    const verdict = isOwnHost(ctx.settings, before.hostname) ? ownHost : decideVerdict(before, answer);
    await saveVerdict(tx, ctx, id, verdict);
    const after = await getRow(tx, ctx, id);
    if (seen === undefined || after.status !== before.status) {
      const changes = {
        hostname: after.hostname,
        status: after.status,
        lastError: after.last_error,
        ...(before.is_primary && !after.is_primary && { isPrimary: false }),
      };
      await writeAudit(tx, author, 'domain.verify', ['domain', id], changes);
    }
    return view(after);
  });

/** Looks up the TXT record now. Throws 404 for an unknown domain. */
export async function verifyDomain(ctx: RequestCtx, id: string) {
  const { hostname } = await getDomain(ctx, id);
  const answer = await resolveTxt(ctx.settings, challengeName(hostname));
  return orNotFound(await recordCheck(ctx, ctx, id, answer), 'Domain');
}
