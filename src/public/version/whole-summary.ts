// What a summary may compute for people: every field that they can read, in every way that its type allows,
// whether the version declares it or not. Callers of the public interface get what the version declares.
import { isDated } from '../../warehouse/columns.ts';
import {
  type CompiledGroup,
  type CompiledSummary,
  isMoney,
  type ReadableEndpoint,
  type SummaryBasis,
} from './compile.ts';
import { findCurrency, isCurrencySource } from './money.ts';
import { periods } from './schema-document.ts';
import { listFunctions, parameterNames, resultNames } from './validate-summary.ts';

/**
 * Fields that the reader sees masked are left out, and so are groups that have the name of a key of the rows.
 * Null when a filter of the version has the name of a parameter of summaries. Pure.
 */
export function summarizeWhole(
  { fields, masked, filters, summary }: ReadableEndpoint,
  { money, utcOffsetMinutes }: SummaryBasis,
): CompiledSummary | null {
  if ([...filters.keys()].some((name) => parameterNames.has(name.toLowerCase()))) return null;
  const values = fields.filter((field) => field.kind === 'value').filter(({ name }) => !masked.has(name));
  const groups = values.flatMap((field): CompiledGroup[] => {
    if (resultNames.has(field.name.toLowerCase())) return [];
    const { type } = field.column;
    const inPeriods = isDated(type) ? periods : [];
    return [
      { name: field.name, field, period: null },
      ...inPeriods.map((period) => ({ name: `${field.name}.${period}`, field, period })),
    ];
  });
  const aggregates = values.map((field) => {
    const declared = summary?.aggregates.get(field.name);
    return {
      field,
      functions: listFunctions(field.column.type),
      isMoney: declared?.isMoney ?? isMoney(field, money),
    };
  });
  return {
    money,
    utcOffsetMinutes,
    aggregates: new Map(aggregates.map((aggregate) => [aggregate.field.name, aggregate])),
    groups: new Map(groups.map((group) => [group.name, group])),
    limitNeedsGroups: true,
  };
}

/**
 * The field of the endpoint that names the currency of an amount, its label rather than its id; null when no
 * field that the reader can read does, undefined for a field that is no amount. Pure.
 */
export function findCurrencyField(
  { fields, masked }: ReadableEndpoint,
  { money }: SummaryBasis,
  name: string,
): string | null | undefined {
  const amount = fields.find((field) => field.name === name);
  if (amount?.kind !== 'value' || !isMoney(amount, money)) return undefined;
  const currency = findCurrency(money, amount.source);
  if (currency == null) return currency;
  const naming = fields
    .filter((field) => field.kind === 'value')
    .filter((field) => !masked.has(field.name) && isCurrencySource(field.source, currency))
    .sort((one, other) => other.source.length - one.source.length);
  return naming[0]?.name ?? null;
}
