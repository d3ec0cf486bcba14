// What records can be plotted by: the periods of their dates, and the values of their texts.

import type { ShownField } from '../../parts/read-records.tsx';
import { type Period, periods } from './periods.ts';

export type Group = { readonly name: string; readonly field: string; readonly period: Period | null };

/** The months of dates come first. */
export function listGroups(fields: readonly ShownField[]): Group[] {
  const readable = fields.filter(({ masked }) => !masked);
  const isDate = ({ type }: ShownField): boolean => type === 'date' || type === 'time';
  const ofDates = readable.filter(isDate).flatMap(({ name }) =>
    ['month' as const, ...periods.filter((period) => period !== 'month')].map((period) => ({
      name: `${name}.${period}`,
      field: name,
      period,
    })),
  );
  const ofValues = readable
    .filter(({ type }) => type === 'text' || type === 'boolean' || type === 'texts' || type === 'integers')
    .map(({ name }) => ({ name, field: name, period: null }));
  return [...ofDates, ...ofValues];
}
