// How the portal looks: what may be stored, and what the pages show of it.
import { contrastOf, darkenForWhite, minTextContrast, white } from '../../core/contrast.ts';
import type { RequestCtx, TenantCtx } from '../../core/ctx.ts';
import { invalid } from '../../core/errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instantOrNull } from '../../http/fields.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import type { BrandingInput, BrandingSettings } from './branding.schemas.ts';
import * as store from './branding.store.ts';
import { readLogo } from './logo.ts';
import { staleRevision } from './revisions.ts';

const unset: BrandingSettings = {
  name: null,
  accent: null,
  supportAddress: null,
  legalLinks: [],
  senderName: null,
  postalAddress: null,
  documentNote: null,
};

const toLogo = (row: store.BrandingRow | undefined) =>
  row === undefined || row.logo_type === null
    ? null
    : {
        contentType: row.logo_type,
        bytes: row.logo_bytes ?? 0,
        width: row.logo_width,
        height: row.logo_height,
      };

const view = (row: store.BrandingRow | undefined) => ({
  ...unset,
  ...row?.settings,
  logo: toLogo(row),
  revision: row?.revision ?? 0,
  updatedAt: instantOrNull(row?.updated_at ?? null),
});

export const getBranding = (ctx: RequestCtx) =>
  inTransaction(ctx, async (tx) => view(await store.findBranding(tx, ctx.organizationId)));

/** Links and buttons are the accent on white, and white on the accent. */
function assertReadable(accent: string | null): void {
  if (accent === null || contrastOf(accent, white) >= minTextContrast) return;
  const contrast = (Math.floor(contrastOf(accent, white) * 10) / 10).toFixed(1);
  const message = `The contrast of ${accent} with white is ${contrast}, and must be at least ${minTextContrast}: the nearest colour that has it is ${darkenForWhite(accent)}`;
  throw invalid('The accent can not be read on white', [{ path: 'accent', code: 'low_contrast', message }]);
}

async function save(
  tx: Tx,
  ctx: RequestCtx,
  change: Parameters<typeof store.saveBranding>[2],
  expected: number | undefined,
): Promise<void> {
  const revision = await store.saveBranding(tx, ctx.organizationId, change, expected);
  if (revision === undefined) {
    const current = (await store.findBranding(tx, ctx.organizationId))?.revision ?? 0;
    throw staleRevision('The branding has changed in the meantime', `The branding is at revision ${current}`);
  }
  const { settings, logo } = change;
  const changes = {
    ...{ revision, ...settings },
    ...(logo !== undefined && { logo: logo === null ? 'removed' : logo.contentType }),
  };
  await writeAudit(tx, ctx, 'portal.update-branding', ['portal-branding', null], changes);
}

/**
 * Throws 422 `low_contrast` for an accent that can't be read on white, `unreadable_logo` for a file that is no
 * logo, and `stale_revision` when the branding is not at the given revision.
 */
export async function putBranding(ctx: RequestCtx, { revision, logo: file, ...settings }: BrandingInput) {
  assertReadable(settings.accent);
  const logo = file == null ? file : await readLogo(file);
  return inTransaction(ctx, async (tx) => {
    await save(tx, ctx, { settings, logo }, revision);
    return view(await store.findBranding(tx, ctx.organizationId));
  });
}

/** What the pages and mails of the portal show. */
export type ShownBranding = BrandingSettings & { readonly revision: number; readonly hasLogo: boolean };
export const withoutBranding: ShownBranding = { ...unset, revision: 0, hasLogo: false };

type ShownRow = Pick<store.BrandingRow, 'settings' | 'revision' | 'logo_type'>;
export const toShownBranding = (row: ShownRow | undefined): ShownBranding =>
  row === undefined
    ? withoutBranding
    : { ...unset, ...row.settings, revision: row.revision, hasLogo: row.logo_type !== null };

export const readShownBranding = (ctx: TenantCtx): Promise<ShownBranding> =>
  inTransaction(ctx, async (tx) => toShownBranding(await store.findBranding(tx, ctx.organizationId)));

/** The logo of this revision of the branding; undefined for another one, and without a logo. */
export const readShownLogo = (ctx: TenantCtx, revision: number): Promise<store.LogoRow | undefined> =>
  inTransaction(ctx, (tx) => store.findLogo(tx, ctx.organizationId, revision));
