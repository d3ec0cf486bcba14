// The configuration of docs/portal-domains.md with the real Caddy: which hostnames get a certificate, and that
// requests reach the service with their Host.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { openServedPortal, type PortalOwner } from '../portal/served-portal.ts';
import { describeIf } from '../setup/describe-if.ts';
import { type DnsServer, startDns } from '../setup/dns.ts';
import { findStablePort } from '../setup/stable-port.ts';
import { openOrganization } from '../setup/use-organization.ts';
import { type CaddyProcess, noCaddy, startCaddy } from './caddy-process.ts';
import { useOpsDatabase } from './server-process.ts';

const ownHost = 'portal.service.example';
const [acme, zeta] = ['portal.acme.example', 'portal.zeta.example'];

describeIf('Caddy with on-demand TLS', noCaddy, () => {
  const database = useOpsDatabase();
  let dns: DnsServer;
  let upstream: Parameters<typeof startCaddy>[0];
  let caddy: CaddyProcess;
  let zetaOwner: PortalOwner & { readonly domainId: string };

  beforeAll(async () => {
    dns = await startDns();
    const ctx = { ...database.ctx, settings: { ...database.ctx.settings, dnsServers: [dns.address] } };
    const app = createApp(ctx);
    await openServedPortal(ctx, await openOrganization(ctx, app), dns, acme);
    zetaOwner = await openServedPortal(ctx, await openOrganization(ctx, app), dns, zeta);
    const port = await findStablePort();
    const server = await database.start({
      PORT: String(port),
      METRICS_PORT: '0',
      PUBLIC_URL: `https://${ownHost}`,
      TRUST_PROXY: 'loopback',
      SYNC_WORKERS: '0',
    });
    const { port: metricsPort } = await server.line(({ msg }) => msg === 'metrics are served');
    upstream = { service: `127.0.0.1:${port}`, metrics: `127.0.0.1:${metricsPort}`, ownHost };
    caddy = await startCaddy(upstream);
  });
  afterAll(async () => {
    await caddy.stop();
    await dns.stop();
  });

  /** What only the host of PUBLIC_URL has: 401 there without a key, and refused for the Host elsewhere. */
  const atOwnHostAlone = '/mcp';
  const refused = [403, 404];

  it('passes requests of the service and of portals on, each with its Host', async () => {
    expect((await caddy.get(ownHost, atOwnHostAlone)).status).toBe(401);
    const forged = { 'x-forwarded-host': ownHost };
    for (const hostname of [acme, zeta])
      for (const headers of [{}, forged])
        expect(refused).toContain((await caddy.get(hostname, atOwnHostAlone, headers)).status);
  });

  it('obtains no certificate for any other name', async () => {
    for (const hostname of ['portal.unknown.example', `www.${acme}`, 'localhost'])
      await expect(caddy.get(hostname, '/'), hostname).rejects.toThrow(/alert/);
  });

  it('obtains none for a domain that was deleted', async () => {
    await zetaOwner.api('delete', `${zetaOwner.domains}/${zetaOwner.domainId}`);
    const fresh = await startCaddy(upstream);
    try {
      await expect(fresh.get(zeta, '/')).rejects.toThrow(/alert/);
      expect(refused).toContain((await fresh.get(acme, atOwnHostAlone)).status);
    } finally {
      await fresh.stop();
    }
  });
});
