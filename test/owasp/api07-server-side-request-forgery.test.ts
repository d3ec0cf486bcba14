// API7:2023 Server side request forgery. Kinds of addresses, malformed URLs and redirects:
// test/core/guarded-fetch. Here with a real DNS server and a listener that must never be reached: names that
// resolve to internal addresses, in every form, also only at the second lookup; and every operation that takes
// a URL from a caller.
import { Resolver } from 'node:dns/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createGuardedFetch,
  type GuardedFetch,
  GuardedFetchError,
  type Resolve,
} from '../../src/core/network/guarded-fetch.ts';
import { describePlatform } from '../../src/platform/index.ts';
import { authorizedCaller, getRoute, keyCredential, useWalk } from '../contract/walk.ts';
import { openWebhookSite } from '../platform/webhooks/site.ts';
import { type DnsServer, startDns } from '../setup/dns.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';

let dns: DnsServer;
let inside: Server;
let port: number;
let heard = 0;
const walk = useWalk();
beforeAll(async () => {
  dns = await startDns();
  inside = createServer((_request, response) => response.end('inside'));
  inside.on('connection', () => (heard += 1));
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve));
  port = (inside.address() as AddressInfo).port;
});
afterAll(async () => {
  await dns.stop();
  await new Promise((resolve) => inside.close(resolve));
});

/** Resolves names through the DNS server of this test, as the resolver of the system would. */
const resolve: Resolve = async (hostname) => {
  // One attempt, so that lookups can be counted; a stalled process must not take a late response for none.
  const resolver = new Resolver({ tries: 1, timeout: 60_000 });
  resolver.setServers([dns.address]);
  const all = await Promise.all([
    resolver.resolve4(hostname).then((found) => found.map((address) => ({ address, family: 4 }))),
    resolver.resolve6(hostname).then(
      (found) => found.map((address) => ({ address, family: 6 })),
      () => [],
    ),
  ]);
  return all.flat();
};
const limits = { timeoutMs: 60_000, maxBytes: 100_000 };
const catchReason = async (work: ReturnType<GuardedFetch>): Promise<string> =>
  work.then(
    ({ status }) => `answered ${status}`,
    (error: unknown) => (error instanceof GuardedFetchError ? error.reason : String(error)),
  );

const strict = createGuardedFetch({ allowPrivateHosts: false, resolve });
const forms = [
  ['127.0.0.1'],
  ['10.0.0.1'],
  ['169.254.169.254'],
  ['0.0.0.0'],
  ['8.8.8.8', '127.0.0.1'],
  ['8.8.8.8', '::1'],
  ['8.8.8.8', '::ffff:127.0.0.1'],
  ['8.8.8.8', '64:ff9b::7f00:1'],
  ['8.8.8.8', '2002:7f00:1::'],
  ['8.8.8.8', 'fe80::1'],
  ['8.8.8.8', 'fd00:ec2::254'],
  ['8.8.8.8', '::'],
];
/** A name for each. */
const nameInside = (): (readonly [name: string, addresses: string[]])[] =>
  forms.map((addresses, index) => {
    const name = `inside-${index}.example.test`;
    dns.set(name, { addresses });
    return [name, addresses];
  });
const spellings = `2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001 127.1 127.0.0.1. 0 [::] [::1]
  [::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1] [64:ff9b::127.0.0.1] [2002:7f00:1::] １２７.０.０.１
  ①②⑦.0.0.1 127。0。0。1 %31%32%37.0.0.1`.split(/\s+/);

