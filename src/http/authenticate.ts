// Finds out who calls and hands the routes a CallerCtx. Failed attempts are counted per address. A session's cookie travels by
// itself, so a request that changes something must also come from a page of this service.
import { isIP } from 'node:net';
import { parse as parseCookies } from 'cookie';
import type { Request, RequestHandler, Response } from 'express';
import { ipKeyGenerator } from 'express-rate-limit';
import type { Caller, CallerCtx, Ctx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import type { VerifyToken } from '../identity/access-token.ts';
import { identify } from '../identity/principal.ts';
import { requestIdOf } from './errors.ts';
import { countFailure } from './rate-limit.ts';

const headerText = (value: string | string[] | undefined): string | undefined => (typeof value === 'string' ? value : undefined);

/** The caller's address. Behind proxies it is a header's word, so whatever is no address is none. */
export function callerAddress(req: Request): string {
  const ip = (req.ip ?? req.socket.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/i, '');
  return isIP(ip) === 0 ? 'unknown' : ip;
}

/** Whom failures count against: an IPv4 address, or the /64 of an IPv6 one, since one person holds all of it. */
export const networkOf = (ip: string): string => (isIP(ip) === 6 ? ipKeyGenerator(ip, 64) : ip);

/**
 * A cookie or a token in a link that is not known may be a guess. Throws 429 once one network made too many; until then whoever holds an
 * old one is answered.
 */
export async function countGuess(ctx: Ctx, req: Request): Promise<void> {
  const counted = await countFailure(ctx, networkOf(callerAddress(req)), new AppError('UNAUTHORIZED', 'Not known'));
  if (counted.status === 429) throw counted;
}

export const sessionCookieName = 'portal_session';
/** Of two that differ none can be trusted: a neighbouring host may have set one. The empty text is no credential's. */
export function cookieOf(req: Request, name: string): string | undefined {
  const given = (req.headers.cookie ?? '').split(';').map((pair) => parseCookies(pair)[name]);
  const values = new Set(given.filter((value) => value !== undefined));
  return values.size > 1 ? '' : [...values][0];
}
export const sessionCookie = (req: Request): string | undefined => cookieOf(req, sessionCookieName);

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Throws 403 for a request that may change something and does not come from a page of this service. */
export function refuseForeignOrigin(req: Request, publicUrl: string): void {
  if (safeMethods.has(req.method) || req.headers.origin === new URL(publicUrl).origin) return;
  throw new AppError('FORBIDDEN', 'A session only acts for pages of this service', {
    details: [{ path: 'origin', code: 'foreign_origin', message: 'Send the Origin of this service, or use a key or token' }],
  });
}

/** Without `sessions` a cookie is no credential. */
export function authenticate(ctx: Ctx, verify: VerifyToken, { sessions } = { sessions: true }): RequestHandler {
  return async (req, res, next) => {
    const ip = callerAddress(req);
    const left = new AbortController();
    res.once('close', () => {
      if (!res.writableFinished) left.abort();
    });
    try {
      const given = {
        authorization: req.headers.authorization,
        organization: headerText(req.headers['x-organization-id']),
        session: sessions ? sessionCookie(req) : undefined,
      };
      const again = () => identify(ctx, given, verify);
      const caller = await again();
      const requestId = requestIdOf(res);
      const callerCtx: CallerCtx = { ...ctx, log: ctx.log.child({ requestId }), caller, requestId, ip, gone: left.signal };
      res.locals['ctx'] = callerCtx;
      res.locals['callerAgain'] = again;
      res.locals['logged'] = { organizationId: caller.principal?.organization.id, credential: caller.credential };
    } catch (error) {
      if (error instanceof AppError && error.status === 401) throw await countFailure(ctx, networkOf(ip), error);
      throw error;
    }
    next();
  };
}

/** The ctx that `authenticate` made. */
export function callerCtx(res: Response): CallerCtx {
  const held: unknown = res.locals['ctx'];
  if (held === undefined) throw new AppError('UNAUTHORIZED', 'Missing or invalid authentication');
  return held as CallerCtx;
}

/** Who calls, by the same credential looked at anew: 401 once it no longer holds. */
export const callerAgain = (res: Response): Promise<Caller> => (res.locals['callerAgain'] as () => Promise<Caller>)();

/** Whose budget a request counts against: a key's own, or that of the person behind a token or session. */
export const budgetKey = (res: Response): string => {
  const { credential, user } = callerCtx(res).caller;
  return credential.kind === 'api-key' ? `key:${credential.id}` : `user:${user.id}`;
};
