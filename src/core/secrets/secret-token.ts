// Bearer tokens for cookies, links and mails. The database stores only their SHA-256.
import { hash, randomBytes } from 'node:crypto';

/** 32 random bytes in base64url, which needs no escaping in URLs and cookies. */
export const secretTokenPattern = /^[A-Za-z0-9_-]{43}$/;
export const createSecretToken = (): string => randomBytes(32).toString('base64url');

export const hashSecretToken = (token: string): Buffer => hash('sha256', token, 'buffer');
