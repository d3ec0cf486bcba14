// What a row scope costs: each customer reads the first page of their invoices with a token, against one key
// that names the customer in a filter. Both run the same list; the token adds its verification and its
// condition.
import { z } from 'zod';
import { createManagementClient } from '../demo/management-client.ts';
import { measureLoad, type RequestSet, readMemory } from './reads-load.ts';
import { type Bench, buildHeaders } from './reads-measure.ts';
import { type RunningServer, startService } from './reads-servers.ts';

export const customers = 10_000;
const tokensPerRequest = 100;
/** A new generation, as a sync publishes it, this often: most reads are then the first of their list. */
const syncEveryMs = 250;
const connections = 16;
/** Tokens name the service that minted them by its address, which is the same for all processes here. */
const publicUrl = 'http://portal.bench.example';

export type ScopedReads = {
  readonly mintedPerSecond: number;
  /** Requests per second of each round. */
  readonly steady: readonly Rates[];
  readonly syncing: readonly Rates[];
  /**
   * Peak memory in MB of a fresh process after the same number of reads, and of the scoped one after a
   * quarter of the tokens.
   */
  readonly peak: { readonly filtered: number; readonly scoped: number };
  readonly now: { readonly quarter: number; readonly all: number };
};
type Rates = { readonly filtered: number; readonly scoped: number };

const Caller = z.object({ credential: z.object({ id: z.string() }) });
const Minted = z.object({ tokens: z.array(z.object({ token: z.string() })) });
const path = '/api/public/v1/own';

/** One token for each customer. */
async function mintTokens(url: string, key: string): Promise<{ tokens: string[]; perSecond: number }> {
  const call = createManagementClient(url, key);
  const { credential } = await call('GET', '/whoami', Caller);
  const startMs = performance.now();
  const tokens: string[] = [];
  while (tokens.length < customers) {
    const wanted = Array.from({ length: tokensPerRequest }, (_, index) => String(tokens.length + index));
    const body = {
      tokens: wanted.map((customer) => ({
        subject: customer,
        expiresInSeconds: 3_600,
        scopes: { rows: { own: [{ field: 'entity', in: [customer] }] } },
      })),
    };
    const minted = await call('POST', `/api-keys/${credential.id}/tokens`, Minted, body);
    tokens.push(...minted.tokens.map(({ token }) => token));
  }
  return { tokens, perSecond: (tokens.length * 1_000) / (performance.now() - startMs) };
}

/** Requests of the customers in turn, all with the key, or each with their own token. */
function createRequests(
  { invoices }: Bench,
  url: string,
  tokens: readonly string[],
): { filtered: RequestSet; scoped: RequestSet[] } {
  const headers = buildHeaders(invoices);
  return {
    filtered: { url, headers, paths: tokens.map((_token, customer) => `${path}?entity=${customer}`) },
    scoped: tokens.map((token) => ({
      url,
      headers: { ...headers, Authorization: `Bearer ${token}` },
      paths: [path],
    })),
  };
}

/** Publishes a new generation again and again until the work is done. */
async function whileSyncing<T>({ admin, invoices }: Bench, work: () => Promise<T>): Promise<T> {
  const publish = () =>
    admin.query(
      `update ${invoices.schema}.record_state set generation = generation + 1 where record_type = 'invoice'`,
    );
  const timer = setInterval(() => void publish(), syncEveryMs);
  return work().finally(() => clearInterval(timer));
}

async function withService<T>(folder: string, use: (service: RunningServer) => Promise<T>): Promise<T> {
  const service = await startService(folder, { environment: { BODY_CACHE_MB: '0', PUBLIC_URL: publicUrl } });
  return use(service).finally(() => service.stop());
}

export async function measureScoped(bench: Bench): Promise<ScopedReads> {
  const { folder, invoices, rounds, ms } = bench;
  const { tokens, ...minting } = await withService(folder, ({ url }) => mintTokens(url, invoices.key));
  const load = (service: RunningServer, sets: RequestSet | readonly RequestSet[], loadMs: number) =>
    measureLoad(service.pid, sets, connections, loadMs);
  const rates = await withService(folder, async (service) => {
    const { filtered, scoped } = createRequests(bench, service.url, tokens);
    for (const sets of [filtered, scoped]) await load(service, sets, 4 * ms);
    const alternate = async (round: number): Promise<Rates> => {
      const first = round % 2 === 0 ? await load(service, filtered, ms) : undefined;
      const ofTokens = await load(service, scoped, ms);
      return {
        filtered: (first ?? (await load(service, filtered, ms))).perSecond,
        scoped: ofTokens.perSecond,
      };
    };
    const [steady, syncing]: [Rates[], Rates[]] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      steady.push(await alternate(round));
      syncing.push(await whileSyncing(bench, () => alternate(round)));
    }
    return { steady, syncing };
  });
  const filtered = await withService(folder, async (service) => {
    await load(service, createRequests(bench, service.url, tokens).filtered, 10 * ms);
    return (await readMemory(service.pid)).peak;
  });
  const scoped = await withService(folder, async (service) => {
    const sets = createRequests(bench, service.url, tokens).scoped;
    await load(service, sets.slice(0, customers / 4), 5 * ms);
    const quarter = (await readMemory(service.pid)).now;
    await load(service, sets, 5 * ms);
    const { peak, now } = await readMemory(service.pid);
    return { peak, now: { quarter, all: now } };
  });
  return {
    mintedPerSecond: minting.perSecond,
    ...rates,
    peak: { filtered, scoped: scoped.peak },
    now: scoped.now,
  };
}
