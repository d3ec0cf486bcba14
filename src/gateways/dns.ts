// Looks TXT records up. What the network does becomes a typed answer and is never thrown; no look-up takes longer than its limit.
import { Resolver } from 'node:dns/promises';
import type { Settings } from '../core/settings.ts';

export type TxtAnswer =
  /** The records at the name, or at the one it is an alias of; the strings of one record are joined. */
  | { readonly kind: 'found'; readonly values: readonly string[] }
  /** The DNS says that there is no such name, or no TXT record at it. */
  | { readonly kind: 'absent' }
  /** Nobody could say. */
  | { readonly kind: 'unavailable'; readonly reason: string };

export type LookUpOptions = { readonly signal?: AbortSignal; readonly withinMs?: number };

/** Below the five seconds that a caller of the interface is made to wait at most. */
const defaultWithinMs = 4_500;
const mostServers = 3;
const rounds = 2;
/** More than anyone keeps at one name; an answer may hold up to 64 KiB. */
const mostValues = 100;
const longestValue = 4_096;

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

/** One question to one server, by UDP, and by TCP where the answer doesn't fit. */
async function ask(server: string, name: string, withinMs: number, signal: AbortSignal | undefined): Promise<TxtAnswer> {
  const resolver = new Resolver({ timeout: withinMs, tries: 1 });
  const cancel = (): void => resolver.cancel();
  const deadline = setTimeout(cancel, withinMs);
  signal?.addEventListener('abort', cancel);
  try {
    resolver.setServers([server]);
    const records = await resolver.resolveTxt(name);
    // An alias that leads to nothing is an answer without records.
    if (records.length === 0) return { kind: 'absent' };
    const values = records.map((strings) => strings.join('')).filter((value) => value.length <= longestValue);
    return { kind: 'found', values: values.slice(0, mostValues) };
  } catch (error) {
    return answerFor(error);
  } finally {
    clearTimeout(deadline);
    signal?.removeEventListener('abort', cancel);
  }
}

/**
 * Asks the servers in turn until one knows. One that doesn't answer is asked a second time, as a datagram may be lost; one that
 * says it can't is not.
 */
export async function lookUpTxt(
  settings: Pick<Settings, 'dnsServers'>,
  name: string,
  { signal, withinMs = defaultWithinMs }: LookUpOptions = {},
): Promise<TxtAnswer> {
  const configured = settings.dnsServers.length > 0 ? settings.dnsServers : new Resolver().getServers();
  let waiting = configured.slice(0, mostServers);
  const eachMs = Math.max(1, Math.floor(withinMs / (rounds * Math.max(1, waiting.length))));
  let last: TxtAnswer = { kind: 'unavailable', reason: 'no DNS server is known' };
  for (let round = 1; round <= rounds; round += 1) {
    const silent: string[] = [];
    for (const server of waiting) {
      if (signal?.aborted === true) return { kind: 'unavailable', reason: 'given up' };
      last = await ask(server, name, eachMs, signal);
      if (last.kind !== 'unavailable') return last;
      if (last.reason === reasons['ETIMEOUT']) silent.push(server);
    }
    waiting = silent;
  }
  return last;
}
