// What tokens with unknown key ids cost callers with valid ones: the latency of a valid token, idle and under
// the flood in turns, and how often the identity provider is asked for its keys. Writes its table to
// bench/RESULTS.md. Usage: npm run bench:tokens -- [rounds, default 18] [seconds per measurement, default
// 1.5]. Other work on the machine affects all loads alike, because the rounds are short; the latencies of all
// rounds are taken together.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';
import { type Callers, startCallers, type Workload, type WorkloadResult } from './callers.ts';
import { createBenchOrganization } from './organization.ts';
import { quantile } from './reads-load.ts';
import { startService } from './reads-servers.ts';
import { describeMachine, type Goal, type Line, lineOf, writeTable } from './table.ts';
import { withDatabase, withWorkspace } from './workspace.ts';

const audience = 'urn:bench';
const probesPerSecond = 20;
const floodPerMinute = 1_000;
const ownerEmail = 'owner@bench.example';

type Issuer = { readonly issuer: string; asked(): number; token(): Promise<string>; stop(): Promise<void> };

/**
 * A real identity provider that issues tokens of the organization's owner and counts the requests for its
 * keys.
 */
async function startIssuer(): Promise<Issuer> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = { client_id: 'bench', client_secret: randomBytes(24).toString('hex') };
  const provider = new Provider(issuer, {
    ttl: { ClientCredentials: 3_600 },
    clients: [{ ...client, grant_types: ['client_credentials'], redirect_uris: [], response_types: [] }],
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: '',
          audience,
          accessTokenTTL: 3_600,
          accessTokenFormat: 'jwt',
        }),
      },
    },
    extraTokenClaims: () => ({ email: ownerEmail, email_verified: true }),
  });
  const answer = provider.callback();
  let asked = 0;
  server.on('request', (req, res) => {
    if (req.url === '/jwks') asked += 1;
    void answer(req, res);
  });
  return {
    issuer,
    asked: () => asked,
    async token() {
      const response = await fetch(`${issuer}/token`, {
        method: 'POST',
        headers: {
          authorization: `Basic ${Buffer.from(`${client.client_id}:${client.client_secret}`).toString('base64')}`,
        },
        body: new URLSearchParams({ grant_type: 'client_credentials', resource: audience }),
      });
      const body = (await response.json()) as { access_token?: string };
      if (body.access_token === undefined)
        throw new Error(`The provider issued no token: ${JSON.stringify(body)}`);
      return body.access_token;
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The valid token with another key id. More of them than a run sends. */
function unknownTokens(valid: string, isSpread: boolean): Record<string, string>[] {
  const [header = '', ...rest] = valid.split('.');
  const fields = JSON.parse(Buffer.from(header, 'base64url').toString()) as object;
  return Array.from({ length: 5_000 }, () => {
    const changed = Buffer.from(JSON.stringify({ ...fields, kid: randomBytes(16).toString('hex') })).toString(
      'base64url',
    );
    const address = isSpread ? `203.0.${randomBytes(1)[0]}.${randomBytes(1)[0]}` : '198.51.100.7';
    return { Authorization: `Bearer ${[changed, ...rest].join('.')}`, 'X-Forwarded-For': address };
  });
}

type Scenario = {
  readonly url: string;
  readonly token: string;
  readonly probing: Callers;
  readonly flooding: Callers;
  readonly ms: number;
};

async function measure(
  { url, token, probing, flooding, ms }: Scenario,
  flood: Workload['headerSets'] | null,
): Promise<WorkloadResult> {
  const paths = ['/api/platform/v1/whoami', '/api/platform/v1/teams'];
  const headers = { Authorization: `Bearer ${token}` };
  const probes = { name: 'valid', url, headers, paths, connections: 8, perSecond: probesPerSecond };
  const guesses = {
    name: 'unknown',
    url,
    headers: {},
    headerSets: flood ?? [],
    paths,
    connections: 8,
    perSecond: floodPerMinute / 60,
  };
  const [results] = await Promise.all([
    probing.run([probes], ms),
    flooding.run(flood === null ? [] : [guesses], ms),
  ]);
  const result = results.get('valid');
  if (result === undefined) throw new Error('The callers returned no result');
  return result;
}

const countFailures = (results: readonly WorkloadResult[]): number =>
  results
    .flatMap(({ statuses }) => Object.entries(statuses))
    .reduce((sum, [status, times]) => sum + (status === '200' ? 0 : times), 0);
const ratioGoal: Goal = { target: 2, floor: 2, lowerIsBetter: true };
const zeroGoal: Goal = { target: 0, floor: 0, lowerIsBetter: true };

async function runRounds(scenario: Scenario, rounds: number, issuer: Issuer): Promise<Line[]> {
  const floods = { one: unknownTokens(scenario.token, false), spread: unknownTokens(scenario.token, true) };
  const results: Record<'idle' | 'one' | 'spread', WorkloadResult[]> = { idle: [], one: [], spread: [] };
  const fromMs = performance.now();
  // The service knows no key yet.
  const started = await measure(scenario, floods.spread);
  for (let round = 0; round < rounds; round += 1) {
    const order = ['idle', 'one', 'spread'] as const;
    for (const load of round % 2 === 0 ? order : order.toReversed())
      results[load].push(await measure(scenario, load === 'idle' ? null : floods[load]));
  }
  const minutes = (performance.now() - fromMs) / 60_000;
  const at = (load: keyof typeof results, share: number): number =>
    quantile(
      results[load].flatMap(({ latenciesMs }) => latenciesMs).sort((a, b) => a - b),
      share,
    );
  const askedGoal: Goal = { target: 10, floor: 11, lowerIsBetter: true };
  return [
    lineOf(
      'valid token, p99 under the flood from one address / idle',
      at('one', 0.99) / at('idle', 0.99),
      '',
      2,
      ratioGoal,
    ),
    lineOf(
      'valid token, p99 under the flood from many addresses / idle',
      at('spread', 0.99) / at('idle', 0.99),
      '',
      2,
      ratioGoal,
    ),
    lineOf(
      'valid tokens refused or failed',
      countFailures([started, ...Object.values(results).flat()]),
      '',
      0,
      zeroGoal,
    ),
    lineOf('requests for the keys of the provider, per minute', issuer.asked() / minutes, '', 1, askedGoal),
    lineOf('valid token, p50, idle', at('idle', 0.5), ' ms', 1),
    lineOf('valid token, p50, flood from one address', at('one', 0.5), ' ms', 1),
    lineOf('valid token, p50, flood from many addresses', at('spread', 0.5), ' ms', 1),
    lineOf('valid token, p99, idle', at('idle', 0.99), ' ms', 1),
    lineOf('valid token, p99, flood from one address', at('one', 0.99), ' ms', 1),
    lineOf('valid token, p99, flood from many addresses', at('spread', 0.99), ' ms', 1),
    lineOf('valid token, p99, after the start under the flood', started.p99Ms, ' ms', 1),
  ];
}

const [rounds = '18', seconds = '1.5'] = process.argv.slice(2);
if (!/^[1-9]\d?$/.test(rounds) || !/^\d(\.\d)?$/.test(seconds)) {
  console.error('Usage: npm run bench:tokens -- [rounds] [seconds per measurement]');
  process.exit(2);
}
await withWorkspace((folder) =>
  withDatabase(folder, {}, async ({ ctx, admin }) => {
    await createBenchOrganization(ctx);
    const issuer = await startIssuer();
    const environment = {
      OIDC_ISSUER: issuer.issuer,
      OIDC_AUDIENCE: audience,
      OIDC_JWKS_URI: `${issuer.issuer}/jwks`,
      TRUST_PROXY: '1',
      RATE_LIMIT_PER_MINUTE: '1000000',
    };
    const service = await startService(folder, { environment });
    const [probing, flooding] = [startCallers(), startCallers()];
    try {
      const scenario = {
        url: service.url,
        token: await issuer.token(),
        probing,
        flooding,
        ms: Number(seconds) * 1_000,
      };
      const lines = await runRounds(scenario, Number(rounds), issuer);
      const day = ctx.clock.now().toISOString().slice(0, 10);
      const heading = `Run of ${day}: ${rounds} rounds, ${seconds} s per measurement, valid requests at ${probesPerSecond}/s.\n${await describeMachine(admin)}`;
      return await writeTable('bench:tokens', heading, lines);
    } finally {
      probing.stop();
      flooding.stop();
      await service.stop();
      await issuer.stop();
    }
  }),
);
