// Encodes the position of a client in the change feed as an opaque token, signed and bound to the
// organization, version and resource it was issued for.
import { createHash } from 'node:crypto';
import type { TenantCtx } from '../../core/ctx.ts';
import { isRecordId } from '../version/values.ts';

/** The last change that was delivered. Within a generation records come first, then deletions, each by id. */
export type ChangePosition = {
  readonly generation: string;
  readonly kind: 'upsert' | 'delete';
  readonly id: string;
};

export type ChangeCursor = {
  readonly position: ChangePosition;
  /**
   * Everything up to this generation was delivered, or predates the first request of the client: older
   * deletions do not concern it.
   */
  readonly floor: string;
  /** The generation of the client's last page: it knows nothing newer. A failover may lose it. */
  readonly seen: string;
  /** Identifies the table without revealing its epoch. */
  readonly epochMark: string;
  /** Identifies the content of the version. Undefined in tokens of earlier versions of this service. */
  readonly contentMark: string | undefined;
  /** Identifies the reader's rows, fields and masks (`ReadableEndpoint.reach`). Undefined without limits. */
  readonly reachMark: string | undefined;
};

/** A short digest that identifies an epoch, or the content of a version, without revealing it. */
export const toMark = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 12);

type FeedAddress = { readonly version: string; readonly resource: string };
const toSigningContext = (
  { organizationId }: Pick<TenantCtx, 'organizationId'>,
  { version, resource }: FeedAddress,
): string => JSON.stringify(['changes', organizationId, version, resource]);

/** The token for `next`: the signed cursor, bound to organization, version and resource. */
export function encodeChangeToken(
  tenant: Pick<TenantCtx, 'organizationId' | 'keyring'>,
  feed: FeedAddress,
  cursor: ChangeCursor,
): string {
  const { position, floor, seen, epochMark, contentMark, reachMark } = cursor;
  const kind = position.kind === 'delete' ? 1 : 0;
  const reach = reachMark === undefined ? [] : [reachMark];
  const text = JSON.stringify([
    epochMark,
    floor,
    position.generation,
    kind,
    position.id,
    seen,
    contentMark,
    ...reach,
  ]);
  return tenant.keyring.sign(text, toSigningContext(tenant, feed));
}

/** Tokens of earlier versions of this service have no `seen` and no `contentMark`. */
type TokenContent = [
  epochMark: string,
  floor: string,
  generation: string,
  kind: 0 | 1,
  id: string,
  seen?: string,
  contentMark?: string,
  reachMark?: string,
];

const newer = (a: string, b: string): string => (BigInt(a) > BigInt(b) ? a : b);

/** Undefined for a token that this service did not issue for this organization, version and resource. */
export function decodeChangeToken(
  tenant: Pick<TenantCtx, 'organizationId' | 'keyring'>,
  feed: FeedAddress,
  idType: 'integer' | 'text',
  token: string,
): ChangeCursor | undefined {
  const text = tenant.keyring.verify(token, toSigningContext(tenant, feed));
  if (text === undefined) return undefined;
  const [epochMark, floor, generation, kind, id, seen = newer(floor, generation), contentMark, reachMark] =
    JSON.parse(text) as TokenContent;
  // A position among deletions may be any text; one among records is compared with their ids.
  if (kind === 0 && id !== '' && idType === 'integer' && !isRecordId(idType, id)) return undefined;
  return {
    epochMark,
    contentMark,
    reachMark,
    floor,
    seen,
    position: { generation, kind: kind === 1 ? 'delete' : 'upsert', id },
  };
}
