// E-mail addresses as people type them.
import { domainToASCII } from 'node:url';
import { z } from 'zod';

const Address = z.email().max(254);

/**
 * The address without surrounding spaces, with ASCII letters in lower case and the domain as DNS writes it
 * (IDNA); null when it is none. Other letters stay as they are: look-alikes are different addresses.
 */
export function normalizeEmail(typed: string): string | null {
  const trimmed = typed.trim();
  const at = trimmed.lastIndexOf('@');
  const domain = at < 1 ? '' : domainToASCII(trimmed.slice(at + 1));
  const { data } = Address.safeParse(`${trimmed.slice(0, at)}@${domain}`);
  return data?.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()) ?? null;
}
