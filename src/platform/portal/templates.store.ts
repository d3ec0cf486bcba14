// Rows of portal_templates.
import { containsSql } from '../../core/text/folded-text.ts';
import { newestFirst, readPage } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';

export type TemplateRow = {
  id: string;
  key: string;
  kind: 'email' | 'document';
  /** Null for documents, and only for them. */
  subject: string | null;
  body: string;
  created_at: Date;
  updated_at: Date;
};
const columns = ['id', 'key', 'kind', 'subject', 'body', 'created_at', 'updated_at'] as const;

export type TemplateFilter = {
  readonly q?: string | undefined;
  readonly kind?: TemplateRow['kind'] | undefined;
};

export function listTemplates(tx: Tx, organizationId: string, page: PageQuery, { q, kind }: TemplateFilter) {
  const query = tx('portal_templates')
    .where('organization_id', organizationId)
    .orderBy(newestFirst('created_at', 'id'))
    .select(...columns);
  if (q !== undefined) query.whereRaw(containsSql('key'), [q]);
  if (kind !== undefined) query.where('kind', kind);
  return readPage<TemplateRow>(query, page);
}

export const findTemplate = async (tx: Tx, organizationId: string, id: string) =>
  tx('portal_templates')
    .where({ organization_id: organizationId, id })
    .first<TemplateRow | undefined>(...columns);

type Texts = Pick<TemplateRow, 'key' | 'subject' | 'body'>;
export const insertTemplate = (
  tx: Tx,
  organizationId: string,
  row: Texts & Pick<TemplateRow, 'id' | 'kind'>,
) => tx('portal_templates').insert({ ...row, organization_id: organizationId });

export const updateTemplate = async (tx: Tx, organizationId: string, id: string, change: Partial<Texts>) =>
  tx('portal_templates')
    .where({ organization_id: organizationId, id })
    .update({ ...change, updated_at: tx.fn.now() });

export const deleteTemplate = (tx: Tx, organizationId: string, id: string): Promise<number> =>
  tx('portal_templates').where({ organization_id: organizationId, id }).delete();
