// Caches the content of published versions, which never changes: it is read and compiled once. Their status
// and sunset do change; see published.ts.

import type { TenantCtx } from '../../core/ctx.ts';
import { createCache, jsonBytes } from '../../core/work/cache.ts';
import type { HitCounter } from '../../core/work/hit-counter.ts';
import type { CompiledSchema } from './compile.ts';
import { type ContentRef, readCompiled, readDescription } from './versions.store.ts';

/** What a caller may see of a description; `name` is equal for equal parts. */
export type DescriptionPart = { readonly name: string; of(text: string): string };

export type ContentCache = {
  /** The compiled version if it is loaded. */
  findCompiled(ref: ContentRef): CompiledSchema | undefined;
  /** Rejects with 503 when the database no longer has this content. */
  loadCompiled(
    ctx: Pick<TenantCtx, 'db' | 'keyring' | 'organizationId'>,
    ref: ContentRef,
  ): Promise<CompiledSchema>;
  /**
   * The stored OpenAPI text or a part of it, with examples from records or without them. Rejects with 503 when the
   * database no longer has this content.
   */
  loadDescription(
    ctx: Pick<TenantCtx, 'db' | 'organizationId'>,
    ref: ContentRef,
    shown: { readonly part: DescriptionPart | null; readonly withExamples: boolean },
  ): Promise<string>;
};

const countBytes = ({ endpoints }: CompiledSchema): number =>
  jsonBytes(
    [...endpoints.values()].map((endpoint) => [
      endpoint,
      [...endpoint.filters],
      [...endpoint.sorts],
      [...endpoint.scopable],
    ]),
  );

/** Caches compiled versions and descriptions. */
export function createContentCache(
  maxBytes: number,
  counters: { readonly schemas?: HitCounter; readonly texts?: HitCounter } = {},
): ContentCache {
  const compiled = createCache<CompiledSchema>({ maxBytes, countBytes, counter: counters.schemas });
  const descriptions = createCache<string>({
    maxBytes,
    countBytes: (text) => 2 * text.length,
    counter: counters.texts,
  });
  return {
    findCompiled: ({ contentId }) => compiled.findFresh(contentId),
    loadCompiled: (ctx, ref) => compiled.load(ref.contentId, () => readCompiled(ctx, ref)),
    loadDescription(ctx, ref, { part, withExamples }) {
      const name = `${ref.contentId} ${withExamples}`;
      const loadWhole = () => descriptions.load(name, () => readDescription(ctx, ref, withExamples));
      return part === null
        ? loadWhole()
        : descriptions.load(`${name} ${part.name}`, async () => part.of(await loadWhole()));
    },
  };
}
