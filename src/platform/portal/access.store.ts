// Rows of portal_access: the settings of the portal, one for each time that they were saved.
import type { Tx } from '../../db/transaction.ts';
import type { SchemaDocument } from '../../public/index.ts';
import type { ApiSchemaRow } from '../api-schemas/api-schemas.store.ts';
import type { StoredSettings } from './access.schemas.ts';

export type AccessRow = {
  readonly revision: number;
  readonly settings: StoredSettings;
  /** Label of the document; null while the portal is off. */
  readonly document: string | null;
  readonly created_at: Date;
};

/** The newest settings, and the newest whose document is ready, which are those in use. */
export type AccessRows = { readonly newest: AccessRow; readonly live: AccessRow | undefined };

type Row = AccessRow & { readonly is_live: boolean };

/** Undefined before anything was saved. */
export async function findAccess(tx: Tx, organizationId: string): Promise<AccessRows | undefined> {
  const rows = await tx('portal_access as a')
    .where('a.organization_id', organizationId)
    .orderBy('a.revision', 'desc')
    .select<Row[]>(
      'a.revision',
      'a.settings',
      'a.document',
      'a.created_at',
      tx.raw(
        `exists (select from api_schemas s where s.organization_id = a.organization_id and s.version = a.document and s.status = 'published') as is_live`,
      ),
    );
  const [newest] = rows;
  if (newest === undefined) return undefined;
  const live = newest.document === null ? undefined : rows.find(({ is_live: isLive }) => isLive);
  return { newest, live };
}

/** One writer at a time. */
export const lockAccess = (tx: Tx, organizationId: string) =>
  tx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`${organizationId} portal access`]);

export const insertAccess = (
  tx: Tx,
  organizationId: string,
  { settings, ...row }: Pick<AccessRow, 'revision' | 'settings' | 'document'>,
) =>
  tx('portal_access').insert({ organization_id: organizationId, ...row, settings: JSON.stringify(settings) });

/** Deletes older settings, and the documents that none of those left uses. */
export async function deleteFormer(tx: Tx, organizationId: string, kept: readonly number[]): Promise<void> {
  await tx('portal_access').where('organization_id', organizationId).whereNotIn('revision', kept).delete();
  await tx('api_schemas as s')
    .where('s.organization_id', organizationId)
    .whereLike('s.version', 'p%')
    .whereNotExists(
      tx('portal_access as a').whereRaw('a.organization_id = s.organization_id and a.document = s.version'),
    )
    .delete();
}

/** The document's state and publication. */
export type DocumentRow = Pick<ApiSchemaRow, 'status' | 'publication'>;

export const findDocument = async (tx: Tx, organizationId: string, label: string) =>
  tx('api_schemas')
    .where({ organization_id: organizationId, version: label })
    .first<DocumentRow | undefined>('status', 'publication');

/** Of a document that is ready; none when it was replaced in the meantime. */
export async function findDocumentEndpoints(
  tx: Tx,
  organizationId: string,
  label: string,
): Promise<SchemaDocument['endpoints']> {
  const row = await tx('api_schemas')
    .where({ organization_id: organizationId, version: label, status: 'published' })
    .first<{ endpoints: SchemaDocument['endpoints'] } | undefined>('endpoints');
  return row?.endpoints ?? [];
}

/** The label of a document that is ready and has this content. */
export async function findReadyDocument(
  tx: Tx,
  organizationId: string,
  endpoints: SchemaDocument['endpoints'],
): Promise<string | undefined> {
  const row = await tx('api_schemas')
    .where({ organization_id: organizationId, status: 'published' })
    .whereLike('version', 'p%')
    .whereRaw('endpoints = ?::jsonb', [JSON.stringify(endpoints)])
    .first<{ version: string } | undefined>('version');
  return row?.version;
}
