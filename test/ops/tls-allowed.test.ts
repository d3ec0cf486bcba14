// What a proxy in front is answered that asks whether it may obtain a certificate for a hostname.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { openServedPortal, type PortalOwner, switchOff, switchOn } from '../portal/served-portal.ts';
import { type DnsServer, startDns } from '../setup/dns.ts';
import { asSuperuser } from '../setup/superuser.ts';
import { openOrganization } from '../setup/use-organization.ts';
import { type ServingProcess, useOpsDatabase } from './server-process.ts';

const database = useOpsDatabase();
let dns: DnsServer;
let server: ServingProcess;
let monitoring: string;
let portal: PortalOwner & { readonly domainId: string };

beforeAll(async () => {
  dns = await startDns();
  const ctx = { ...database.ctx, settings: { ...database.ctx.settings, dnsServers: [dns.address] } };
  const app = createApp(ctx);
  portal = await openServedPortal(ctx, await openOrganization(ctx, app), dns, 'portal.acme.example');
  server = await database.start({ METRICS_PORT: '0', SYNC_WORKERS: '0' });
  const { port } = await server.line(({ msg }) => msg === 'metrics are served');
  monitoring = `http://127.0.0.1:${port}`;
});
afterAll(() => dns.stop());

async function ask(query: string, base = monitoring) {
  const answer = await fetch(`${base}/tls-allowed${query}`);
  return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
}
const askFor = async (hostname: string) => (await ask(`?domain=${encodeURIComponent(hostname)}`)).status;

describe('GET /tls-allowed', () => {
  it('200 for the verified primary domain of a portal that is on, in any case', async () => {
    const text = 'A portal is served at this hostname.\n';
    expect(await ask('?domain=portal.acme.example')).toEqual({ status: 200, type: 'text/plain', text });
    expect(await askFor('PORTAL.acme.example.')).toBe(200);
  });

  it('403 for any other name', async () => {
    const { status, text } = await ask('?domain=acme.example');
    expect([status, text]).toEqual([
      403,
      'This hostname is not the primary domain of a portal that is on.\n',
    ]);
    for (const hostname of ['127.0.0.1', '\0', "x' or true --", 'x'.repeat(5_000)])
      expect([hostname, await askFor(hostname)]).toEqual([hostname, 403]);
  });

  it('400 without a domain or with several', async () => {
    for (const query of [
      '',
      '?',
      '?domain=',
      '?name=portal.acme.example',
      '?domain=a.example&domain=b.example',
    ])
      expect([query, (await ask(query)).status]).toEqual([query, 400]);
  });

  it('403 as soon as the portal is off, or the domain is not primary or deleted', async () => {
    const { api, domains, domainId } = portal;
    await switchOff(portal);
    expect(await askFor('portal.acme.example')).toBe(403);
    await switchOn(portal);
    expect(await askFor('portal.acme.example')).toBe(200);
    await api('patch', `${domains}/${domainId}`, { isPrimary: false });
    expect(await askFor('portal.acme.example')).toBe(403);
    await api('patch', `${domains}/${domainId}`, { isPrimary: true });
    expect(await askFor('portal.acme.example')).toBe(200);
  });

  it('503 while the database refuses or does not answer, and the metrics are still served', async () => {
    await database.query('revoke execute on function find_portal from portal_service');
    expect(await ask('?domain=portal.acme.example')).toEqual({
      status: 503,
      type: 'text/plain',
      text: 'The database does not answer. Try again.\n',
    });
    await database.query('grant execute on function find_portal to portal_service');
    await asSuperuser(database.address, async (client) => {
      await client.query('begin');
      await client.query('lock table domains in access exclusive mode');
      const many = Array.from({ length: 20 }, () => askFor('portal.acme.example'));
      expect(new Set(await Promise.all(many))).toEqual(new Set([503]));
      expect((await fetch(`${monitoring}/metrics`)).status).toBe(200);
      await client.query('rollback');
    });
    expect(await askFor('portal.acme.example')).toBe(200);
  });

  it('exists on the port of the metrics alone', async () => {
    expect((await ask('?domain=portal.acme.example', server.url)).status).toBe(404);
    const answer = await fetch(`${monitoring}/tls-allowed?domain=portal.acme.example`, { method: 'POST' });
    expect(answer.status).toBe(404);
  });
});
