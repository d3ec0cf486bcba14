// The file that remembers which clients were written from which descriptions.
import { createHash } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { IntegerForm } from '../generate/typescript.ts';
import { UsageError } from './settings.ts';

export const languages = ['ts', 'python'] as const;
export type Language = (typeof languages)[number];

export type LockedClient = {
  readonly version: string;
  readonly lang: Language;
  /** The folder of the client, relative to the file. */
  readonly out: string;
  readonly integers: IntegerForm;
  /** SHA-256 of the description, as the key got it, in hexadecimal digits. */
  readonly description: string;
};

export const lockName = 'portal.lock.json';

export const hashDescription = (text: string): string => createHash('sha256').update(text).digest('hex');

const isClient = ({ version, lang, out, description }: LockedClient): boolean =>
  languages.includes(lang) && [version, out, description].every((value) => typeof value === 'string');

/** Empty without the file. Throws UsageError when it can't be read. */
export async function readLock(folder: string): Promise<readonly LockedClient[]> {
  const text = await readFile(path.join(folder, lockName), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{"clients":[]}';
    throw error;
  });
  try {
    const { clients } = JSON.parse(text) as { clients: LockedClient[] };
    if (clients.every(isClient)) return clients;
  } catch {}
  throw new UsageError(`${lockName} is damaged: delete it, and pull again.`);
}

/** Replaces the client in the same folder with the same version and language. */
export async function lockClient(folder: string, client: LockedClient): Promise<void> {
  const idOf = ({ out, lang, version }: LockedClient) => `${out} ${lang} ${version}`;
  const others = (await readLock(folder)).filter((each) => idOf(each) !== idOf(client));
  const clients = [...others, client].sort((one, other) => (idOf(one) < idOf(other) ? -1 : 1));
  const file = path.join(folder, lockName);
  await writeFile(`${file}.new`, `${JSON.stringify({ clients }, undefined, 2)}\n`);
  await rename(`${file}.new`, file);
}
