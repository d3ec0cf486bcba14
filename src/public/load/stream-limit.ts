// Limits the streams of changes of the service. They are open for minutes and do little: they hold no slot of
// requests, and no connection to the database.

import type { Ctx } from '../../core/ctx.ts';
import { AppError, unavailable } from '../../core/errors.ts';
import type { Release } from '../../core/work/semaphore.ts';
import { openOwnSemaphore } from '../../core/work/shared-semaphores.ts';
import { halve } from './fair-queue.ts';

const retryAfterSeconds = 5;

/** Rejects with 429 when the credential has too many streams, and 503 when its organization or the service has. */
export type AcquireStream = (credential: string, organizationId: string) => Promise<Release>;

function tooManyOfCredential(limit: number): AppError {
  const message = `This credential may hold ${limit} streams open; close one first`;
  return new AppError('RATE_LIMIT_EXCEEDED', 'Too many open streams', {
    headers: { 'Retry-After': String(retryAfterSeconds) },
    details: [{ path: '', code: 'too_many_streams', message }],
  });
}

/** The returned function rejects as `AcquireStream` says. */
export function createStreamLimit({
  settings: { changeStreams },
  openSemaphore = openOwnSemaphore,
}: Pick<Ctx, 'settings' | 'openSemaphore'>): AcquireStream {
  const { maxOpen, maxPerCredential } = changeStreams;
  const all = openSemaphore('streams of changes', {
    maxRunning: maxOpen,
    maxRunningPerOwner: halve(maxOpen),
  });
  const ofCredentials = openSemaphore('streams of changes of a credential', {
    maxRunning: Infinity,
    maxRunningPerOwner: maxPerCredential,
  });
  return async (credential, organizationId) => {
    const release = await ofCredentials.tryAcquire(credential);
    if (release === undefined) throw tooManyOfCredential(maxPerCredential);
    const releaseShared = await all.tryAcquire(organizationId);
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
