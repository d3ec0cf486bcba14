// The form of an API key and what is stored of it. `psk_` + 43 base62 digits (32 random bytes) + 6 base62 digits (CRC-32 of
// what stands before), so that a mistyped key is refused without a look-up. Only the SHA-256 of a key is ever stored.
import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const prefix = 'psk_';
const form = /^psk_[0-9A-Za-z]{49}$/;
/** How much of a key may be shown again: enough to tell keys apart, far too little to guess one. */
const shownLength = 12;

function base62(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest /= 62n) text = (digits[Number(rest % 62n)] ?? '') + text;
  return text;
}

/** As base62 would write it; asked for with every request, and whole numbers of this size need no bigint. */
function checksum(body: string): string {
  let text = '';
  for (let rest = crc32(body); text.length < 6; rest = Math.floor(rest / 62)) text = (digits[rest % 62] ?? '') + text;
  return text;
}

export type NewApiKey = { readonly secret: string; readonly prefix: string; readonly hash: Buffer };

export const hashApiKey = (secret: string): Buffer => hash('sha256', secret, 'buffer');

export function makeApiKey(): NewApiKey {
  const body = prefix + base62(BigInt(`0x${randomBytes(32).toString('hex')}`), 43);
  const secret = body + checksum(body);
  return { secret, prefix: secret.slice(0, shownLength), hash: hashApiKey(secret) };
}

/** Whether the text has the form of a key and its checksum fits; says nothing about whether such a key exists. */
export const isApiKey = (text: string): boolean => form.test(text) && text.slice(-6) === checksum(text.slice(0, -6));
