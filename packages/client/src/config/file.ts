// The file: its format, reading it with all problems by path, and writing it.
import { readFile, writeFile } from 'node:fs/promises';
import { UsageError } from '../cli/settings.ts';
import type { Description } from './description.ts';
import { type Kind, kinds, sortSets } from './kinds.ts';
import { identityOf, labelOf, listDuplicates } from './organization.ts';
import { isObject, type Problem, type Values } from './schema.ts';

export const defaultFile = 'portal.config.json';
const format = 1;

export type Wanted = { readonly kind: Kind; readonly label: string; readonly values: Values };
/** The objects of each kind that the file has; kinds that it lacks are left alone. */
export type WantedObjects = ReadonlyMap<Kind, readonly Wanted[]>;

/** Compares by code units: the same everywhere. */
const compareTexts = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

/** Kinds in their order, objects by name. */
export function formatFile(objects: ReadonlyMap<Kind, readonly Values[]>): string {
  const entries = kinds.flatMap((kind): [string, unknown][] => {
    const all = [...(objects.get(kind) ?? [])].sort((one, other) =>
      compareTexts(identityOf(kind, one), identityOf(kind, other)),
    );
    if (kind.isSingle) return all.map((values) => [kind.name, values]);
    return [[kind.name, all]];
  });
  return `${JSON.stringify({ format, ...Object.fromEntries(entries) }, undefined, 2)}\n`;
}

/** Rejects with UsageError when it can't be written. */
export const writeConfig = (file: string, text: string): Promise<void> =>
  writeFile(file, text).catch((error: Error) => {
    throw new UsageError(`${file} can't be written: ${error.message}`);
  });

/**
 * The properties of the file, not yet compared with the description. Rejects with UsageError for a file that
 * can't be read, damaged JSON, another format and unknown kinds.
 */
export async function readDocument(file: string): Promise<Values> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(
      error.code === 'ENOENT'
        ? `There is no ${file}: run "portal config export" first.`
        : `${file} can't be read: ${error.message}`,
    );
  });
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${file} is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (!isObject(document)) throw new UsageError(`${file} must have an object.`);
  if (document['format'] !== format)
    throw new UsageError(
      `${file}: format is ${JSON.stringify(document['format'] ?? null)}, and must be ${format}.`,
    );
  const names = kinds.map(({ name }) => name);
  const unknown = Object.keys(document).find((name) => name !== 'format' && !names.includes(name));
  if (unknown === undefined) return document;
  throw new UsageError(`${file}: ${unknown} is unknown: kinds are ${names.join(', ')}.`);
}

/** Throws UsageError with the path of every problem, and for two objects with one name. */
export function readWanted(file: string, document: Values, description: Description): WantedObjects {
  const problems: Problem[] = [];
  const wanted = new Map<Kind, readonly Wanted[]>();
  for (const kind of kinds.filter(({ name }) => Object.hasOwn(document, name))) {
    const held = document[kind.name];
    if (!kind.isSingle && !Array.isArray(held)) {
      problems.push({ path: kind.name, message: 'must be an array' });
      continue;
    }
    const items: readonly unknown[] = kind.isSingle || !Array.isArray(held) ? [held] : held;
    const all = items.map((item, index) => {
      const path = kind.isSingle ? kind.name : `${kind.name}[${index}]`;
      const read = description.read(kind, item, { isStrict: true, path });
      problems.push(...read.problems);
      if (kind.isCovered?.(read.values) === false)
        problems.push({ path, message: 'is private, which the file does not cover' });
      return sortSets(read.values);
    });
    if (problems.length === 0)
      problems.push(
        ...listDuplicates(kind, all).map((label) => ({ path: kind.name, message: `has two ${label}` })),
      );
    wanted.set(
      kind,
      all.map((values) => ({ kind, values, label: labelOf(kind, values) })),
    );
  }
  if (problems.length === 0) return wanted;
  throw new UsageError(problems.map(({ path, message }) => `${file}: ${path} ${message}`).join('\n'));
}
