// Clients that read all organizations without end while nodes fail and organizations move. Every answer is
// kept and compared: an entity tag names one body, a 304 repeats what the client has, and the total of a list
// is that of its organization.
import { hash } from 'node:crypto';
import { Agent, get, type IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Invoices } from './reads-data.ts';
import { buildHeaders, listPaths } from './reads-measure.ts';

/** `status` 0: the connection broke. `atMs`: when it was sent, by `performance.now()`. */
export type Read = {
  readonly schema: string;
  readonly atMs: number;
  readonly ms: number;
  readonly status: number;
};
export type Readers = {
  readonly reads: readonly Read[];
  /** What was wrong with answers. */
  readonly wrong: readonly string[];
  stop(): Promise<void>;
};

type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string };

const betweenMs = 10;
const base = '/api/public/v1';

function createGet(url: string): (path: string, headers: Record<string, string>) => Promise<Answer> {
  const agent = new Agent({ keepAlive: true });
  return (path, headers) =>
    new Promise((resolve) => {
      const broken = (): void => resolve({ status: 0, headers: {}, text: '' });
      const request = get(`${url}${path}`, { agent, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.once('error', broken);
        response.once('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(chunks).toString(),
          }),
        );
      });
      request.once('error', broken);
    });
}

const pick = <T>(of: readonly T[]): T => of[Math.floor(Math.random() * of.length)] as T;

function pathFor({ records }: Invoices): string {
  const kind = Math.random();
  if (kind < 0.4) return pick(listPaths.slice(0, 100));
  if (kind < 0.5) return `${base}/invoices?page=${1 + Math.floor(Math.random() * 5)}`;
  if (kind < 0.6) return `${base}/invoices/changes?limit=50`;
  return `${base}/full/${1 + Math.floor(Math.random() * records)}`;
}

/** Checks the answers of all clients together. */
function createChecker() {
  const bodies = new Map<string, string>();
  const lastTags = new Map<string, string>();
  return {
    tagFor: (address: string): string | undefined =>
      Math.random() < 0.5 ? lastTags.get(address) : undefined,
    /** What is wrong with an answer; undefined when nothing is. */
    findProblem(
      address: string,
      { records }: Invoices,
      { status, headers, text }: Answer,
      asked: string | undefined,
    ): string | undefined {
      const { etag: tag } = headers;
      if (status === 304) return tag === asked ? undefined : `${address}: 304 with ${tag} for ${asked}`;
      if (status !== 200 || tag === undefined) return undefined;
      const body = hash('sha256', `${address} ${text}`);
      const known = bodies.get(tag) ?? body;
      bodies.set(tag, known);
      lastTags.set(address, tag);
      if (known !== body) return `${address}: ${tag} names two bodies`;
      if (!/invoices\?page=/.test(address)) return undefined;
      const { pagination } = JSON.parse(text) as { pagination: { total: number } };
      return pagination.total === records
        ? undefined
        : `${address}: total ${pagination.total} instead of ${records}`;
    },
  };
}

/** Starts clients, each of which pauses between its requests. */
export function startReaders(url: string, organizations: readonly Invoices[], clients = 6): Readers {
  const send = createGet(url);
  const checker = createChecker();
  const reads: Read[] = [];
  const wrong: string[] = [];
  let isStopped = false;
  const readOnce = async (): Promise<void> => {
    const organization = pick(organizations);
    const path = pathFor(organization);
    const address = `${organization.schema} ${path}`;
    const asked = checker.tagFor(address);
    const atMs = performance.now();
    const answer = await send(path, {
      ...buildHeaders(organization),
      ...(asked !== undefined && { 'if-none-match': asked }),
    });
    reads.push({ schema: organization.schema, atMs, ms: performance.now() - atMs, status: answer.status });
    const problem = checker.findProblem(address, organization, answer, asked);
    if (problem !== undefined) wrong.push(problem);
  };
  const running = Array.from({ length: clients }, async () => {
    while (!isStopped) {
      await readOnce();
      await sleep(betweenMs);
    }
  });
  return {
    reads,
    wrong,
    stop: async () => {
      isStopped = true;
      await Promise.all(running);
    },
  };
}

export const isAnswered = ({ status }: Read): boolean => status === 200 || status === 304;
