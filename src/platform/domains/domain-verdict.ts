// What a look at the DNS means for a domain. Decides only: no clock, no network, no database.
import type { TxtAnswer } from '../../gateways/dns.ts';
import { challengePrefix } from './hostname.ts';

export type DomainStatus = 'pending' | 'verified' | 'failed';
export type Challenged = {
  readonly hostname: string;
  readonly verification_value: string;
  readonly status: DomainStatus;
  /** Milliseconds since the domain was added. */
  readonly age_ms: number;
};
export type Verdict = { readonly status: DomainStatus; readonly lastError: string | null; readonly nextCheckMs: number | null };

const minute = 60_000;
const hour = 60 * minute;
const giveUpAfterMs = 7 * 24 * hour;

/** Whoever sets the record is likely to do it soon. */
export const nextCheckMs = (ageMs: number): number => (ageMs < hour ? minute : 15 * minute);

export const challengeName = (hostname: string): string => `${challengePrefix}${hostname}`;

export const takenElsewhere: Verdict = {
  status: 'failed',
  lastError: 'Another organization has verified this hostname',
  nextCheckMs: null,
};

function problemOf(answer: TxtAnswer, name: string): string {
  if (answer.kind === 'unavailable') return `The DNS servers could not tell what is at ${name}: ${answer.reason}`;
  const count = answer.kind === 'found' ? answer.values.length : 0;
  if (count === 0) return `There is no TXT record at ${name}`;
  return count === 1
    ? `The TXT record at ${name} holds another value`
    : `None of the ${count} TXT records at ${name} holds the expected value`;
}

/** A verified domain stays so: its record may be taken away once it was seen. */
export function judge(domain: Challenged, answer: TxtAnswer): Verdict {
  if (answer.kind === 'found' && answer.values.some((value) => value.trim() === domain.verification_value))
    return { status: 'verified', lastError: null, nextCheckMs: null };
  const lastError = problemOf(answer, challengeName(domain.hostname));
  if (domain.status !== 'pending') return { status: domain.status, lastError, nextCheckMs: null };
  if (domain.age_ms >= giveUpAfterMs) return { status: 'failed', lastError, nextCheckMs: null };
  return { status: 'pending', lastError, nextCheckMs: nextCheckMs(domain.age_ms) };
}
