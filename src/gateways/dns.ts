// Looks up TXT records. Network failures become a typed answer, never thrown; no lookup exceeds its timeout.
import { Resolver } from 'node:dns/promises';
import type { Settings } from '../core/settings.ts';

export type TxtAnswer =
  /** The records at the name or at the target of an alias (CNAME); the strings of one record are joined. */
  | { readonly kind: 'found'; readonly values: readonly string[] }
  /** The DNS answered that there is no such name, or no TXT record at it. */
  | { readonly kind: 'absent' }
  /** No server gave a usable answer. */
  | { readonly kind: 'unavailable'; readonly reason: string };

export type ResolveOptions = { readonly signal?: AbortSignal; readonly timeoutMs?: number };

/** Below the five seconds that an API request may take at most. */
const defaultTimeoutMs = 4_500;
const maxServers = 3;
const rounds = 2;
/** Bounds a hostile answer, which may have up to 64 KiB; real names have far fewer records. */
const maxValues = 100;
const maxValueLength = 4_096;

const reasons: Readonly<Record<string, string>> = {
  ETIMEOUT: 'no answer in time',
  ECANCELLED: 'no answer in time',
  ESERVFAIL: 'SERVFAIL',
  EREFUSED: 'REFUSED',
  ECONNREFUSED: 'not reachable',
};

function answerFor(error: unknown): TxtAnswer {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  if (code === 'ENOTFOUND' || code === 'ENODATA') return { kind: 'absent' };
  return { kind: 'unavailable', reason: reasons[code] ?? 'no usable answer' };
}

/** One query to one server: by UDP, and by TCP where the answer doesn't fit. */
async function queryServer(
  server: string,
  name: string,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<TxtAnswer> {
  const resolver = new Resolver({ timeout: timeoutMs, tries: 1 });
  const cancel = (): void => resolver.cancel();
  const deadline = setTimeout(cancel, timeoutMs);
  signal?.addEventListener('abort', cancel);
  try {
    resolver.setServers([server]);
    const records = await resolver.resolveTxt(name);
    // An alias without a target is answered without records.
    if (records.length === 0) return { kind: 'absent' };
    const values = records
      .map((strings) => strings.join(''))
      .filter((value) => value.length <= maxValueLength);
    return { kind: 'found', values: values.slice(0, maxValues) };
  } catch (error) {
    return answerFor(error);
  } finally {
    clearTimeout(deadline);
    signal?.removeEventListener('abort', cancel);
  }
}

/**
 * Queries the configured servers (the system's if none are configured) one after the other until one has an
 * answer. A server that times out is queried a second time, because a datagram may be lost; one that reports
 * a failure is not. `timeoutMs` bounds the whole lookup. Never rejects: an abort gives `unavailable`.
 */
export async function resolveTxt(
  settings: Pick<Settings, 'dnsServers'>,
  name: string,
  { signal, timeoutMs = defaultTimeoutMs }: ResolveOptions = {},
): Promise<TxtAnswer> {
  const configured = settings.dnsServers.length > 0 ? settings.dnsServers : new Resolver().getServers();
  let remaining = configured.slice(0, maxServers);
  const perQueryMs = Math.max(1, Math.floor(timeoutMs / (rounds * Math.max(1, remaining.length))));
  let last: TxtAnswer = { kind: 'unavailable', reason: 'no DNS server is configured' };
  for (let round = 1; round <= rounds; round += 1) {
    const timedOut: string[] = [];
    for (const server of remaining) {
      if (signal?.aborted === true) return { kind: 'unavailable', reason: 'aborted' };
      last = await queryServer(server, name, perQueryMs, signal);
      if (last.kind !== 'unavailable') return last;
      if (last.reason === reasons['ETIMEOUT']) timedOut.push(server);
    }
    remaining = timedOut;
  }
  return last;
}
