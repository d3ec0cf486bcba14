// A local server with the part of Stripe's API that the service uses, as described at
// https://docs.stripe.com/api: form-encoded requests, paged lists, expandable objects, error codes, and
// idempotency keys, under which the first response is stored (a 500 too) and a different body rejected. It
// fails on demand, before or after it executed a request.
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import Stripe from 'stripe';
import { type Clock, systemClock } from '../../../src/core/clock.ts';
import { listenLocally } from '../sockets.ts';
import { type Form, readForm } from './form.ts';
import { apiVersion, Ledger } from './ledger.ts';
import { type StripeEvent, StripeRefusal } from './objects.ts';
import { handleCall } from './routes.ts';

/**
 * 'late': the response is delayed and outdated. '…-after': executed, but without a success response. 'stall':
 * neither executed nor answered.
 */
export type Fault =
  | 'rate-limit'
  | 'error-before'
  | 'error-after'
  | 'cut-before'
  | 'cut-after'
  | 'half-answer'
  | 'stall'
  | 'late'
  | 'not-json'
  | 'empty-object';
export type StripeRequest = {
  readonly method: string;
  readonly path: string;
  readonly form: Form;
  readonly headers: IncomingMessage['headers'];
};

export type StripeServer = {
  readonly url: string;
  readonly secrets: { readonly secretKey: string; readonly webhookSecret: string };
  readonly ledger: Ledger;
  readonly requests: StripeRequest[];
  /** Called for each request; tests replace it. */
  fault: (request: StripeRequest) => Fault | undefined;
  /** Path prefixes that the key may not access. */
  readonly forbidden: string[];
  /** Stripe may do so after a day. */
  evictIdempotencyKeys(): void;
  /** Resolves when a request stalls for the first time. */
  readonly stalled: Promise<void>;
  /** A webhook delivery: the raw body and its signature, created `ageSeconds` ago. */
  signed(
    event: StripeEvent | object,
    ageSeconds?: number,
  ): { readonly body: string; readonly headers: { 'stripe-signature': string } };
  stop(): Promise<void>;
};

/** Long enough for other requests to be handled in between. */
const lateMs = 100;
type Made = { readonly status: number; readonly body: unknown; readonly stored?: boolean };
const refusal = (status: number, type: string, message: string, more: object = {}): Made => ({
  status,
  body: { error: { type, message, ...more } },
});
const unknownError = refusal(500, 'api_error', 'An unknown error occurred.');

export async function startStripe({
  clock = systemClock,
}: {
  readonly clock?: Clock;
} = {}): Promise<StripeServer> {
  const secrets = {
    secretKey: `sk_test_${randomBytes(12).toString('hex')}`,
    webhookSecret: `whsec_${randomBytes(12).toString('hex')}`,
  };
  const { promise: stalled, resolve: stall } = Promise.withResolvers<void>();
  const kept = new Map<string, Made & { readonly print: string }>();
  const server = createServer({ keepAliveTimeout: 0 }, (req, res) => void serve(req, res));
  const url = `http://127.0.0.1:${await listenLocally(server)}`;
  const stripe: StripeServer = {
    url,
    secrets,
    ledger: new Ledger(clock, url),
    requests: [],
    fault: () => undefined,
    forbidden: [],
    evictIdempotencyKeys: () => kept.clear(),
    stalled,
    signed(event, ageSeconds = 0) {
      const body = JSON.stringify(event);
      const timestamp = Math.floor(clock.now().getTime() / 1_000) - ageSeconds;
      const signing = { payload: body, secret: secrets.webhookSecret, timestamp };
      return {
        body,
        headers: { 'stripe-signature': Stripe.webhooks.generateTestHeaderString(signing) },
      };
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    let text = '';
    try {
      for await (const chunk of req) text += chunk;
    } catch {
      return; // the client disconnected before the request was complete
    }
    const { pathname, search } = new URL(req.url ?? '', url);
    const asked = {
      method: req.method ?? '',
      path: pathname,
      form: readForm(req.method === 'GET' ? search : text),
      headers: req.headers,
    };
    stripe.requests.push(asked);
    const fault = stripe.fault(asked);
    if (fault === 'stall') return stall();
    if (fault === 'cut-before') return void req.socket.destroy();
    const { status, body } = respond(asked, text, fault);
    if (fault === 'cut-after') return void req.socket.destroy();
    if (fault === 'late') await sleep(lateMs);
    const sent = fault === 'not-json' ? '<html>' : fault === 'empty-object' ? '{}' : JSON.stringify(body);
    const retry = fault === 'rate-limit' ? { 'retry-after': '7' } : {};
    res.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_test', ...retry });
    if (fault !== 'half-answer') return void res.end(sent);
    res.write(sent.slice(0, sent.length / 2), () => req.socket.destroy());
  }

  function respond(asked: StripeRequest, text: string, fault: Fault | undefined): Made {
    const refuse = (status: number, message: string, more?: object) =>
      refusal(status, 'invalid_request_error', message, more);
    if (asked.headers.authorization !== `Bearer ${secrets.secretKey}`)
      return refuse(401, `Invalid API Key provided: ${asked.headers.authorization?.slice(7, 20)}***`);
    if (stripe.forbidden.some((path) => asked.path.startsWith(path)))
      return refuse(403, 'The provided key does not have the required permissions.');
    if (asked.headers['stripe-version'] !== apiVersion)
      throw new Error(`unexpected Stripe-Version: ${asked.headers['stripe-version']}`);
    if (fault === 'rate-limit') return refuse(429, 'Too many requests.', { code: 'rate_limit' });
    if (fault === 'error-before') return unknownError;
    return asked.method === 'POST' ? underKey(asked, text, fault) : execute(asked, fault);
  }

  /** Handles the idempotency key. */
  function underKey(asked: StripeRequest, text: string, fault: Fault | undefined): Made {
    const key = asked.headers['idempotency-key']?.toString() ?? randomBytes(8).toString('hex');
    const print = createHash('sha256').update(`${asked.path}\n${text}`).digest('hex');
    const before = kept.get(key);
    if (before !== undefined && before.print !== print)
      return refusal(
        400,
        'idempotency_error',
        'Keys for idempotent requests can only be used with the same parameters they were first used with.',
      );
    if (before !== undefined) return before;
    const { stored = true, ...made } = execute(asked, fault);
    if (stored) kept.set(key, { print, ...made });
    return made;
  }

  function execute(asked: StripeRequest, fault: Fault | undefined): Made {
    try {
      const body = handleCall(stripe.ledger, asked);
      return fault === 'error-after' ? unknownError : { status: 200, body };
    } catch (error) {
      if (!(error instanceof StripeRefusal)) throw error;
      return { status: error.status, body: { error: error.body }, stored: error.stored };
    }
  }

  return stripe;
}
