// The file: its format, and writing it.
import { writeFile } from 'node:fs/promises';
import { UsageError } from '../cli/settings.ts';
import { type Kind, kinds } from './kinds.ts';
import { identityOf } from './organization.ts';
import type { Values } from './schema.ts';

export const defaultFile = 'portal.config.json';
const format = 1;

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
