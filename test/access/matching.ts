// Which records match what a query asks beyond plain filters: conditions on lines, `q` and `or`. Computed in
// memory, over records as an unlimited reader sees them. Shares nothing with the service.
import { byValue, toText } from './computed.ts';
import { type EndpointModel, type ExactRecord, equals, type FieldKind, type FilterModel } from './model.ts';

export type Condition = { readonly filter: FilterModel; readonly values: readonly string[] };

/** For ASCII, of which the values of this test consist. */
const contains = (value: unknown, part: string): boolean =>
  typeof value === 'string' && value.toLowerCase().includes(part.toLowerCase());

/** Whether one value, null or a value as `parseExact` reads it, satisfies an operator. */
function satisfies(kind: FieldKind, operator: string, value: unknown, wanted: readonly string[]): boolean {
  const [first = ''] = wanted;
  const isNull = value === null || value === undefined;
  if (operator === 'null') return isNull === (first === 'true');
  if (operator === 'eq') return wanted.some((one) => equals(kind, value, one));
  if (operator === 'not') return isNull || !wanted.some((one) => equals(kind, value, one));
  if (isNull) return false;
  if (operator === 'contains') return contains(value, first);
  if (operator === 'starts_with') return toText(value).toLowerCase().startsWith(first.toLowerCase());
  const order = byValue(kind)(toText(value), first);
  if (operator === 'gt' || operator === 'after') return order > 0;
  if (operator === 'lt' || operator === 'before') return order < 0;
  return operator === 'gte' ? order >= 0 : order <= 0;
}

const lineKinds: Readonly<Record<string, FieldKind>> = { item: 'text', cost: 'number', count: 'integer' };
export const isOfLines = ({ field }: FilterModel): boolean => field.includes('.');

/** For a filter by a field of lines: whether one of the lines matches. */
export function matches(
  endpoint: EndpointModel,
  record: ExactRecord,
  { filter, values }: Condition,
): boolean {
  const { field, operator } = filter;
  if (field === 'id') return values.includes(record.id);
  const [name = '', part] = field.split('.');
  const model = endpoint.fields.find((one) => one.name === name);
  if (part === undefined) return satisfies(model?.kind ?? 'text', operator, record[name], values);
  const kind = lineKinds[model?.lines.find((line) => line.name === part)?.source ?? ''] ?? 'text';
  return ((record[name] ?? []) as Record<string, unknown>[]).some((line) =>
    satisfies(kind, operator, line[part], values),
  );
}

/** `fields`: those of the search that the reader may use. */
export const isFound = (record: ExactRecord, q: string, fields: readonly string[]): boolean =>
  fields.some((name) => contains(record[name], q));
