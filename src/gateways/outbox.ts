// Writes mails as .eml files where no SMTP server is configured. A mail's file name is the same for all
// attempts, so that writing it twice leaves one file.
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createId } from '../core/id.ts';
import type { ComposedMail } from './compose-mail.ts';

/** Sorts by the mail's date and contains its Message-ID. */
const fileName = ({ date, messageId }: ComposedMail): string =>
  `${date.toISOString().replaceAll(':', '')}-${messageId.replaceAll(/[^A-Za-z0-9@.-]+/g, '').slice(0, 180)}.eml`;

/**
 * Readers see the whole file or none. Only the owner of the process can access the folder and the file.
 * Throws the file system's error, such as ENOSPC or EACCES.
 */
export async function writeToOutbox(folder: string, mail: ComposedMail): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  const partial = path.join(folder, `.${createId()}.partial`);
  try {
    await writeFile(partial, mail.raw, { mode: 0o600, flag: 'wx', flush: true });
    await rename(partial, path.join(folder, fileName(mail)));
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}
