import { startRecurring } from './recurring.ts';

/**
 * Renews a lease every third of its duration. Returns the function that stops the renewal; failures only go
 * to `onFailure`.
 */
export function startLeaseRenewal(
  leaseMs: number,
  renew: () => Promise<unknown>,
  onFailure: (error: unknown) => void,
): () => void {
  const renewal = startRecurring(leaseMs / 3, renew, onFailure);
  return () => void renewal.stop();
}
