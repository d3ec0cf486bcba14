// What differs between two values, in short lines for people.
import { isObject, type Values } from './schema.ts';

const maxLines = 6;
const maxText = 80;

const toText = (value: unknown): string => {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > maxText ? `${text.slice(0, maxText)}…` : text;
};

export const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/** Entries of `before` that `after` lacks, of lists of texts and numbers. */
export function listRemoved(before: unknown, after: unknown): unknown[] {
  const [earlier, later] = [before, after].map((list) => (Array.isArray(list) ? list : []));
  return (earlier ?? []).filter((item) => !later?.includes(item));
}

const isPlainList = (value: unknown): boolean =>
  Array.isArray(value) && !value.some((item) => isObject(item));

function compareLists(path: string, before: unknown, after: unknown): string {
  const [removed, added] = [listRemoved(before, after), listRemoved(after, before)];
  if (removed.length + added.length === 0) return `${path}: ${toText(before)} → ${toText(after)}`;
  const parts = [
    removed.length > 0 && `removed ${toText(removed)}`,
    added.length > 0 && `added ${toText(added)}`,
  ];
  return `${path}: ${parts.filter(Boolean).join(', ')}`;
}

function compare(path: string, before: unknown, after: unknown): string[] {
  if (isSame(before, after)) return [];
  if (isPlainList(before) && isPlainList(after)) return [compareLists(path, before, after)];
  const isList = Array.isArray(before) && Array.isArray(after);
  if (!isList && !(isObject(before) && isObject(after)))
    return [`${path}: ${toText(before)} → ${toText(after)}`];
  const [earlier, later] = [before, after] as readonly Values[];
  const names = new Set([...Object.keys(earlier ?? {}), ...Object.keys(later ?? {})]);
  return [...names].flatMap((name) =>
    compare(isList ? `${path}[${name}]` : `${path}.${name}`, earlier?.[name], later?.[name]),
  );
}

/** One line for each part that differs, old → new; of many, the first. */
export function describeDifference(property: string, before: unknown, after: unknown): string[] {
  const lines = compare(property, before, after);
  return lines.length <= maxLines
    ? lines
    : [...lines.slice(0, maxLines), `${property}: ${lines.length - maxLines} more differences`];
}
