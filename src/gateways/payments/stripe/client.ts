// How Stripe is called: by its own library, at one address, within a time and a size, without telemetry. No redirect is followed, so
// that the key goes to that address alone.
import Stripe from 'stripe';
import type { Settings } from '../../../core/settings.ts';
import { toProviderError } from './errors.ts';
import type { StripeSecrets } from './stripe.ts';

/** What the types of this version of the library describe. Events may be of another: nothing but ids is read from them. */
const apiVersion = '2026-10-28.endive';
const mostBytes = 16 << 20;

/** Rejects with ProviderError. A call that was aborted may have been done all the same. */
export type AskStripe = <T>(signal: AbortSignal, question: (stripe: Stripe) => Promise<T>) => Promise<T>;

export function openClient({ apiUrl, timeoutMs, retries }: Settings['stripe'], secrets: StripeSecrets): AskStripe {
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
  return async (signal, question) => {
    try {
      return await question(new Stripe(secrets.secretKey, { ...config, httpClient: Stripe.createFetchHttpClient(boundedFetch(signal)) }));
    } catch (error) {
      throw toProviderError(error, [secrets.secretKey, secrets.webhookSecret], signal);
    }
  };
}

/** `caller` is whose patience counts besides the library's own. */
function boundedFetch(caller: AbortSignal): typeof fetch {
  return async (input, init) => {
    const headers = new Headers(init?.headers);
    // Tells what the service runs on, which is nobody's concern.
    headers.delete('x-stripe-client-user-agent');
    const signal = init?.signal ? AbortSignal.any([caller, init.signal]) : caller;
    const { body, status, headers: answered } = await fetch(input, { ...init, headers, signal, redirect: 'error' });
    return new Response(body === null ? null : body.pipeThrough(bounded()), { status, headers: answered });
  };
}

function bounded(): TransformStream<Uint8Array, Uint8Array> {
  let size = 0;
  return new TransformStream({
    transform: (chunk, controller) => {
      size += chunk.byteLength;
      if (size > mostBytes) controller.error(new Error(`The answer is larger than ${mostBytes} bytes`));
      else controller.enqueue(chunk);
    },
  });
}