describe('a name', () => {
  it('that resolves to an internal address in any form is rejected, without a connection', async () => {
    for (const [name, addresses] of nameInside()) {
      for (const url of [`https://${name}:${port}/`, `http://${name}:${port}/`])
        expect([addresses, await catchReason(strict(url, limits))]).toEqual([addresses, 'refused-address']);
    }
    expect(dns.asked.length).toBeGreaterThanOrEqual(forms.length * 2);
    expect(heard).toBe(0);
  });

  it('that changes between lookup and connection is connected to the address of its only lookup', async () => {
    const lenient = createGuardedFetch({ allowPrivateHosts: true, resolve });
    const name = 'rebinding.example.test';
    dns.set(name, { addresses: ['127.0.0.1'] });
    let looks = 0;
    dns.onAsked((asked) => {
      if (asked !== name) return;
      looks += 1;
      // A second lookup returns the metadata service of the cloud.
      if (looks > 2) dns.set(name, { addresses: ['169.254.169.254'] });
    });
    const before = heard;
    expect(await catchReason(lenient(`http://${name}:${port}/`, limits))).toBe('answered 200');
    expect([looks, heard - before]).toEqual([2, 1]);
    expect(await catchReason(lenient(`http://${name}:${port}/`, limits))).toBe('refused-address');
  });

  it('in any spelling of an address is that address', async () => {
    const before = heard;
    for (const spelling of spellings)
      for (const scheme of ['https', 'http'])
        expect([spelling, await catchReason(strict(`${scheme}://${spelling}:${port}/`, limits))]).toEqual([
          spelling,
          'refused-address',
        ]);
    expect(heard).toBe(before);
  });
});

/** The body fields that contain a URL, by operation, and what each is for. */
const addressFields: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['createConnection', 'updateConnection'].map((id) => [
      `${id}.settings.signIn.tokenUrl`,
      'called: a public https address, or one that the operator allows',
    ]),
  ),
  ...Object.fromEntries(
    [
      'putErpConnection.baseUrl',
      'createConnection.settings.baseUrl',
      'updateConnection.settings.baseUrl',
    ].map((field) => [field, 'called: the account’s own host, or one that the operator allows']),
  ),
  'putPortalSignIn.openIdConnect.issuer': 'called: through the guarded fetch',
  'createWebhook.url': 'called: through the guarded fetch, which follows no redirect',
  'updateWebhook.url': 'called: through the guarded fetch, which follows no redirect',
  'createCheckout.successUrl': 'a payer’s browser is sent there: https on a verified domain',
  'createCheckout.cancelUrl': 'a payer’s browser is sent there: https on a verified domain',
  'putPortalBranding.legalLinks.url': 'a visitor follows it: https, never called by the service',
};

