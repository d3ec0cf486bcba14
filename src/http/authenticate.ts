// Authenticates the caller and hands the routes a CallerCtx. Failed attempts are counted per network.
// Browsers send a session's cookie by themselves, so a request with a session that changes something must
// also come from a page of this service (CSRF protection).
import type { Request, RequestHandler, Response } from 'express';
import type { Caller, CallerCtx, Credential, ReadingCtx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import type { VerifyToken } from '../identity/access-token.ts';
import { identify } from '../identity/principal.ts';
import { callerAddress } from './caller-address.ts';
import { sessionCookies } from './cookies.ts';
import { getRequestId } from './errors.ts';
import type { FailureLimit } from './failure-limit.ts';

/** A credential as the request log shows it. */
export const loggedCredential = ({ kind, id, tokenSubject }: Credential) => ({
  kind: tokenSubject === undefined ? kind : 'token',
  id,
});

const headerText = (value: string | string[] | undefined) => (typeof value === 'string' ? value : undefined);

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Throws 403 for a request that may change something and does not come from a page of this service. */
export function assertSameOrigin(req: Request, publicUrl: string): void {
  if (safeMethods.has(req.method) || req.headers.origin === new URL(publicUrl).origin) return;
  throw new AppError('FORBIDDEN', 'A session may only be used by pages of this service', {
    details: [
      {
        path: 'origin',
        code: 'foreign_origin',
        message: "Send this service's own Origin, or authenticate with an API key or a token",
      },
    ],
  });
}

/**
 * Middleware that identifies the caller and sets `callerCtx`. Without `sessions` cookies are ignored;
 * `tokens`: those of API keys are accepted. Throws 401 for a missing or invalid credential, and 429 once the
 * caller's network has failed too often.
 */
export function authenticate(
  ctx: ReadingCtx,
  verify: VerifyToken,
  failures: FailureLimit,
  { sessions, tokens } = { sessions: true, tokens: false },
): RequestHandler {
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
        sessions: sessions ? sessionCookies(req, ctx.settings.publicUrl) : [],
        acceptsTokens: tokens,
      };
      const identifyCaller = () => identify(ctx, given, verify);
      const caller = await identifyCaller();
      const requestId = getRequestId(res);
      const callerCtx: CallerCtx = {
        ...ctx,
        log: ctx.log.child({ requestId }),
        caller,
        requestId,
        ip,
        disconnected: left.signal,
      };
      res.locals['ctx'] = callerCtx;
      res.locals['identifyCaller'] = identifyCaller;
      res.locals['logged'] = {
        organizationId: caller.principal?.organization.id,
        credential: loggedCredential(caller.credential),
      };
    } catch (error) {
      if (error instanceof AppError && error.status === 401) throw await failures.count(req, error);
      throw error;
    }
    next();
  };
}

/** The ctx that `authenticate` created. Throws 401 without it. */
export function callerCtx(res: Response): CallerCtx {
  const held: unknown = res.locals['ctx'];
  if (held === undefined) throw new AppError('UNAUTHORIZED', 'Missing or invalid authentication');
  return held as CallerCtx;
}

/** Identifies the caller again by the same credential. Rejects with 401 once it is no longer valid. */
export const reidentifyCaller = (res: Response): Promise<Caller> =>
  (res.locals['identifyCaller'] as () => Promise<Caller>)();
