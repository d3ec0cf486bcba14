// Calls Stripe with its own library: at one address, with limits of time and size, without telemetry.
// Redirects are not followed, so that the secret key is sent to that address only.
import Stripe from 'stripe';
import type { Settings } from '../../../core/settings.ts';
import { toProviderError } from './errors.ts';
import type { StripeSecrets } from './secrets.ts';

/** The library's API version. Of events, which may have another, only ids and our metadata are read. */
const apiVersion = '2026-10-28.endive';
const maxResponseBytes = 16 << 20;

/**
 * Runs `work` with a Stripe client. Rejects with ProviderError only. A call that was aborted may have taken
 * effect all the same.
 */
export type CallStripe = <T>(signal: AbortSignal, work: (stripe: Stripe) => Promise<T>) => Promise<T>;

/** Makes no request. The returned function rejects with ProviderError, which never contains the secrets. */
export function createStripeClient(
  { apiUrl, timeoutMs, retries }: Settings['stripe'],
  secrets: StripeSecrets,
): CallStripe {
  const { protocol, hostname, port } = new URL(apiUrl);
  const secure = protocol === 'https:';
  const config: Stripe.StripeConfig = {
    apiVersion,
    protocol: secure ? 'https' : 'http',
    host: hostname,
    port: port === '' ? (secure ? 443 : 80) : port,
    timeout: timeoutMs,
    maxNetworkRetries: retries,
    telemetry: false,
  };
  return async (signal, work) => {
    try {
      return await work(
        new Stripe(secrets.secretKey, {
          ...config,
          httpClient: Stripe.createFetchHttpClient(boundedFetch(signal)),
        }),
      );
    } catch (error) {
      throw toProviderError(error, [secrets.secretKey, secrets.webhookSecret], signal);
    }
  };
}

/** Aborts with the caller's signal as well as with the library's own timeout. */
function boundedFetch(caller: AbortSignal): typeof fetch {
  return async (input, init) => {
    const headers = new Headers(init?.headers);
    // It reveals the platform that the service runs on.
    headers.delete('x-stripe-client-user-agent');
    const signal = init?.signal ? AbortSignal.any([caller, init.signal]) : caller;
    const {
      body,
      status,
      headers: responseHeaders,
    } = await fetch(input, { ...init, headers, signal, redirect: 'error' });
    return new Response(body === null ? null : body.pipeThrough(limitSize()), {
      status,
      headers: responseHeaders,
    });
  };
}

function limitSize(): TransformStream<Uint8Array, Uint8Array> {
  let size = 0;
  return new TransformStream({
    transform: (chunk, controller) => {
      size += chunk.byteLength;
      if (size > maxResponseBytes)
        controller.error(new Error(`The response is larger than ${maxResponseBytes} bytes`));
      else controller.enqueue(chunk);
    },
  });
}
