// Where the command line finds the service and its credentials.
import type { ClientOptions } from '../transport.ts';

/** A mistake of the caller: the message is all that is printed. */
export class UsageError extends Error {}

export type Environment = Readonly<Record<string, string | undefined>>;

/** From PORTAL_URL, PORTAL_KEY and PORTAL_TENANT. Throws UsageError for what is missing. */
export function readSettings(env: Environment): ClientOptions {
  const { PORTAL_URL: baseUrl, PORTAL_KEY: key, PORTAL_TENANT: tenant } = env;
  if (!baseUrl) throw new UsageError('Set PORTAL_URL to the address of the service.');
  if (!key) throw new UsageError('Set PORTAL_KEY to an API key.');
  return { baseUrl, key, ...(tenant && { tenant }) };
}
