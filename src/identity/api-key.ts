// The format of API keys: `psk_` + 43 base62 digits (32 random bytes) + 6 base62 digits (CRC-32 of everything
// before), so that a mistyped key is rejected without a lookup. Only the SHA-256 of a key is ever stored.
import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const prefix = 'psk_';
const pattern = /^psk_[0-9A-Za-z]{49}$/;
/** Of the prefix that is stored and displayed: enough to distinguish keys, far too little to guess one. */
const prefixLength = 12;

function base62(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest /= 62n) text = (digits[Number(rest % 62n)] ?? '') + text;
  return text;
}

/** Like `base62`, but without bigint, which these small numbers don't need: it runs with every request. */
function checksum(body: string): string {
  let text = '';
  for (let rest = crc32(body); text.length < 6; rest = Math.floor(rest / 62))
    text = (digits[rest % 62] ?? '') + text;
  return text;
}

export type GeneratedApiKey = { readonly secret: string; readonly prefix: string; readonly hash: Buffer };

export const hashApiKey = (secret: string): Buffer => hash('sha256', secret, 'buffer');

/** What a token names of the secret that minted it, made from that secret's stored hash. */
export const secretMark = (secretHash: Buffer): Buffer => hash('sha256', secretHash, 'buffer');

/** `secret` is shown once and never stored; `prefix` and `hash` are stored. */
export function generateApiKey(): GeneratedApiKey {
  const body = prefix + base62(BigInt(`0x${randomBytes(32).toString('hex')}`), 43);
  const secret = body + checksum(body);
  return { secret, prefix: secret.slice(0, prefixLength), hash: hashApiKey(secret) };
}

/** Whether the text has the form of an API key and a correct checksum; doesn't look up whether it exists. */
export const hasApiKeyFormat = (text: string): boolean =>
  pattern.test(text) && text.slice(-6) === checksum(text.slice(0, -6));
