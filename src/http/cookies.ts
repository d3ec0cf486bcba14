// The names of the cookies that this service sets, and how they are read. Over https they have the prefix
// `__Host-`: browsers then accept them from this host alone, so that a page of a sibling domain can't set a
// second cookie of the same name.
import { parse as parseCookies } from 'cookie';
import type { Request } from 'express';

export const toCookieName = (publicUrl: string, name: string): string =>
  publicUrl.startsWith('https:') ? `__Host-${name}` : name;
export const sessionCookieName = (publicUrl: string): string => toCookieName(publicUrl, 'portal_session');
export const attemptCookieName = (publicUrl: string): string => toCookieName(publicUrl, 'portal_sign_in');

/** The path of the cookie of a sign-in attempt: the prefix allows no other than `/`. */
export const attemptCookiePath = (publicUrl: string): string =>
  publicUrl.startsWith('https:') ? '/' : '/auth';

/**
 * The different values of the cookies with this name. Without the prefix a sibling domain may have added
 * some: the valid one counts.
 */
export function listCookieValues(req: Request, name: string): readonly string[] {
  const given = (req.headers.cookie ?? '').split(';').map((pair) => parseCookies(pair)[name]);
  return [...new Set(given.filter((value) => value !== undefined))];
}

export const sessionCookies = (req: Request, publicUrl: string): readonly string[] =>
  listCookieValues(req, sessionCookieName(publicUrl));
