/** Renews a lease every third of its duration. Returns the function that stops the renewal; failures only go to `onFailure`. */
export function startLeaseRenewal(leaseMs: number, renew: () => Promise<unknown>, onFailure: (error: unknown) => void): () => void {
  const timer = setInterval(() => void renew().catch(onFailure), leaseMs / 3);
  return () => clearInterval(timer);
}
