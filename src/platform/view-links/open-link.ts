// Reads a view by a link: with what rights the creator of the link has at that time, and masked as for mails.
import type { ReadingCtx, TenantCtx } from '../../core/ctx.ts';
import { hashSecretToken, secretTokenPattern } from '../../core/secrets/secret-token.ts';
import { chooseWarehouse } from '../../db/former-warehouse.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import type { FoundLink } from '../../http/csv-link.ts';
import { allRows, type CallerRights } from '../../public/index.ts';
import { findRights } from '../current-rights.ts';
import { openFileOfView } from '../views/views.service.ts';
import { findVisibleView, type ViewRow } from '../views/views.store.ts';
import { assertRowsUnmasked } from './link-rows.ts';
import { findLinkByHash, findOrganizationOfLink, type LinkRow } from './view-links.store.ts';

/** The view, while the creator of the link may see it and read records. */
async function findViewOfCreator(tx: Tx, organizationId: string, link: LinkRow) {
  const { created_by: userId, api_key_id: keyId } = link;
  const credential =
    keyId === null ? ({ kind: 'oauth', id: userId } as const) : ({ kind: 'api-key', id: keyId } as const);
  const { permissions } = (await findRights(tx, organizationId, userId, credential)) ?? {};
  if (permissions?.has('view:read') !== true || !permissions.has('record:read')) return undefined;
  const viewer = { userId, managesOrphans: permissions.has('member:update') };
  return findVisibleView(tx, organizationId, viewer, link.view_id);
}

/** Whatever the creator reads: masked, and the records of the link alone. */
const toRights = ({ rows }: Pick<LinkRow, 'rows'>): CallerRights => ({
  ...allRows({ unmasked: false }),
  ...(rows.length > 0 && { rows }),
});

type Found = { readonly ctx: ReadingCtx & TenantCtx; readonly link: LinkRow; readonly view: ViewRow };

async function findReadable(base: ReadingCtx, hash: Buffer): Promise<Found | undefined> {
  const organizationId = await findOrganizationOfLink(base.db.control, hash);
  if (organizationId === undefined) return undefined;
  const ctx = { ...base, organizationId, db: chooseWarehouse(base.db, organizationId) };
  return inTransaction(ctx, async (tx) => {
    const link = await findLinkByHash(tx, organizationId, hash);
    if (link === undefined || link.expires_at <= base.clock.now()) return undefined;
    const view = await findViewOfCreator(tx, organizationId, link);
    return view && { ctx, link, view };
  });
}

/** Undefined for a link that does not work, for whatever reason. Its `open` throws as a download of the view does. */
export async function findLink(base: ReadingCtx, token: string): Promise<FoundLink | undefined> {
  if (!secretTokenPattern.test(token)) return undefined;
  const hash = hashSecretToken(token);
  const found = await findReadable(base, hash);
  if (found === undefined) return undefined;
  const { ctx, link, view } = found;
  return {
    id: link.id,
    organizationId: ctx.organizationId,
    open: async (raw, left) => {
      const ended = new AbortController();
      const signal = AbortSignal.any([left, ended.signal]);
      const file = await openFileOfView(ctx, view, toRights(link), raw ? 'raw-csv' : 'csv', signal);
      // It may have waited for its turn: what counts are the rights of the state that it reads.
      const mayRead = async () => {
        await assertRowsUnmasked(ctx, view, link.rows);
        return (await findReadable(base, hash)) !== undefined;
      };
      try {
        if (await mayRead()) return file;
      } catch (error) {
        ended.abort();
        throw error;
      }
      ended.abort();
      return undefined;
    },
  };
}
