// Rules of links to views: who may create and revoke one, how long it works, and what it is restricted to.
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError, invalid, orNotFound } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import { createSecretToken, hashSecretToken } from '../../core/secrets/secret-token.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { linkPath } from '../../http/csv-link.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { type NamedPageQuery, viewPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { assertNotTransferredKey } from '../grant.ts';
import { assertQuota } from '../quotas.ts';
import { forAudit, getVisibleView } from '../views/views.service.ts';
import { resolveRows } from './link-rows.ts';
import type { NewViewLink, ViewLink } from './view-links.schemas.ts';
import * as store from './view-links.store.ts';

const dayMs = 86_400_000;
const defaultDays = 90;
const maxDays = 366;
const maxLinksOfView = 100;

const view = (row: store.LinkRow): ViewLink => ({
  id: row.id,
  viewId: row.view_id,
  name: row.name,
  rows: row.rows.map(({ field, in: values }) => ({ field, in: [...values] })),
  creator: { id: row.created_by, email: row.creator_email, name: row.creator_name },
  keyId: row.api_key_id,
  createdAt: instant(row.created_at),
  expiresAt: instant(row.expires_at),
  lastUsedAt: instantOrNull(row.last_used_at),
  uses: Number(row.uses),
});

/** Throws 422 for a time that has passed or is too far ahead. */
function chooseEnd({ clock }: RequestCtx, given: string | null): Date {
  const nowMs = clock.now().getTime();
  if (given === null) return new Date(nowMs + defaultDays * dayMs);
  const end = new Date(given);
  if (end.getTime() > nowMs && end.getTime() <= nowMs + maxDays * dayMs) return end;
  const message = `must lie in the future, at most ${maxDays} days from now`;
  throw invalid('The link cannot end then', [{ path: 'expiresAt', code: 'out_of_range', message }]);
}

/** Throws 404 for a view that the caller may not see. */
export const listLinks = (ctx: RequestCtx, viewId: string, page: NamedPageQuery) =>
  inTransaction(ctx, async (tx) => {
    await getVisibleView(tx, ctx, viewId);
    return viewPage(await store.listLinkRows(tx, ctx.organizationId, viewId, page), page, view);
  });

/** Of all views, also of those that the caller doesn't see. */
export const listAllLinks = (ctx: RequestCtx, page: NamedPageQuery) =>
  inTransaction(ctx, async (tx) =>
    viewPage(await store.listLinkRows(tx, ctx.organizationId, null, page), page, view),
  );

/** Throws 422 `limit_reached` when the organization or the view has too many. */
async function assertRoom(tx: Tx, ctx: RequestCtx, viewId: string): Promise<void> {
  await assertQuota(tx, ctx, 'viewLinks');
  if ((await store.countLinks(tx, ctx.organizationId, viewId)) < maxLinksOfView) return;
  const message = `A view may have at most ${maxLinksOfView} links. Revoke one first.`;
  throw invalid('Quota exceeded', [{ path: '', code: 'limit_reached', message }]);
}

/**
 * `url` is known here alone. Throws 404 for a view that the caller may not see, 403 `handed_over`, 422 for the end, the rows, and at the quotas.
 */
export async function createLink(
  ctx: RequestCtx,
  viewId: string,
  { name, expiresAt, rows: given, raw }: NewViewLink,
) {
  assertNotTransferredKey(ctx);
  const end = chooseEnd(ctx, expiresAt);
  const seen = await inTransaction(ctx, (tx) => getVisibleView(tx, ctx, viewId));
  const rows = await resolveRows(ctx, seen, given);
  const [id, token] = [createId(), createSecretToken()];
  const { user, credential } = ctx.principal;
  return inTransaction(ctx, async (tx) => {
    const shown = await getVisibleView(tx, ctx, viewId);
    await assertRoom(tx, ctx, viewId);
    await store.insertLink(tx, ctx.organizationId, {
      ...{ id, view_id: viewId, name: name ?? shown.name, expires_at: end, created_by: user.id },
      api_key_id: credential.kind === 'api-key' ? credential.id : null,
      token_hash: hashSecretToken(token),
      secret_mark:
        credential.secretMark === undefined ? null : Buffer.from(credential.secretMark, 'base64url'),
      rows: JSON.stringify(rows),
    });
    const row = orNotFound(await store.findLinkRow(tx, ctx.organizationId, viewId, id), 'Link');
    const { creator: _creator, viewId: _viewId, ...made } = view(row);
    await writeAudit(tx, ctx, 'view-link.create', ['view-link', id], { viewId, ...forAudit(shown, made) });
    return { ...view(row), url: `${ctx.settings.publicUrl}${linkPath(token)}${raw ? '?raw=true' : ''}` };
  });
}

/** Throws 404 when there is no such link for the caller, 403 `link_creator_needed`. */
export const revokeLink = (ctx: RequestCtx, viewId: string, id: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const { organizationId, principal } = ctx;
    const row = orNotFound(await store.findLinkRow(tx, organizationId, viewId, id), 'Link');
    if (row.created_by !== principal.user.id && !principal.permissions.has('member:update')) {
      await getVisibleView(tx, ctx, viewId);
      const message = 'Ask its creator, or someone with the permission member:update';
      throw new AppError('FORBIDDEN', 'Only its creator can revoke a link', {
        details: [{ path: '', code: 'link_creator_needed', message }],
      });
    }
    orNotFound((await store.deleteLink(tx, organizationId, id)) === 0 ? undefined : row, 'Link');
    await writeAudit(tx, ctx, 'view-link.revoke', ['view-link', id], { viewId });
  });
