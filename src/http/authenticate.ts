// Finds out who calls and hands the routes a RequestCtx. Failed attempts are counted per address.
import { isIP } from 'node:net';
import type { Request, RequestHandler, Response } from 'express';
import { ipKeyGenerator } from 'express-rate-limit';
import type { Ctx, RequestCtx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import type { VerifyToken } from '../identity/access-token.ts';
import { identify } from '../identity/principal.ts';
import { requestIdOf } from './errors.ts';
import { countFailure } from './rate-limit.ts';

const headerText = (value: string | string[] | undefined): string | undefined => (typeof value === 'string' ? value : undefined);

/** The caller's address. Behind proxies it is a header's word, so whatever is no address is none. */
function callerAddress(req: Request): string {
  const ip = (req.ip ?? req.socket.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/i, '');
  return isIP(ip) === 0 ? 'unknown' : ip;
}

/** Whom failures count against: an IPv4 address, or the /64 of an IPv6 one, since one person holds all of it. */
const networkOf = (ip: string): string => (isIP(ip) === 6 ? ipKeyGenerator(ip, 64) : ip);

export function authenticate(ctx: Ctx, verify: VerifyToken): RequestHandler {
  return async (req, res, next) => {
    const ip = callerAddress(req);
    try {
      const headers = { authorization: req.headers.authorization, organization: headerText(req.headers['x-organization-id']) };
      const principal = await identify(ctx, headers, verify);
      const requestId = requestIdOf(res);
      const requestCtx: RequestCtx = {
        ...ctx,
        log: ctx.log.child({ requestId }),
        principal,
        organizationId: principal.organization.id,
        requestId,
        ip,
      };
      res.locals['ctx'] = requestCtx;
      res.locals['logged'] = { organizationId: principal.organization.id, credential: principal.credential };
    } catch (error) {
      if (error instanceof AppError && error.status === 401) throw await countFailure(ctx, networkOf(ip), error);
      throw error;
    }
    next();
  };
}

/** The ctx that `authenticate` made. */
export function requestCtx(res: Response): RequestCtx {
  const held: unknown = res.locals['ctx'];
  if (held === undefined) throw new AppError('UNAUTHORIZED', 'Missing or invalid authentication');
  return held as RequestCtx;
}

/** Whose budget a request counts against: a key's own, or that of the person behind a token or session. */
export const budgetKey = (res: Response): string => {
  const { credential, user } = requestCtx(res).principal;
  return credential.kind === 'api-key' ? `key:${credential.id}` : `user:${user.id}`;
};