describe('a URL from a caller', () => {
  type Shape = {
    properties?: Record<string, Shape>;
    items?: Shape;
    anyOf?: Shape[];
    oneOf?: Shape[];
    format?: string;
  };
  const addressesIn = (shape: Shape, at: string): string[] => [
    ...[shape.anyOf ?? [], shape.oneOf ?? []].flat().flatMap((part) => addressesIn(part, at)),
    ...Object.entries(shape.properties ?? {}).flatMap(([name, inner]) => addressesIn(inner, `${at}.${name}`)),
    ...(shape.items === undefined ? [] : addressesIn(shape.items, at)),
    ...(shape.format === 'uri' ||
    /(?:url|uri|host|endpoint|webhook|callback|redirect)$/i.test(at.slice(at.indexOf('.')))
      ? [at]
      : []),
  ];

  it('is in this list', () => {
    type Operation = { operationId?: string; requestBody?: { content: Record<string, { schema: Shape }> } };
    const paths = Object.values(
      describePlatform('http://127.0.0.1')['paths'] as Record<string, Record<string, Operation>>,
    );
    const found = paths.flatMap((methods) =>
      Object.values(methods).flatMap(({ operationId = '', requestBody }) =>
        Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => addressesIn(schema, operationId)),
      ),
    );
    expect([...new Set(found)].sort()).toEqual(Object.keys(addressFields).sort());
  });

  const own = 'tstdrv1234567.suitetalk.api.netsuite.com';
  const hosts = [
    '127.0.0.1',
    'localhost',
    '169.254.169.254',
    '[::1]',
    '[::ffff:7f00:1]',
    '2130706433',
    `${own}.evil.example`,
    `evil.example/${own}`,
    `evil.example#${own}`,
    `evil.example?${own}`,
    `evil.example\\${own}`,
    `${own}@evil.example`,
    `user:pass@${own}`,
    `evil${own}`.replace('.', '.evil.'),
    'suitetalk.api.netsuite.com',
    `.${own}`,
    `${own}.`,
    `${own}:8443`,
    'tstdrv1234567.suitetalk.api.netsuite.com.',
    'tstdrv1234567.suitetalk.api.nеtsuite.com',
  ];

  it('for the ERP must be the host of the account', async () => {
    const put = getRoute('putErpConnection');
    const { id } = await makeOrganization(walk.ctx);
    const credential = keyCredential((await makeKey(walk.ctx, id, { permissions: ['write'] })).secret);
    const authentication = {
      method: 'tba',
      consumerKey: 'ck',
      tokenId: 'ti',
      consumerSecret: 'x'.repeat(32),
      tokenSecret: 'y'.repeat(32),
    };
    const ask = (baseUrl: string) =>
      walk.send(put, { body: { accountId: 'TSTDRV1234567', baseUrl, authentication } }, credential);
    const before = heard;
    for (const baseUrl of [
      ...hosts.map((host) => `https://${host}`),
      `http://${own}`,
      `http://127.0.0.1:${port}`,
      `ftp://${own}`,
    ])
      expect([baseUrl, (await ask(baseUrl)).status]).toEqual([baseUrl, 422]);
    expect((await ask(`https://${own}`)).status).toBe(200);
    expect(heard).toBe(before);
  });

  it('for webhooks is looked up and checked at each delivery', async () => {
    const site = await openWebhookSite({ ...walk.ctx, fetch: strict });
    try {
      const before = heard;
      const ids: string[] = [];
      for (const host of [...nameInside().map(([name]) => name), ...spellings]) {
        const { id } = await site.create({ url: `https://${host}:${port}/`, events: ['records.changed'] });
        ids.push(id);
        await site.call('post', `/webhooks/${id}/test`);
      }
      await site.work();
      for (const id of ids) {
        const [{ attempts }] = await site.deliveries(id);
        expect(attempts).toMatchObject([{ status: null, error: expect.stringMatching(/address/) }]);
      }
      expect(heard).toBe(before);
    } finally {
      await site.stop();
    }
  });

  it('for the return of a payer must be a page of the organization', async () => {
    const checkOut = getRoute('createCheckout');
    const { builder, site: openSite } = walk.getBuilder(checkOut);
    const site = await openSite();
    await site.sql((tx) =>
      tx('domains').insert({
        id: '00000000-0000-4000-8000-000000000001',
        organization_id: site.organization.id,
        hostname: 'shop.example.test',
        verification_value: 'portal-verification=0',
        status: 'verified',
        verified_at: new Date(),
      }),
    );
    const ask = async (successUrl: string) => {
      const sent = await builder.build(site);
      return walk.send(
        checkOut,
        { ...sent, body: { ...(sent.body as object), successUrl } },
        authorizedCaller(checkOut, site),
      );
    };
    for (const good of ['https://shop.example.test/paid', 'https://www.shop.example.test/'])
      expect([good, (await ask(good)).status]).toEqual([good, 201]);
    const foreign = [
      'https://evil.example/',
      'http://shop.example.test/',
      'https://shop.example.test.evil.example/',
      'https://evilshop.example.test/',
      'https://shop.example.test@evil.example/',
      'https://evil.example\\@shop.example.test/',
      'https://user:pass@shop.example.test/',
      'https://evil.example/#shop.example.test',
      'javascript:alert(1)//shop.example.test',
      'data:text/html,shop.example.test',
      '//shop.example.test/',
      'https:evil.example',
      'http://169.254.169.254/',
    ];
    for (const bad of foreign) expect([bad, (await ask(bad)).status]).toEqual([bad, 422]);
  });
});
