// Tokens that open something to whoever holds them: in a cookie, a link or a mail. The database knows their SHA-256 alone.
import { hash, randomBytes } from 'node:crypto';

/** 32 random bytes, in characters that addresses and cookies can hold. */
export const secretTokenForm = /^[A-Za-z0-9_-]{43}$/;
export const newSecretToken = (): string => randomBytes(32).toString('base64url');

export const hashSecretToken = (token: string): Buffer => hash('sha256', token, 'buffer');
