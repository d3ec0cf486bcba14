// How values are hidden from readers without unmasked access. PostgreSQL writes the masked value: the service
// never reads the value behind it.
import { createHmac } from 'node:crypto';
import { unavailable } from '../../core/errors.ts';
import { type EndpointDefinition, type Mask, masks } from './schema-document.ts';

/** How a value is hidden. `key`: the HMAC key of the organization and field, 32 bytes. */
export type FieldMask =
  | { readonly kind: 'hash'; readonly key: Buffer }
  | { readonly kind: 'last4' }
  | { readonly kind: 'year' };

/**
 * The mask of a field. `secret` is the organization's; each field has a key of its own, derived from it, so
 * that equal values of different fields differ, and equal values of one field are equal in every version.
 * `source`: the field of the record type, `lines.<field>` for one of lines.
 */
export function fieldMask(
  mask: Mask | undefined,
  secret: Buffer | undefined,
  recordType: string,
  source: string,
): FieldMask | null {
  if (mask === undefined) return null;
  if (mask !== 'hash') return { kind: mask };
  const key = createHmac('sha256', secret ?? '')
    .update(JSON.stringify([recordType, source]))
    .digest();
  return { kind: 'hash', key: secret === undefined ? Buffer.alloc(0) : key };
}

/** The masks of the fields, and of fields of lines. */
export const listMasks = (endpoints: readonly EndpointDefinition[]): ReadonlySet<Mask> =>
  new Set(
    endpoints.flatMap(({ fields }) =>
      fields.flatMap((field) => [field, ...(field.fields ?? [])].flatMap(({ mask }) => mask ?? [])),
    ),
  );

/** The one that reveals least. */
export const strictestMask = (declared: readonly Mask[]) => masks.find((mask) => declared.includes(mask));

const blockBytes = 64;
function padded(key: Buffer, pad: number): string {
  const block = Buffer.alloc(blockBytes, pad);
  for (const [index, byte] of key.entries()) block[index] = byte ^ pad;
  return `'\\x${block.toString('hex')}'::bytea`;
}

/**
 * SQL that masks a text expression; null stays null. `hash`: HMAC-SHA-256 (RFC 2104) as 64 hexadecimal digits
 * · `last4`: `****` and the last four characters, of values with at least eight · `year`: the first four
 * characters, for dates and times as text. Throws 503 for a hash without a key: the encryption key of the
 * secret is lost.
 */
export function maskedSql(text: string, mask: FieldMask): string {
  if (mask.kind === 'year') return `substring(${text} from '^[0-9]+')`;
  if (mask.kind === 'last4')
    return `case when ${text} is not null then '****' || case when length(${text}) >= 8 then right(${text}, 4) else '' end end`;
  if (mask.key.length === 0)
    throw unavailable('Masked fields are unavailable: their secret could not be decrypted', 60);
  return `encode(sha256(${padded(mask.key, 0x5c)} || sha256(${padded(mask.key, 0x36)} || convert_to(${text}, 'UTF8'))), 'hex')`;
}
