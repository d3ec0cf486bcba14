// What callers see of synced values of rejected records and deletion proposals. Without `record:read` they
// see no value; without `unmasked:read`, what any published or deprecated version masks is masked.
import type { RequestCtx } from '../../core/ctx.ts';
import { findLivingMasks, maskedSql } from '../../public/index.ts';
import type { ShowValue } from '../../sync/index.ts';

type Masks = Awaited<ReturnType<typeof findLivingMasks>>;

const findMasks = async (
  ctx: RequestCtx,
  recordType: string,
): Promise<NonNullable<ReturnType<Masks['get']>>> =>
  (ctx.principal.reads.unmasked ? undefined : (await findLivingMasks(ctx)).get(recordType)) ?? new Map();

export const mayReadRecords = ({ principal }: RequestCtx) => principal.permissions.has('record:read');

/** For values of this record type. Rejects with database errors. */
export async function findShowValue(ctx: RequestCtx, recordType: string): Promise<ShowValue> {
  if (!mayReadRecords(ctx)) return () => 'null';
  const masks = await findMasks(ctx, recordType);
  return (source, text) => {
    const mask = masks.get(source);
    return mask === undefined ? text : maskedSql(text, mask);
  };
}

/** Their message may name a field and what is wrong with its value, but never a value of the record. */
const withoutValues = new Set([
  ...['VALUE_UNREADABLE', 'LINE_UNREADABLE', 'RECORD_UNREADABLE', 'FIELD_TOO_LARGE', 'RECORD_TOO_LARGE'],
  ...['DUPLICATE_ID', 'CHANGED_WHILE_READ'],
]);
const hiddenMessage = 'A value of the record could not be stored; you may not read what is wrong with it';

/** How a message names the source: without `lines.`, and a label by its field. */
const toFieldName = (source: string): string => source.replace(/^lines\./, '').replace(/\.name$/, '');

/** Replaces messages that may hold a value which the caller may not see. Rejects with database errors. */
export async function hideRejectedValues<R extends { readonly code: string; readonly message: string }>(
  ctx: RequestCtx,
  recordType: string,
  rejections: readonly R[],
): Promise<R[]> {
  const sources = [...(await findMasks(ctx, recordType)).keys()];
  const masked = new Set(sources.map(toFieldName));
  const isShown = ({ code, message }: R): boolean =>
    mayReadRecords(ctx) &&
    (sources.length === 0 ||
      (withoutValues.has(code) && !message.split(/[^\w]+/).some((word) => masked.has(word))));
  return rejections.map((row) => (isShown(row) ? row : { ...row, message: hiddenMessage }));
}
