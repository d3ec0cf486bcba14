// API5:2023 Broken function level authorization. Every operation with every role, key and session:
// test/contract/roles. Here what that test leaves out: read-only tokens, in every operation and in the MCP
// tools, and method overrides.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { isReadPermission } from '../../src/core/permissions.ts';
import type { Route } from '../../src/http/route/route.ts';
import { platformBase } from '../../src/http/served.ts';
import { buildPath, getRoute, guardedRoutes } from '../contract/walk.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { useSignIn } from '../setup/use-sign-in.ts';

const site = useSignIn({ settings: { allowSignup: true, rateLimitPerMinute: 1_000_000 } });
let token: string;
beforeAll(async () => {
  token = await site.agentToken('portal:read');
});
beforeEach(() => site.ctx.db.control.raw('delete from rate_limits'));

const missingId = '00000000-0000-4000-8000-000000000000';
const ask = async (
  route: Route,
  credential: string,
  headers: Record<string, string> = {},
  method: string = route.method,
) => {
  const ids = Object.fromEntries(Object.keys(route.params?.shape ?? {}).map((name) => [name, missingId]));
  const path = buildPath(
    route,
    route.path.startsWith('/organizations/{id}') ? { ...ids, id: site.organization.id } : ids,
  );
  const response = await fetch(`${site.origin}${platformBase}${path}`, {
    method,
    headers: { authorization: `Bearer ${credential}`, ...headers },
  });
  return { status: response.status, text: await response.text() };
};

const findRefusal = ({ permission, method, writes }: Route): string | undefined => {
  if (permission === 'any' || permission === 'authenticated') return undefined;
  if (permission === 'signed-in') return method === 'GET' ? undefined : 'This token is read-only';
  if (writes === true) return 'This credential can only read';
  return isReadPermission(permission) ? undefined : `Missing required permission: ${permission}`;
};

describe("an owner's read-only token", () => {
  const guarded = guardedRoutes();

  it('may call reading operations and nothing else', async () => {
    const wrong: string[] = [];
    for (const route of guarded) {
      const { status, text } = await ask(route, token);
      const refusal = findRefusal(route);
      const isRight =
        refusal === undefined
          ? status !== 401 && status !== 403
          : status === 403 && JSON.parse(text).error.message === refusal;
      if (!isRight)
        wrong.push(`${route.method} ${route.path}: ${status} ${text}, wanted ${refusal ?? 'to be let in'}`);
    }
    expect(wrong).toEqual([]);
    expect(guarded.filter((route) => findRefusal(route) !== undefined).length).toBeGreaterThan(50);
  });

  it('is rejected in the same way by the MCP tool that calls operations', async () => {
    const message = (id: number, route: Route) => {
      const path = Object.fromEntries(
        Object.keys(route.params?.shape ?? {}).map((name) => [name, missingId]),
      );
      return {
        jsonrpc: '2.0',
        id,
        method: 'tools/call',
        params: { name: 'call_operation', arguments: { id: route.id, path } },
      };
    };
    const writes = guarded.filter((route) => findRefusal(route) !== undefined);
    const messages = writes.map((route, index) => message(index, route));
    const call = async (batch: typeof messages) => {
      const response = await fetch(`${site.origin}/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify(batch),
      });
      return (await response.json()) as {
        id: number;
        result: { isError?: boolean; content: { text: string }[] };
      }[];
    };
    // A batch has at most 100 messages.
    const half = Math.ceil(messages.length / 2);
    const answers = [...(await call(messages.slice(0, half))), ...(await call(messages.slice(half)))];
    expect(answers).toHaveLength(writes.length);
    const wrong = answers.filter(({ id, result }) => {
      const route = writes[id];
      const error = JSON.parse(result.content[0]?.text ?? '{}').error;
      return route === undefined || result.isError !== true || error?.message !== findRefusal(route);
    });
    expect(wrong).toEqual([]);
  });

  it('gains nothing by naming another method or organization', async () => {
    const [create, list] = [getRoute('createTeam'), getRoute('listTeams')];
    const other = await makeOrganization(site.ctx);
    for (const name of ['x-http-method-override', 'x-http-method', 'x-method-override'])
      expect((await ask(list, token, { [name]: 'POST' })).status).toBe(200);
    expect((await ask(create, token, { 'x-http-method-override': 'GET' })).status).toBe(403);
    expect((await ask(list, token, { 'x-organization-id': other.id })).status).toBe(403);
    const { secret } = await makeKey(site.ctx, site.organization.id, { permissions: ['read'] });
    expect((await ask(create, secret)).status).toBe(403);
  });
});
