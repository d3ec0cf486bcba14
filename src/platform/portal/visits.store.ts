// What each request of a visitor needs to know, by one statement: it precedes everything that the request does.
import type { Ctx, TenantCtx } from '../../core/ctx.ts';
import { hashSecretToken, secretTokenPattern } from '../../core/secrets/secret-token.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import type { StoredSettings } from './access.schemas.ts';
import { type ShownBranding, toShownBranding } from './branding.service.ts';
import { type BrandingRow, findBranding } from './branding.store.ts';
import type { MappedField } from './field-mappings.schemas.ts';
import type { SidebarItem } from './sidebar.schemas.ts';
import type { Portal, VisitorEntry } from './visitor-scope.ts';

/** A visitor who opens no page for this long signs in again. */
export const idleDays = 7;

export type VisitorSession = {
  readonly id: string;
  readonly email: string;
  readonly customer: string | null;
  /** The member who sees the portal as this visitor would. */
  readonly viewer_id: string | null;
  readonly previous_visit_at: string | null;
  readonly ends_at: string;
  /** It was used within the last minute. */
  readonly is_fresh: boolean;
  /** The visitor's requests in this minute, this one included, and how long it still lasts. */
  readonly hits: number;
  readonly seconds_left: number;
};
export type PublishedPage = { readonly id: string; readonly slug: string; readonly title: string };

/** What the company configured for its pages. */
export type ShownContent = {
  /** By record type, in the order in which they are shown. */
  readonly mappings: ReadonlyMap<string, readonly MappedField[]>;
  /** Empty until a sidebar is stored. */
  readonly sidebar: readonly SidebarItem[];
  readonly pages: readonly PublishedPage[];
  readonly branding: ShownBranding;
};
export type FoundVisit = {
  readonly session: VisitorSession;
  /** Undefined while the portal is off. */
  readonly portal: Portal | undefined;
  readonly entry: VisitorEntry | undefined;
  readonly content: ShownContent;
};

type Row = {
  readonly session: VisitorSession;
  readonly settings: StoredSettings | null;
  readonly document: string | null;
  readonly entry: VisitorEntry | null;
  readonly mappings: Readonly<Record<string, MappedField[]>>;
  readonly pages: PublishedPage[];
  readonly sidebar: SidebarItem[];
  readonly branding: Pick<BrandingRow, 'settings' | 'revision' | 'logo_type'> | null;
};

/** Undefined when none, or several, of the tokens are of valid sessions in the organization and on the host. */
export async function findVisit(
  ctx: Pick<Ctx, 'db'>,
  { organizationId, host }: { readonly organizationId: string; readonly host: string },
  tokens: readonly string[],
): Promise<FoundVisit | undefined> {
  const hashes = tokens.filter((token) => secretTokenPattern.test(token)).map(hashSecretToken);
  if (hashes.length === 0) return undefined;
  const { rows } = await ctx.db.control.raw<{ rows: Row[] }>(
    'select * from find_portal_visit(?, ?, ?::bytea[], ?)',
    [organizationId, host, hashes, idleDays],
  );
  const [row] = rows;
  if (row === undefined) return undefined;
  const { session, settings, document, entry, mappings, pages, sidebar, branding } = row;
  return {
    session,
    portal: settings === null || document === null ? undefined : { settings, document },
    entry: entry ?? undefined,
    content: {
      ...{ sidebar, pages, mappings: new Map(Object.entries(mappings)) },
      branding: toShownBranding(branding ?? undefined),
    },
  };
}

/** For what is sent to visitors: without navigation and pages. */
export async function readPaperContent(tx: Tx, organizationId: string): Promise<ShownContent> {
  const mappings = await tx('portal_field_mappings')
    .where('organization_id', organizationId)
    .select<{ record_type: string; fields: MappedField[] }[]>('record_type', 'fields');
  return {
    ...{ sidebar: [], pages: [] },
    mappings: new Map(mappings.map((row) => [row.record_type, row.fields])),
    branding: toShownBranding(await findBranding(tx, organizationId)),
  };
}

/** Whether the visitor is still signed in by this session. */
export const isSessionValid = (ctx: TenantCtx, id: string, email: string): Promise<boolean> =>
  inTransaction(ctx, async (tx) => {
    const found = await tx('portal_sessions')
      .where({ organization_id: ctx.organizationId, id, email, viewer_id: null })
      .whereRaw('ends_at > clock_timestamp()')
      .first('id');
    return found !== undefined;
  });
