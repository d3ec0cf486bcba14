// Where a reader of changes stands, as a text that he keeps and can't read anything into: signed, and bound to the organization,
// version and resource it was made for.
import { createHash } from 'node:crypto';
import type { TenantCtx } from '../core/ctx.ts';
import { isRecordId } from './values.ts';

/** The last change that was told. Within a generation records come first, then deletions, each by id. */
export type Position = { readonly generation: string; readonly kind: 'upsert' | 'delete'; readonly id: string };

export type Standpoint = {
  readonly position: Position;
  /**
   * The generation as of which everything was told, or from which the reader began with nothing: deletions up to here are none of
   * his business.
   */
  readonly floor: string;
  /** Names the table without telling its epoch. */
  readonly epochMark: string;
};

export const epochMarkOf = (epoch: string): string => createHash('sha256').update(epoch).digest('base64url').slice(0, 12);

type Place = { readonly version: string; readonly resource: string };
const boundTo = ({ organizationId }: Pick<TenantCtx, 'organizationId'>, { version, resource }: Place): string =>
  JSON.stringify(['changes', organizationId, version, resource]);

export function writeToken(tenant: Pick<TenantCtx, 'organizationId' | 'keyring'>, place: Place, standpoint: Standpoint): string {
  const { position, floor, epochMark } = standpoint;
  const text = JSON.stringify([epochMark, floor, position.generation, position.kind === 'delete' ? 1 : 0, position.id]);
  return tenant.keyring.sign(text, boundTo(tenant, place));
}

/** Undefined for a text that this service did not write for this place. */
export function readToken(
  tenant: Pick<TenantCtx, 'organizationId' | 'keyring'>,
  place: Place,
  idType: 'integer' | 'text',
  token: string,
): Standpoint | undefined {
  const text = tenant.keyring.verify(token, boundTo(tenant, place));
  if (text === undefined) return undefined;
  const [epochMark, floor, generation, kind, id] = JSON.parse(text) as [string, string, string, 0 | 1, string];
  // A position among deletions may be any text; one among records is compared with their ids.
  if (kind === 0 && id !== '' && idType === 'integer' && !isRecordId(idType, id)) return undefined;
  return { epochMark, floor, position: { generation, kind: kind === 1 ? 'delete' : 'upsert', id } };
}
