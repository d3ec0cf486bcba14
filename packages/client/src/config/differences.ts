// What differs between two values, in short lines for people.
import { isObject, type Values } from './schema.ts';

const maxLines = 6;
const maxText = 80;

const toText = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value));

/** The text around the place `from`. */
function cut(text: string, from = 0): string {
  const start = Math.max(0, Math.min(from - maxText / 4, text.length - maxText));
  const part = text.slice(start, start + maxText);
  return `${start > 0 ? '…' : ''}${part}${start + maxText < text.length ? '…' : ''}`;
}

/** Both are cut around the first place where they differ. */
function describePair(path: string, before: unknown, after: unknown): string {
  const [one, other] = [toText(before), toText(after)];
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return `${path}: ${cut(one, at)} → ${cut(other, at)}`;
}

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
  if (removed.length + added.length === 0) return describePair(path, before, after);
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
  if (!isList && !(isObject(before) && isObject(after))) return [describePair(path, before, after)];
  const [earlier, later] = [before, after] as readonly Values[];
  const names = new Set([...Object.keys(earlier ?? {}), ...Object.keys(later ?? {})]);
  return [...names].flatMap((name) =>
    compare(isList ? `${path}[${name}]` : `${path}.${name}`, earlier?.[name], later?.[name]),
  );
}

/** A property of an object that doesn't exist yet; none for what is empty. Lists of names are whole. */
export function describeNew(property: string, value: unknown): string[] {
  if (value === null || value === '' || isSame(value, [])) return [];
  return [`${property}: ${isPlainList(value) ? toText(value) : cut(toText(value))}`];
}

/** One line for each part that differs, old → new; of many, the first. */
export function describeDifference(property: string, before: unknown, after: unknown): string[] {
  const lines = compare(property, before, after);
  return lines.length <= maxLines
    ? lines
    : [...lines.slice(0, maxLines), `${property}: ${lines.length - maxLines} more differences`];
}
