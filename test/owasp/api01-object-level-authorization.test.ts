// API1:2023 Broken object level authorization. Every id of every operation over REST:
// test/contract/every-route; with the organization conditions removed from the queries:
// test/contract/isolation; streams: test/http/event-stream. Here the same objects through the other entry
// points: MCP tools, the public interface with its exports and descriptions, and secret URLs. Change tokens:
// test/public/changes; entity tags: test/public/read/pages.
import { beforeAll, describe, expect, it } from 'vitest';
import { createId } from '../../src/core/id.ts';
import { authorizedCaller, getRoute, guardedRoutes, useWalk } from '../contract/walk.ts';
import { invoicesEndpoint, loadInvoices, publishVersion } from '../public/fixture.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';

const walk = useWalk();

type Called = { status: number; text: string };
/** Calls an operation through its MCP tool. */
async function byTool(
  credential: Record<string, string>,
  id: string,
  path: object,
  query: object | undefined,
  body: unknown,
): Promise<Called> {
  const message = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'call_operation', arguments: { id, path, query, body } },
  };
  const headers = {
    ...credential,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const answer = await walk.server.send({
    method: 'POST',
    path: '/mcp',
    headers,
    body: JSON.stringify(message),
  });
  const text: string = answer.body?.result?.content?.[0]?.text ?? answer.text;
  const { status, error } = JSON.parse(text) as { status?: number; error?: { code: string } };
  return { status: error === undefined ? (status ?? 0) : error.code === 'NOT_FOUND' ? 404 : 400, text };
}
const plain = (text: string): string => text.replaceAll(/"requestId":"[^"]*"/g, '');

describe("an MCP tool with another organization's id", () => {
  const byId = guardedRoutes().filter(
    ({ params, permission }) =>
      permission !== 'signed-in' && Object.keys(params?.shape ?? {}).some((name) => /id$/i.test(name)),
  );
  // The tool uses the same path as REST, so one reading and one deleting operation per group is enough.
  const named = [...new Set(byId.map(({ group }) => group))].flatMap((group) =>
    ['GET', 'DELETE'].flatMap(
      (method) => byId.find((route) => route.group === group && route.method === method) ?? [],
    ),
  );

  it('responds as for an unknown id, in every group of operations', async () => {
    expect(named.length).toBeGreaterThan(12);
    const wrong: string[] = [];
    for (const route of named) {
      const { builder, site, foreign } = walk.getBuilder(route);
      const theirs = await builder.build(await foreign());
      const credential = authorizedCaller(route, await site());
      const unknown = Object.fromEntries(
        Object.entries(theirs.params ?? {}).map(([name, value]) => [
          name,
          /id$/i.test(name) ? createId() : value,
        ]),
      );
      const [answered, absent] = [
        await byTool(credential, route.id, theirs.params ?? {}, theirs.query, theirs.body),
        await byTool(credential, route.id, unknown, theirs.query, theirs.body),
      ];
      if (answered.status !== 404 || plain(answered.text) !== plain(absent.text))
        wrong.push(`${route.id}: ${answered.text} but ${absent.text}`);
    }
    expect(wrong).toEqual([]);
  });
});

describe('the public interface', () => {
  const marked = 'only-theirs';
  const side = async (number: string) => {
    const organization = await makeOrganization(walk.ctx);
    await loadInvoices(walk.ctx, organization.id, [
      { id: 1, tranid: number, status: 'open' },
      { id: number === marked ? 2 : 3, tranid: number, status: 'open' },
    ]);
    await publishVersion(walk.ctx, organization.id);
    if (number === marked)
      await publishVersion(walk.ctx, organization.id, {
        version: 'v2',
        endpoints: [{ ...invoicesEndpoint, name: 'secrets' }],
      });
    return { ...organization, secret: (await makeKey(walk.ctx, organization.id)).secret };
  };
  let mine: Awaited<ReturnType<typeof side>>;
  let theirs: Awaited<ReturnType<typeof side>>;
  beforeAll(async () => {
    [mine, theirs] = [await side('mine'), await side(marked)];
  });
  const ask = (path: string, of: { id: string; secret: string }, more: Record<string, string> = {}) =>
    walk.server.send({
      method: 'GET',
      path: `/api/public${path}`,
      headers: { authorization: `Bearer ${of.secret}`, 'x-tenant-id': of.id, ...more },
    });

  it('reads only the organization of the key, whatever else a request names', async () => {
    const paths = ['/v1/invoices', '/v1/invoices/2', '/v1/invoices/changes', '/openapi/v1', '/openapi/v2'];
    for (const path of [...paths, '/v2/secrets']) {
      const crossed = await ask(path, { id: theirs.id, secret: mine.secret });
      expect([path, crossed.status, crossed.text.includes(marked)]).toEqual([path, 403, false]);
      for (const more of [{ 'x-organization-id': theirs.id }, { 'x-tenant': theirs.id }]) {
        const answer = await ask(path, mine, more);
        expect([path, answer.text.includes(marked) || answer.text.includes('secrets')]).toEqual([
          path,
          false,
        ]);
      }
      const inQuery = await ask(`${path}?tenantId=${theirs.id}&organization_id=${theirs.id}`, mine);
      expect([path, inQuery.text.includes(marked)]).toEqual([path, false]);
    }
    expect((await ask('/v1/invoices/2', mine)).status).toBe(404);
    expect((await ask('/v1/invoices/2', theirs)).body.data).toMatchObject({ id: '2' });
    for (const accept of ['text/csv', 'application/x-ndjson', 'application/json'])
      expect((await ask('/v1/invoices', mine, { accept })).text).not.toContain(marked);
  });
});

describe('a secret URL', () => {
  it('of a webhook is bound to its endpoint: the id of another one is rejected with any body, and changes nothing', async () => {
    const foreign = await walk.getBuilder(getRoute('createCheckout')).foreign();
    const before = await foreign.sql((tx) => tx('pay_events').count<{ count: string }[]>({ count: '*' }));
    const { id } = await foreign.sql((tx) => tx('pay_accounts').first<{ id: string }>('id'));
    for (const provider of ['sandbox', 'stripe'])
      for (const endpoint of [id, createId(), foreign.organization.id]) {
        const path = `/api/platform/v1/pay/webhooks/${provider}/${endpoint}`;
        const answer = await walk.server.send({
          method: 'POST',
          path,
          headers: { 'content-type': 'application/json' },
          body: '{"id":"evt_1"}',
        });
        expect([400, 404]).toContain(answer.status);
      }
    expect(await foreign.sql((tx) => tx('pay_events').count<{ count: string }[]>({ count: '*' }))).toEqual(
      before,
    );
  });
});
