// Decides what the result of a DNS lookup means for a domain. Pure functions: no clock, no network, no
// database.
import type { TxtAnswer } from '../../gateways/dns.ts';
import type { DomainStatus } from './domains.schemas.ts';
import { challengePrefix } from './hostname.ts';

export type ChallengedDomain = {
  readonly hostname: string;
  readonly verification_value: string;
  readonly status: DomainStatus;
  /** Milliseconds since the domain was added. */
  readonly age_ms: number;
};
export type DomainVerdict = {
  readonly status: DomainStatus;
  readonly lastError: string | null;
  readonly nextCheckMs: number | null;
};

const minute = 60_000;
const hour = 60 * minute;
const giveUpAfterMs = 7 * 24 * hour;

/** Delay until the next check: most people set the record soon after adding the domain. */
export const nextCheckMs = (ageMs: number): number => (ageMs < hour ? minute : 15 * minute);

export const challengeName = (hostname: string): string => `${challengePrefix}${hostname}`;

export const takenElsewhere: DomainVerdict = {
  status: 'failed',
  lastError: 'Another organization has verified this hostname',
  nextCheckMs: null,
};

function describeAnswer(answer: TxtAnswer, name: string): string {
  if (answer.kind === 'unavailable') return `The DNS lookup of ${name} failed: ${answer.reason}`;
  const count = answer.kind === 'found' ? answer.values.length : 0;
  if (count === 0) return `There is no TXT record at ${name}`;
  return count === 1
    ? `The TXT record at ${name} has another value`
    : `None of the ${count} TXT records at ${name} has the expected value`;
}

/**
 * A verified domain stays verified, so its record may be removed after verification. Pending domains fail
 * after 7 days.
 */
export function decideVerdict(domain: ChallengedDomain, answer: TxtAnswer): DomainVerdict {
  if (answer.kind === 'found' && answer.values.some((value) => value.trim() === domain.verification_value))
    return { status: 'verified', lastError: null, nextCheckMs: null };
  const lastError = describeAnswer(answer, challengeName(domain.hostname));
  if (domain.status !== 'pending') return { status: domain.status, lastError, nextCheckMs: null };
  if (domain.age_ms >= giveUpAfterMs) return { status: 'failed', lastError, nextCheckMs: null };
  return { status: 'pending', lastError, nextCheckMs: nextCheckMs(domain.age_ms) };
}
