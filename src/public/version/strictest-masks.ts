// Versions as people read them: a field that several published or deprecated versions mask differently has
// the strictest of these masks in all of them. API keys read what their version published.
import { createHash } from 'node:crypto';
import type { TenantCtx } from '../../core/ctx.ts';
import type { RecordAccess } from '../../core/record-access.ts';
import type { CompiledEndpoint, OutputField, ReadableEndpoint } from './compile.ts';
import type { FindLivingMasks, LivingMasks } from './living-masks.ts';
import { type FieldMask, strictestMask } from './masks.ts';
import { narrowEndpoint } from './narrow.ts';

export type MaskSources = { readonly findLivingMasks: FindLivingMasks };

/**
 * The endpoint as this person may read it. Throws as `narrowEndpoint` does, and rejects with database errors
 * where the masks of the other versions can't be read.
 */
export async function narrowForPerson(
  { findLivingMasks }: MaskSources,
  tenant: TenantCtx,
  endpoint: CompiledEndpoint,
  access: RecordAccess,
): Promise<ReadableEndpoint> {
  return narrowEndpoint(
    access.unmasked ? endpoint : maskStrictly(endpoint, await findLivingMasks(tenant)),
    access,
  );
}

type Masked = { readonly declared: FieldMask | null };

/** Made for each read: people read little compared with keys. */
function maskStrictly(endpoint: CompiledEndpoint, living: LivingMasks): CompiledEndpoint {
  const masks = living.get(endpoint.recordType);
  const added: [string, string][] = [];
  const applied = <F extends Masked>(field: F, source: string): F => {
    const declared = masks?.get(source);
    if (declared === undefined || !isStricter(declared, field.declared)) return field;
    added.push([source, 'key' in declared ? `hash ${declared.key.toString('base64')}` : declared.kind]);
    return { ...field, declared };
  };
  const fields = endpoint.fields.map((field): OutputField => {
    if (field.kind === 'absent') return field;
    if (field.kind === 'value') return applied(field, field.source);
    return { ...field, lines: field.lines.map((line) => applied(line, `${field.source}.${line.key}`)) };
  });
  const relations = [...endpoint.relations].map(([name, relation]) => {
    const target = () => maskStrictly(relation.target(), living);
    return [name, { ...relation, target }] as const;
  });
  // What is cached by this key is never used for a reader of the version as it was published.
  const key =
    added.length === 0
      ? endpoint.key
      : `${endpoint.key} ${createHash('sha256').update(JSON.stringify(added)).digest('base64url')}`;
  return { ...endpoint, key, fields, relations: new Map(relations) };
}

const isStricter = ({ kind }: FieldMask, own: FieldMask | null): boolean =>
  kind !== own?.kind && strictestMask([kind, ...(own === null ? [] : [own.kind])]) === kind;
