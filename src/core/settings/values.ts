// How the values of environment variables are written. Every message says what is allowed, and never repeats
// the value, which may be secret.
import { isIP } from 'node:net';
import { z } from 'zod';
import { type DatabaseUrl, parseDatabaseUrl, splitDatabaseUrls } from '../network/database-url.ts';
import type { EncryptionKey } from '../secrets/keyring.ts';

export const megabyte = 1024 * 1024;

/** A whole number, as text of at most nine digits. */
export const integer = (min: number, max: number) => {
  const message = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message);
};

/** Items separated by commas; none by default. */
export const list = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== ''),
  );
/** As `list`; `message` says how an item must be written. */
export const refineList = (isItem: (text: string) => boolean, message: string) =>
  list.refine((items) => items.every(isItem), message);

/** The values of Express's `trust proxy`: the number of proxies before the service, or their addresses. */
export const trustedProxies = z.string().transform((text, context): boolean | number | string => {
  if (text === 'true' || text === 'false') return text === 'true';
  if (/^\d{1,2}$/.test(text)) return Number(text);
  const valid = text.split(',').every((part) => {
    const [address = '', prefix = '0', ...more] = part.trim().split('/');
    const family = isIP(address);
    if (['loopback', 'linklocal', 'uniquelocal'].includes(part.trim())) return true;
    return (
      family !== 0 &&
      /^\d{1,3}$/.test(prefix) &&
      Number(prefix) <= (family === 4 ? 32 : 128) &&
      more.length === 0
    );
  });
  if (valid) return text;
  context.addIssue({
    code: 'custom',
    message: 'must be true, false, a number of proxies, or addresses and networks separated by commas',
  });
  return z.NEVER;
});

/** The address of a DNS server: 9.9.9.9, 127.0.0.1:5353, 2620:fe::fe or [::1]:5353. */
export const isServerAddress = (text: string): boolean => {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([\d.]+|[\da-f:]+))(?::(\d{1,5}))?$/i.exec(text) ?? [];
  return isIP(bracketed ?? plain ?? '') !== 0 && Number(port ?? 53) <= 65_535;
};

export const text = z.string().min(1);
/** `isAllowed` judges which of its servers an address asks for. */
const postgresUrlWith = (isAllowed: (url: DatabaseUrl) => boolean, message: string) =>
  z.string().superRefine((text, context) => {
    const url = parseDatabaseUrl(text);
    if (typeof url !== 'string' && isAllowed(url)) return;
    context.addIssue({ code: 'custom', message: typeof url === 'string' ? url : message });
  });
/** Addresses of servers that are only read, separated by commas. */
export const readUrls = z.string().transform((text, context): string[] => {
  const urls = splitDatabaseUrls(text);
  const problem = urls.map(parseDatabaseUrl).find((parsed) => typeof parsed === 'string');
  if (typeof problem !== 'string') return urls;
  context.addIssue({ code: 'custom', message: problem });
  return z.NEVER;
});
/** The address of the server that takes writes. */
export const primaryUrl = postgresUrlWith(
  ({ hosts, target }) => /^(read-write|primary)$/.test(target) || (target === 'any' && hosts.length === 1),
  'must have target_session_attrs=read-write or primary when it names several hosts, and no other value: the service writes there',
);
export const smtpUrl = z.string().regex(/^smtps?:\/\//, 'must be an smtp:// or smtps:// URL');
export const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });
export const isOrigin = (url: string): boolean => {
  const parsed = URL.parse(url);
  return (
    parsed !== null &&
    /^https?:$/.test(parsed.protocol) &&
    (url === parsed.origin || url === `${parsed.origin}/`)
  );
};
/** A URL without path, query or credentials. */
export const origin = z.string().refine(isOrigin, 'must be an http or https URL without a path');

export const encryptionKeys = z.string().transform((keyList, context): EncryptionKey[] => {
  const keys = keyList.split(',').map((part) => {
    const [id = '', secret = ''] = part.trim().split(':');
    return { id, bytes: Buffer.from(secret, 'base64') };
  });
  const valid = keys.every(({ id, bytes }) => /^[A-Za-z0-9_-]{1,32}$/.test(id) && bytes.length === 32);
  if (!valid || new Set(keys.map(({ id }) => id)).size !== keys.length) {
    context.addIssue({
      code: 'custom',
      message:
        'must be <id>:<32 bytes in base64>; several are separated by commas, the current one first, each with a different id',
    });
    return z.NEVER;
  }
  return keys;
});

/** Whether a key is certainly not random, such as zeros from an example: at most two different bytes. */
export const isTrivialKey = ({ bytes }: EncryptionKey): boolean => new Set(bytes).size <= 2;

/** For example `views=100,agents=5`; kinds that aren't listed keep their defaults. */
export const quotasOver = <K extends string>(defaults: Readonly<Record<K, number>>) =>
  list.transform((items, context): Readonly<Record<K, number>> => {
    const given = items.map((item) => /^(\w+)=(\d{1,7})$/.exec(item) ?? []);
    if (given.every(([, name]) => name !== undefined && Object.hasOwn(defaults, name)))
      return { ...defaults, ...Object.fromEntries(given.map(([, name = '', max]) => [name, Number(max)])) };
    context.addIssue({
      code: 'custom',
      message: `must be <kind>=<number>, several separated by commas; the kinds are: ${Object.keys(defaults).join(', ')}`,
    });
    return z.NEVER;
  });
