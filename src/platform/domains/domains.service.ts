// Rules of domains. Adding one tells nothing about other organizations: only who proves control of the DNS learns that the
// hostname is taken. No transaction is open while the DNS is asked.
import { randomBytes } from 'node:crypto';
import { domainToASCII } from 'node:url';
import type { RequestCtx, TenantCtx } from '../../core/ctx.ts';
import { invalid, notFound } from '../../core/errors.ts';
import { newId } from '../../core/id.ts';
import { violates } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { lookUpTxt, type TxtAnswer } from '../../gateways/dns.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import { type Author, writeAudit } from '../../identity/audit.store.ts';
import { makeRoom } from '../room.ts';
import { challengeName, judge, nextCheckMs, takenElsewhere, type Verdict } from './check.ts';
import type { DomainChanges, DomainView } from './domains.schemas.ts';
import {
  type DomainFilter,
  type DomainRow,
  deleteDomain,
  findDomain,
  insertDomain,
  listDomains,
  lockDomain,
  lockDomainsOf,
  setPrimary,
  unsetPrimary,
  updateChecked,
} from './domains.store.ts';
import { readHostname } from './hostname.ts';

const view = (row: DomainRow): DomainView => ({
  id: row.id,
  hostname: row.hostname,
  status: row.status,
  verification: { type: 'TXT', name: challengeName(row.hostname), value: row.verification_value },
  isPrimary: row.is_primary,
  verifiedAt: instantOrNull(row.verified_at),
  lastCheckedAt: instantOrNull(row.last_checked_at),
  lastError: row.last_error,
  createdAt: instant(row.created_at),
});

async function getRow(tx: Tx, ctx: TenantCtx, id: string): Promise<DomainRow> {
  const row = await findDomain(tx, ctx.organizationId, id);
  if (row === undefined) throw notFound('Domain');
  return row;
}

/** Hostnames are kept in punycode, so a search in another script is too. */
const searched = (q: string): string => (/^[\x20-\x7e]*$/.test(q) ? q.toLowerCase() : domainToASCII(q) || q.toLowerCase());

export const listOwnDomains = (ctx: RequestCtx, page: PageQuery, { q, status }: DomainFilter) =>
  inTransaction(ctx, async (tx) => {
    const { rows, total } = await listDomains(tx, ctx.organizationId, page, { q: q === undefined ? undefined : searched(q), status });
    return toPage(rows.map(view), total, page);
  });

export const getDomain = (ctx: RequestCtx, id: string) => inTransaction(ctx, async (tx) => view(await getRow(tx, ctx, id)));

const hostnameProblem = (message: string, code: string, detail: string) => invalid(message, [{ path: 'hostname', code, message: detail }]);

export async function createDomain(ctx: RequestCtx, given: string) {
  const read = readHostname(given);
  if ('problem' in read) throw hostnameProblem('This hostname can not be added', read.problem.code, read.problem.message);
  const { hostname } = read;
  const id = newId();
  try {
    return await inTransaction(ctx, async (tx) => {
      await lockDomainsOf(tx, ctx.organizationId);
      await makeRoom(tx, ctx, 'domains');
      const value = `portal-verification=${randomBytes(16).toString('hex')}`;
      await insertDomain(tx, ctx.organizationId, { id, hostname, verification_value: value }, nextCheckMs(0));
      await writeAudit(tx, ctx, { action: 'domain.create', target: { type: 'domain', id }, changes: { hostname } });
      return view(await getRow(tx, ctx, id));
    });
  } catch (error) {
    if (violates(error, 'hostname_is_unique_in_organization'))
      throw hostnameProblem('The organization has this domain already', 'duplicate', 'is among your domains already');
    throw error;
  }
}

const notVerified = () =>
  invalid('Only a verified domain can be the primary one', [
    { path: 'isPrimary', code: 'not_verified', message: 'Verify the domain first' },
  ]);

export const changeDomain = (ctx: RequestCtx, id: string, change: DomainChanges) =>
  inTransaction(ctx, async (tx) => {
    await lockDomainsOf(tx, ctx.organizationId);
    const row = await getRow(tx, ctx, id);
    let former: string | null = null;
    if (change.isPrimary === true) {
      if (row.status !== 'verified') throw notVerified();
      former = await unsetPrimary(tx, ctx.organizationId);
      await setPrimary(tx, ctx.organizationId, id);
    } else if (change.isPrimary === false && row.is_primary) {
      former = await unsetPrimary(tx, ctx.organizationId);
    }
    const changes = { ...change, ...(former !== null && former !== row.hostname && { formerPrimary: former }) };
    await writeAudit(tx, ctx, { action: 'domain.update', target: { type: 'domain', id }, changes });
    return view(await getRow(tx, ctx, id));
  });

/** Whatever names the hostname elsewhere stops matching; the hostname is free for others again. */
export const removeDomain = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    const row = await lockDomain(tx, ctx.organizationId, id);
    if (row === undefined) throw notFound('Domain');
    await deleteDomain(tx, ctx.organizationId, id);
    const changes = { hostname: row.hostname, status: row.status, isPrimary: row.is_primary };
    await writeAudit(tx, ctx, { action: 'domain.delete', target: { type: 'domain', id }, changes });
  });

/** Writes the verdict; the database lets one organization alone verify a hostname, however many prove control of it at once. */
async function writeVerdict(tx: Tx, ctx: TenantCtx, id: string, verdict: Verdict): Promise<void> {
  try {
    await tx.transaction((point) => updateChecked(point, ctx.organizationId, id, verdict));
  } catch (error) {
    if (!violates(error, 'verified_hostname_has_one_organization')) throw error;
    await updateChecked(tx, ctx.organizationId, id, takenElsewhere);
  }
}

/** Judged by the row as it is after the look-up; undefined when it is gone, or when the background comes too late to matter. */
export const settle = (ctx: TenantCtx, author: Author, id: string, answer: TxtAnswer, by: 'request' | 'background') =>
  inTransaction(ctx, async (tx) => {
    const before = await lockDomain(tx, ctx.organizationId, id);
    if (before === undefined || (by === 'background' && before.status !== 'pending')) return undefined;
    await writeVerdict(tx, ctx, id, judge(before, answer));
    const after = await getRow(tx, ctx, id);
    if (by === 'request' || after.status !== before.status) {
      const changes = { hostname: after.hostname, status: after.status, lastError: after.last_error };
      await writeAudit(tx, author, { action: 'domain.verify', target: { type: 'domain', id }, changes });
    }
    return view(after);
  });

export async function verifyDomain(ctx: RequestCtx, id: string) {
  const { hostname } = await getDomain(ctx, id);
  const answer = await lookUpTxt(ctx.settings, challengeName(hostname));
  const domain = await settle(ctx, ctx, id, answer, 'request');
  if (domain === undefined) throw notFound('Domain');
  return domain;
}
