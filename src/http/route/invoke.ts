// Runs a route: authorize → parse → handle → validate the response. JSON requests and MCP tools call
// `invoke`; streams and downloads share its first half, `authorizeAndParse`.
import type { CallerCtx } from '../../core/ctx.ts';
import { authorize } from './authorize.ts';
import { type RawInput, type Route, successStatus } from './route.ts';

export type RouteResponse = { readonly status: number; readonly body: unknown };

/**
 * authorize → parse. Returns the parsed input. Throws 403 when the caller lacks the permission, 400 or 422
 * for invalid input.
 */
export function authorizeAndParse(route: Route, ctx: CallerCtx, raw: RawInput): unknown {
  authorize(route, ctx, raw.params);
  return route.parse(raw);
}

/**
 * authorize → parse → handle → validate the response. `around` may respond instead of the handler, as
 * idempotency does. Throws what these steps throw: 403, 400 or 422, the handler's errors, and a ZodError
 * (500) when the response doesn't fit its schema.
 */
export async function invoke(
  route: Route,
  ctx: CallerCtx,
  raw: RawInput,
  around: (handle: (ctx: CallerCtx) => Promise<RouteResponse>) => Promise<RouteResponse> = (handle) =>
    handle(ctx),
): Promise<RouteResponse> {
  const input = authorizeAndParse(route, ctx, raw);
  return around(async (handlerCtx) => {
    const result = await route.handle(handlerCtx, input);
    return { status: successStatus(route), body: route.response?.parse(result) };
  });
}
