// The names of the cookies that this service sets, and how they are read. Over https they have the prefix `__Host-`: browsers then accept them
// from this host alone, so that a page of a sibling domain can't set a second cookie of the same name.
import { parse as parseCookies } from 'cookie';
import type { Request } from 'express';

const nameOf = (publicUrl: string, name: string): string => (publicUrl.startsWith('https:') ? `__Host-${name}` : name);
export const sessionCookieName = (publicUrl: string): string => nameOf(publicUrl, 'portal_session');
export const attemptCookieName = (publicUrl: string): string => nameOf(publicUrl, 'portal_sign_in');

/** The path of the cookie of a sign-in attempt: the prefix allows no other than `/`. */
export const attemptCookiePath = (publicUrl: string): string => (publicUrl.startsWith('https:') ? '/' : '/auth');

/** The value of a cookie. Of two that differ neither can be trusted: then it is the empty string, which is no valid credential. */
export function cookieOf(req: Request, name: string): string | undefined {
  const given = (req.headers.cookie ?? '').split(';').map((pair) => parseCookies(pair)[name]);
  const values = new Set(given.filter((value) => value !== undefined));
  return values.size > 1 ? '' : [...values][0];
}

export const sessionCookie = (req: Request, publicUrl: string): string | undefined => cookieOf(req, sessionCookieName(publicUrl));
