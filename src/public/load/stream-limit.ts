// Limits the streams of changes in this process. They are open for minutes and do little: they hold no slot of
// requests, and no connection to the database.

import { AppError, unavailable } from '../../core/errors.ts';
import type { Settings } from '../../core/settings.ts';
import { type Release, Semaphore } from '../../core/work/semaphore.ts';
import { halve } from './fair-queue.ts';

const retryAfterSeconds = 5;

/** Throws 429 when the credential has too many streams, and 503 when its organization or the process has. */
export type AcquireStream = (credential: string, organizationId: string) => Release;

function tooManyOfCredential(limit: number): AppError {
  const message = `This credential may hold ${limit} streams open; close one first`;
  return new AppError('RATE_LIMIT_EXCEEDED', 'Too many open streams', {
    headers: { 'Retry-After': String(retryAfterSeconds) },
    details: [{ path: '', code: 'too_many_streams', message }],
  });
}

/** The returned function throws as `AcquireStream` says. */
export function createStreamLimit({
  maxOpen,
  maxPerCredential,
}: Pick<Settings['changeStreams'], 'maxOpen' | 'maxPerCredential'>): AcquireStream {
  const all = new Semaphore({ maxRunning: maxOpen, maxRunningPerOwner: halve(maxOpen) });
  const ofCredentials = new Semaphore({ maxRunning: Infinity, maxRunningPerOwner: maxPerCredential });
  return (credential, organizationId) => {
    const release = ofCredentials.tryAcquire(credential);
    if (release === undefined) throw tooManyOfCredential(maxPerCredential);
    const releaseShared = all.tryAcquire(organizationId);
    if (releaseShared === undefined) {
      release();
      throw unavailable('Too many open streams; try again later', retryAfterSeconds);
    }
    return () => {
      releaseShared();
      release();
    };
  };
}
