// Keeps amounts of several currencies from being added up or compared: a summary of amounts needs the
// currency as a group key, or a filter that leaves one currency.
import type { CompiledGroup, CompiledSummary, ReadableEndpoint, ValueField } from '../../version/compile.ts';
import { findCurrency, isCurrencySource, mixesCurrencies } from '../../version/money.ts';
import type { ListPlan } from './plan.ts';
import { parameterError, parameterProblem } from './request.ts';

/**
 * Throws 400 `several_currencies` for amounts whose currency is neither a group key nor fixed by a filter or
 * the row scope.
 */
export function assertOneCurrency(
  endpoint: ReadableEndpoint,
  { conditions }: Pick<ListPlan, 'conditions'>,
  summary: CompiledSummary,
  groups: readonly CompiledGroup[],
  measures: readonly { readonly name: string; readonly field: ValueField }[],
): void {
  const agreed = [...groups.map(({ field }) => field.source), ...fixedSources(endpoint, conditions)];
  for (const { name, field } of measures) {
    // Numbers that the version doesn't aggregate are amounts where the ERP says so.
    if (summary.aggregates.get(field.name)?.isMoney === false) continue;
    const currency = findCurrency(summary.money, field.source);
    if (currency === undefined || !mixesCurrencies([name], currency, agreed)) continue;
    const message =
      currency === null
        ? `"${field.name}" is an amount of money whose currency no field tells, and amounts of several currencies are not added up.`
        : `"${field.name}" is an amount of money, and amounts of several currencies are not added up.${suggestOneCurrency(endpoint, summary, currency)}`;
    throw parameterError([parameterProblem(name, 'several_currencies', message)]);
  }
}

/** The sources of which every record of the list has the same value. */
function fixedSources({ fields, scopable }: ReadableEndpoint, conditions: ListPlan['conditions']): string[] {
  const columns = new Set(
    conditions
      .filter(
        ({ column, operator, values }) =>
          operator === 'eq' && values.length === 1 && column.line === undefined,
      )
      .map(({ column }) => column.column),
  );
  return [
    ...fields.flatMap((field) =>
      field.kind === 'value' && columns.has(field.column.column) ? [field.source] : [],
    ),
    ...[...scopable].flatMap(([source, { column }]) => (columns.has(column) ? [source] : [])),
  ];
}

/** Names of this reader only. */
function suggestOneCurrency(
  { fields, filters }: ReadableEndpoint,
  { groups }: CompiledSummary,
  currency: string,
): string {
  const names = new Set(
    fields.flatMap((field) =>
      field.kind === 'value' && isCurrencySource(field.source, currency) ? [field.name] : [],
    ),
  );
  const ways = [
    ...[...groups.values()]
      .filter(({ field, period }) => period === null && names.has(field.name))
      .map(({ name }) => `by=${name}`),
    ...[...filters.values()]
      .filter(({ field, operator }) => operator === 'eq' && names.has(field))
      .map(({ name }) => `one value of the filter ${name}`),
  ];
  return ways.length === 0 ? '' : ` Add ${ways.join(' or ')}.`;
}
