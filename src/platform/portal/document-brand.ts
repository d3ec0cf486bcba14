// The brand of documents that the public interface sets: what the portal's branding is now.
import type { TenantCtx } from '../../core/ctx.ts';
import { inTransaction } from '../../db/transaction.ts';
import type { DocumentBrand } from '../../public/index.ts';
import { readShownLogo, toShownBranding } from './branding.service.ts';
import { findBranding } from './branding.store.ts';

/** That of the service. */
const defaultAccent = '#2457d6';

const listLines = (text: string | null): string[] => text?.split('\n') ?? [];

/** Rejects with database errors. */
export async function readDocumentBrand(ctx: TenantCtx): Promise<DocumentBrand> {
  const { branding, organization } = await inTransaction(ctx, async (tx) => ({
    branding: toShownBranding(await findBranding(tx, ctx.organizationId)),
    organization: await tx('organizations')
      .where({ id: ctx.organizationId })
      .first<{ name: string } | undefined>('name'),
  }));
  const { revision, hasLogo, accent, postalAddress, documentNote } = branding;
  const name = branding.name ?? organization?.name ?? '';
  return {
    ...{ name, accent: accent ?? defaultAccent, key: JSON.stringify([revision, name]) },
    ...{ from: listLines(postalAddress), notes: listLines(documentNote) },
    async loadLogo() {
      const logo = hasLogo ? await readShownLogo(ctx, revision) : undefined;
      return logo === undefined ? null : { type: logo.logo_type, bytes: logo.logo };
    },
  };
}
