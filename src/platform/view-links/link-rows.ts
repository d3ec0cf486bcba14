// The records to which a link is restricted, as conditions of a row scope. Pure apart from what it looks up.
import type { RequestCtx } from '../../core/ctx.ts';
import { type ErrorDetail, invalid } from '../../core/errors.ts';
import type { RowCondition } from '../../core/record-access.ts';
import { createSuggestions } from '../../core/text/nearest-name.ts';
import { inTransaction } from '../../db/transaction.ts';
import { choosePlainColumn, findLivingMasks, readAvailableType } from '../../public/index.ts';
import { readValues } from '../api-keys/resolve-scopes.ts';
import type { ViewRow } from '../views/views.store.ts';
import type { NewViewLink } from './view-links.schemas.ts';
import { listScopableSources } from './view-links.store.ts';

/**
 * Throws 422 for a field that is masked: a link reads masked fields masked, and which records have a value
 * would reveal it.
 */
export async function assertRowsUnmasked(
  ctx: Parameters<typeof findLivingMasks>[0],
  { record_type: recordType }: Pick<ViewRow, 'record_type'>,
  rows: readonly Pick<RowCondition, 'field'>[],
): Promise<void> {
  if (rows.length === 0) return;
  const masks = (await findLivingMasks(ctx)).get(recordType);
  const details = rows.flatMap(({ field }, index) =>
    masks?.has(field) === true
      ? [{ path: `rows[${index}].field`, code: 'masked_field', message: `"${field}" is a masked field` }]
      : [],
  );
  if (details.length > 0) throw invalid('The rows of a link cannot name a masked field', details);
}

/** The conditions with the values as texts. Throws 422 for fields that row scopes can't name, and bad values. */
export async function resolveRows(
  ctx: RequestCtx,
  view: Pick<ViewRow, 'record_type'>,
  given: NewViewLink['rows'],
): Promise<readonly RowCondition[]> {
  if (given.length === 0) return [];
  const [type, sources] = await Promise.all([
    readAvailableType(ctx, view.record_type),
    inTransaction(ctx, (tx) => listScopableSources(tx, ctx.organizationId, view.record_type)),
  ]);
  const scopable = ['id', ...sources];
  const suggest = createSuggestions();
  const problems: ErrorDetail[] = [];
  const report = (path: string, code: string, message: string) => void problems.push({ path, code, message });
  const rows = given.map((condition, index) => {
    const { field } = condition;
    const column = type && choosePlainColumn(type.columns, field);
    const found = field === 'id' ? type?.idType : column?.state === 'live' ? column.type : undefined;
    if (!scopable.includes(field) || found === undefined || found === 'lines')
      report(
        `rows[${index}].field`,
        'not_scopable',
        `No published version lets row scopes name "${field}".${suggest(field, () => scopable)}`,
      );
    const valueType = found === undefined || found === 'lines' ? null : found;
    return { field, source: field, in: readValues(condition, valueType, `rows[${index}]`, report) };
  });
  if (problems.length > 0) throw invalid('The rows are not valid', problems);
  await assertRowsUnmasked(ctx, view, rows);
  return rows;
}
