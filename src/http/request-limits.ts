// The rate limits of the management interface and /mcp: of each caller, and of all keys and tokens of an
// organization.
import type { RequestHandler, Response } from 'express';
import { rateLimit } from 'express-rate-limit';
import type { Ctx } from '../core/ctx.ts';
import type { ErrorDetail } from '../core/errors.ts';
import { countHits, requestWindowSeconds } from '../db/rate-limits.ts';
import { callerCtx } from './authenticate.ts';
import { databaseStore, rateLimitExceeded } from './rate-limit.ts';

/**
 * What the rate limit counts by: the API key, the key and the subject of its token, or the person behind an
 * access token or session. Throws 401 before `authenticate` has run.
 */
export const rateLimitKey = (res: Response): string => {
  const { credential, user } = callerCtx(res).caller;
  if (credential.tokenSubject !== undefined) return `token:${credential.id}:${credential.tokenSubject}`;
  return credential.kind === 'api-key' ? `key:${credential.id}` : `user:${user.id}`;
};

/**
 * What the limit of an organization counts by. Undefined for sessions, so that programs don't use up what
 * people need, and without an organization. Throws 401 before `authenticate` has run.
 */
export const organizationLimitKey = (res: Response): string | undefined => {
  const { credential, principal } = callerCtx(res).caller;
  return credential.kind === 'session' || principal === undefined
    ? undefined
    : `organization:${principal.organization.id}`;
};

/** A window that requests count in; those without a key don't. `name`: in the RateLimit headers. */
type Limit = {
  readonly name: string | undefined;
  readonly max: number;
  readonly findKey: (res: Response) => string | undefined;
  readonly details: readonly ErrorDetail[];
};

/** The caller's window, then its organization's: keys are free to create, so limits per key bound nothing. */
function listLimits({ settings }: Pick<Ctx, 'settings'>): readonly Limit[] {
  const { rateLimitPerMinute, organizationRateLimitPerMinute = 10 * rateLimitPerMinute } = settings;
  const message = `All API keys and tokens of an organization together may send ${organizationRateLimitPerMinute} requests a minute`;
  return [
    { name: undefined, max: rateLimitPerMinute, findKey: rateLimitKey, details: [] },
    {
      name: 'organization',
      max: organizationRateLimitPerMinute,
      findKey: organizationLimitKey,
      details: [{ path: '', code: 'organization_limit', message }],
    },
  ];
}

/**
 * Middleware that limits the requests of each caller and of its organization. Passes a 429 with Retry-After
 * to the error handler.
 */
export const rateLimitRequests = (ctx: Ctx): RequestHandler[] =>
  listLimits(ctx).map(({ name, max, findKey, details }) =>
    rateLimit({
      windowMs: requestWindowSeconds * 1000,
      limit: max,
      standardHeaders: 'draft-8',
      legacyHeaders: false,
      ...(name !== undefined && { identifier: name }),
      store: databaseStore(ctx),
      skip: (_req, res) => findKey(res) === undefined,
      keyGenerator: (_req, res) => findKey(res) ?? '',
      validate: false,
      handler: (_req, res, next) => {
        next(rateLimitExceeded(Number(res.getHeader('Retry-After') ?? requestWindowSeconds), details));
      },
    }),
  );

/** Counts `count` more requests against the limits of a request. Throws 429 when they exceed one. */
export async function consumeRateLimit(ctx: Ctx, res: Response, count: number): Promise<void> {
  for (const { max, findKey, details } of listLimits(ctx)) {
    const key = findKey(res);
    if (key === undefined) continue;
    const { hits, secondsLeft } = await countHits(ctx, key, { count });
    if (hits > max) throw rateLimitExceeded(secondsLeft, details);
  }
}
