/** Renews a lease well before it ends, until the function that this returns is called. */
export function keepLease(leaseMs: number, renew: () => Promise<unknown>, onFailure: (error: unknown) => void): () => void {
  const timer = setInterval(() => void renew().catch(onFailure), leaseMs / 3);
  return () => clearInterval(timer);
}
