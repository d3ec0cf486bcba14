// The row of portal_branding that an organization has once it has stored its branding.
import type { Tx } from '../../db/transaction.ts';
import type { BrandingSettings } from './branding.schemas.ts';
import type { Picture } from './logo-picture.ts';
import { saveRevision } from './revisions.ts';

export type BrandingRow = {
  readonly settings: BrandingSettings;
  readonly logo_type: Picture['contentType'] | null;
  readonly logo_bytes: number | null;
  readonly logo_width: number | null;
  readonly logo_height: number | null;
  readonly revision: number;
  readonly updated_at: Date;
};

/** Without the bytes of the logo. */
export const findBranding = async (tx: Tx, organizationId: string): Promise<BrandingRow | undefined> =>
  tx('portal_branding')
    .where('organization_id', organizationId)
    .first<BrandingRow | undefined>(
      'settings',
      'logo_type',
      tx.raw('octet_length(logo) as logo_bytes'),
      'logo_width',
      'logo_height',
      'revision',
      'updated_at',
    );

export type LogoRow = { readonly logo: Buffer; readonly logo_type: Picture['contentType'] };

/** Undefined for another revision, and without a logo. */
export const findLogo = async (tx: Tx, organizationId: string, revision: number) =>
  tx('portal_branding')
    .where({ organization_id: organizationId, revision })
    .whereNotNull('logo')
    .first<LogoRow | undefined>('logo', 'logo_type');

const logoColumns = (logo: Picture | null) => ({
  logo: logo?.bytes ?? null,
  logo_type: logo?.contentType ?? null,
  logo_width: logo?.width ?? null,
  logo_height: logo?.height ?? null,
});

type Change = {
  readonly settings: BrandingSettings;
  /** Undefined keeps the logo. */
  readonly logo: Picture | null | undefined;
};

/** As `saveRevision`. */
export function saveBranding(
  tx: Tx,
  organizationId: string,
  { settings, logo }: Change,
  expected: number | undefined,
) {
  const columns = { settings: JSON.stringify(settings), ...(logo !== undefined && logoColumns(logo)) };
  return saveRevision(tx, 'portal_branding', organizationId, columns, expected);
}
