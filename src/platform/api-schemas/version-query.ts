// What reads of a version's records share here: parameters, which versions have records, and errors.
import { z } from 'zod';
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError, invalid } from '../../core/errors.ts';
import { inTransaction } from '../../db/transaction.ts';
import { Id, Instant } from '../../http/fields.ts';
import { toQueryParameters } from '../../public/index.ts';
import { getApiSchemaRow } from './api-schemas.service.ts';

export const given = z.union([z.string(), z.array(z.string())]);
export const parameter = (schema: object, description: string) =>
  given
    .optional()
    .describe(description)
    .meta({ openapi: { ...schema, description } });
export const text = { type: 'string' };

/** The parameters that select records, besides the filters. */
export const selection = {
  q: parameter(text, 'Only records that contain this text, where the version declares `search`'),
  or: parameter(text, 'Only records that match one of several conditions, where the version declares `or`'),
};

export const VersionParams = z.strictObject({ id: Id, resource: z.string().min(1).max(200) });

/** How recent the values of an answer are. */
export const freshnessFields = {
  syncedAt: Instant.nullable().describe('When the last sync that could read every field was made'),
  staleFields: z
    .array(z.object({ name: z.string(), since: Instant }))
    .describe('Fields of which the ERP sends no values at the moment; those shown may be out of date'),
};

const refused = {
  draft: ['not_published', 'A draft has no records yet. Publish it first'],
  retired: ['version_retired', 'A retired version has no records. Restore it first'],
} as const;

/** A resource of a version, and the parameters as the caller wrote them. */
export type VersionRequest = {
  readonly params: z.output<typeof VersionParams>;
  readonly query: Readonly<Record<string, string | string[] | undefined>>;
};

/** Throws 404 for an unknown version, 422 for a draft or a retired version. */
export async function toVersionQuery(ctx: RequestCtx, { params: { id, resource }, query }: VersionRequest) {
  const { version, status } = await inTransaction(ctx, (tx) => getApiSchemaRow(tx, ctx, id));
  if (status === 'draft' || status === 'retired') {
    const [code, message] = refused[status];
    throw invalid(`The version is ${status === 'draft' ? 'a draft' : 'retired'}`, [
      { path: 'id', code, message },
    ]);
  }
  const present = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return {
    version,
    resource,
    reads: ctx.principal.reads,
    query: toQueryParameters(Object.fromEntries(present)),
  };
}

/** Throws the error; as all over the management interface, an unknown parameter is `unknown_field`. */
export function rethrowInOwnTerms(error: unknown): never {
  if (!(error instanceof AppError) || !error.details.some(({ code }) => code === 'unknown_parameter'))
    throw error;
  const details = error.details.map((detail) =>
    detail.code === 'unknown_parameter' ? { ...detail, code: 'unknown_field' } : detail,
  );
  throw new AppError(error.code, error.message, { details });
}
