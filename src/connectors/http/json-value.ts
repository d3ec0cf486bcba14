// Converts values of JSON to ours, one at a time. Anything that isn't a value of its type is reported as a problem and
// never coerced. Numbers stay text: a float would lose cents.
import { isDay, toUtcTime } from '../../core/text/calendar.ts';
import type { DigitsJson } from '../../core/text/exact-json.ts';
import { plainDecimal } from '../../core/text/plain-decimal.ts';
import type { FieldType } from '../connector.ts';
import type { SourceValue } from '../source-records.ts';

const storable = (raw: string): string | undefined =>
  raw.includes('\0') || !raw.isWellFormed() ? undefined : raw;
const ifValid = (raw: string, isValid: boolean): string | undefined => (isValid ? raw : undefined);
const emptyGuid = '00000000-0000-0000-0000-000000000000';

const parsers: Readonly<Record<FieldType, (raw: string) => SourceValue | undefined>> = {
  text: storable,
  list: storable,
  multiselect: () => undefined,
  // An empty GUID names no record.
  reference: (raw) => (raw === emptyGuid || raw === '' ? null : storable(raw)),
  integer: (raw) => ifValid(raw, /^-?\d{1,18}$/.test(raw)),
  number: plainDecimal,
  boolean: () => undefined,
  date: (raw) => ifValid(raw, isDay(raw)),
  time: toUtcTime,
  lines: () => undefined,
};

/** Undefined for what isn't a value of this type, or is missing: what the user may not read is often left out. */
export function parseValue(raw: DigitsJson | undefined, type: FieldType): SourceValue | undefined {
  if (raw === null) return null;
  if (type === 'boolean') return typeof raw === 'boolean' ? String(raw) : undefined;
  return typeof raw === 'string' ? parsers[type](raw) : undefined;
}
