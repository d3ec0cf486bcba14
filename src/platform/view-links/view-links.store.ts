// Rows of view_links: their only writer, apart from the counts of uses.
import type { Knex } from 'knex';
import type { RowCondition } from '../../core/record-access.ts';
import { containsSql } from '../../core/text/folded-text.ts';
import { newestFirst, readPage } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { NamedPageQuery } from '../../http/page.ts';

export type LinkRow = {
  id: string;
  view_id: string;
  name: string;
  rows: RowCondition[];
  created_by: string;
  creator_email: string;
  creator_name: string;
  /** Null when a person created it. */
  api_key_id: string | null;
  created_at: Date;
  expires_at: Date;
  last_used_at: Date | null;
  uses: string;
};

const select = (tx: Tx, organizationId: string) =>
  tx('view_links as l')
    .join('users as u', 'u.id', 'l.created_by')
    .where('l.organization_id', organizationId)
    .select('l.id', 'l.view_id', 'l.name', 'l.rows', 'l.created_by', 'l.api_key_id')
    .select('l.created_at', 'l.expires_at', 'l.last_used_at', 'l.uses')
    .select('u.email as creator_email', 'u.name as creator_name');

/** Those of a view, or of all. */
export function listLinkRows(
  tx: Tx,
  organizationId: string,
  viewId: string | null,
  { q, ...page }: NamedPageQuery,
) {
  const query = select(tx, organizationId).orderBy(newestFirst('l.created_at', 'l.id'));
  if (viewId !== null) query.where('l.view_id', viewId);
  if (q !== undefined) query.whereRaw(containsSql('l.name'), [q]);
  return readPage<LinkRow>(query, page);
}

export const findLinkRow = async (tx: Tx, organizationId: string, viewId: string, id: string) =>
  (await select(tx, organizationId).where({ 'l.view_id': viewId, 'l.id': id }).first()) as
    | LinkRow
    | undefined;

/** Undefined also when the secret that made the link has ended. */
export const findLinkByHash = async (tx: Tx, organizationId: string, hash: Buffer) =>
  (await select(tx, organizationId)
    .leftJoin('api_keys as k', 'k.id', 'l.api_key_id')
    .where('l.token_hash', hash)
    .whereRaw(
      `(l.secret_mark is null or l.secret_mark = sha256(k.secret_hash)
        or (l.secret_mark = sha256(k.previous_secret_hash) and k.previous_expires_at > now()))`,
    )
    .first()) as LinkRow | undefined;

/** The organization of the link with this hash of its token, whether or not it still works. */
export async function findOrganizationOfLink(db: Knex, hash: Buffer): Promise<string | undefined> {
  const { rows } = await db.raw<{ rows: { organization_id: string }[] }>(
    'select organization_id from find_view_link(?)',
    [hash],
  );
  return rows[0]?.organization_id;
}

/** Those that have not expired. */
export async function countLinks(tx: Tx, organizationId: string, viewId: string): Promise<number> {
  const [found] = await tx('view_links')
    .where({ organization_id: organizationId, view_id: viewId })
    .whereRaw('expires_at > clock_timestamp()')
    .count<{ count: string }[]>({ count: '*' });
  return Number(found?.count ?? 0);
}

type NewLink = Pick<LinkRow, 'id' | 'view_id' | 'name' | 'created_by' | 'api_key_id' | 'expires_at'> & {
  readonly token_hash: Buffer;
  readonly secret_mark: Buffer | null;
  readonly rows: string;
};
export const insertLink = (tx: Tx, organizationId: string, row: NewLink) =>
  tx('view_links').insert({ ...row, organization_id: organizationId });

export const deleteLink = (tx: Tx, organizationId: string, id: string): Promise<number> =>
  tx('view_links').where({ organization_id: organizationId, id }).delete();

/** The fields of the record type that a published or deprecated version lets row scopes name. */
export async function listScopableSources(tx: Tx, organizationId: string, recordType: string) {
  const { rows } = await tx.raw<{ rows: { source: string }[] }>(
    `select distinct f ->> 'source' as source
     from api_schemas s, jsonb_array_elements(s.endpoints) e, jsonb_array_elements(e -> 'fields') f
     where s.organization_id = ? and s.status in ('published', 'deprecated') and e ->> 'recordType' = ? and (f -> 'scopable')::boolean
     order by 1`,
    [organizationId, recordType],
  );
  return rows.map(({ source }) => source);
}
