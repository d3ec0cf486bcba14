// Decides what the result of a DNS lookup means for a domain. Pure: no clock, no network, no database.
import type { TxtAnswer } from '../../gateways/dns.ts';
import type { DomainStatus } from './domains.schemas.ts';
import { challengePrefix } from './hostname.ts';

export type ChallengedDomain = {
  readonly hostname: string;
  readonly verification_value: string;
  readonly status: DomainStatus;
  /** Milliseconds since the domain was added. */
  readonly age_ms: number;
  /** Milliseconds since the first lookup that found the record of a verified domain missing, if it still is. */
  readonly missing_ms: number | null;
};
/** Whether the record is in the DNS; `unknown` when no server gave an answer. */
export type RecordState = 'present' | 'missing' | 'unknown';
export type DomainVerdict = {
  readonly status: DomainStatus;
  readonly lastError: string | null;
  readonly nextCheckMs: number | null;
  readonly record: RecordState;
};

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const giveUpAfterMs = 7 * day;

/** Delay until the next check: most people set the record soon after adding the domain. */
export const nextCheckMs = (ageMs: number): number => (ageMs < hour ? minute : 15 * minute);

export const challengeName = (hostname: string): string => `${challengePrefix}${hostname}`;

const failed = (lastError: string, record: RecordState): DomainVerdict => ({
  status: 'failed',
  lastError,
  nextCheckMs: null,
  record,
});

export const takenElsewhere = failed('Another organization has verified this hostname', 'present');

/** Whether PUBLIC_URL names the hostname: the service itself is served there, and never a portal. */
export const isOwnHost = ({ publicUrl }: { readonly publicUrl: string }, hostname: string): boolean =>
  new URL(publicUrl).hostname.replace(/\.$/, '') === hostname;

export const ownHost = failed('This is the hostname of the service itself', 'unknown');

function describeAnswer(answer: TxtAnswer, name: string): string {
  if (answer.kind === 'unavailable') return `The DNS lookup of ${name} failed: ${answer.reason}`;
  const count = answer.kind === 'found' ? answer.values.length : 0;
  if (count === 0) return `There is no TXT record at ${name}`;
  return count === 1
    ? `The TXT record at ${name} has another value`
    : `None of the ${count} TXT records at ${name} has the expected value`;
}

function readRecordState({ verification_value: expected }: ChallengedDomain, answer: TxtAnswer): RecordState {
  if (answer.kind === 'unavailable') return 'unknown';
  return answer.kind === 'found' && answer.values.some((value) => value.trim() === expected)
    ? 'present'
    : 'missing';
}

/**
 * A pending domain fails 7 days after it was added, a verified one after 7 days without its record. An outage
 * of the DNS is no reason to fail a verified domain.
 */
export function decideVerdict(domain: ChallengedDomain, answer: TxtAnswer): DomainVerdict {
  const record = readRecordState(domain, answer);
  if (record === 'present') return { status: 'verified', lastError: null, nextCheckMs: day, record };
  const lastError = describeAnswer(answer, challengeName(domain.hostname));
  const { status, age_ms: ageMs, missing_ms: missingMs } = domain;
  if (status === 'failed') return failed(lastError, record);
  if (status === 'pending') {
    if (ageMs >= giveUpAfterMs) return failed(lastError, record);
    return { status, lastError, nextCheckMs: nextCheckMs(ageMs), record };
  }
  if (record === 'unknown') return { status, lastError, nextCheckMs: hour, record };
  if (missingMs !== null && missingMs >= giveUpAfterMs) return failed(lastError, record);
  return { status, lastError, nextCheckMs: day, record };
}
