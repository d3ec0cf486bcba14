// Verifies messages of Portal Service as Standard Webhooks 1.0 says, with Web Crypto alone.
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md

/** How many records of a resource have changed, and where to read them. */
export type RecordsChanged = {
  readonly version: string;
  readonly resource: string;
  /** Never falls for an endpoint and resource. */
  readonly generation: number;
  /** Null when the receiver has to start over. */
  readonly upserts: number | null;
  readonly deletes: number | null;
  /** Discard what is known of the resource, and read everything from `next`. */
  readonly startOver: boolean;
  /** A path of the service: read from there until `hasMore` is false. */
  readonly next: string;
  /** Only of endpoints that include records: the first changes. */
  readonly changes?: readonly {
    readonly op: 'upsert' | 'delete';
    readonly id: string;
    readonly at: string;
    readonly record: Readonly<Record<string, unknown>> | null;
  }[];
  readonly hasMore?: boolean;
};
type Message<Type extends string, Data> = {
  /** The same in each attempt. */
  readonly id: string;
  readonly type: Type;
  /** When it happened: ISO 8601. */
  readonly timestamp: string;
  readonly data: Data;
};
type OtherType =
  | `sync.${'failed' | 'partial' | 'recovered' | 'stale'}`
  | `schema.${'published' | 'deprecated' | 'retired'}`
  | `${'payment' | 'refund'}.${'succeeded' | 'failed'}`
  | `connection.${'failed' | 'certificate_expiring'}`
  | 'webhook.test';
export type WebhookEvent =
  | Message<'records.changed', RecordsChanged>
  | Message<OtherType, Readonly<Record<string, unknown>>>;

export type WebhookErrorCode = 'missing_header' | 'bad_timestamp' | 'bad_signature' | 'bad_key' | 'bad_body';

export class WebhookError extends Error {
  override readonly name = 'WebhookError';
  readonly code: WebhookErrorCode;
  constructor(code: WebhookErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** As `fetch` has them, or Node.js: names in lower case. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
export type VerifyOptions = {
  /** How far the time of the attempt may be from now. 300 by default. */
  readonly toleranceSeconds?: number;
  readonly now?: Date;
};

function readHeader(headers: WebhookHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  if (typeof value === 'string' && value !== '') return value;
  throw new WebhookError('missing_header', `The header ${name} is missing`);
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

const prefixes = { whsec_: 'v1', whpk_: 'v1a' } as const;
type Kind = (typeof prefixes)[keyof typeof prefixes];
type Key = Awaited<ReturnType<typeof crypto.subtle.importKey>>;
type Verifier = { readonly kind: Kind; readonly algorithm: string; readonly key: Key };

async function importKey(text: string): Promise<Verifier> {
  const [prefix, kind] = Object.entries(prefixes).find(([known]) => text.startsWith(known)) ?? [];
  const bytes = prefix === undefined ? undefined : decodeBase64(text.slice(prefix.length));
  const isLong = bytes !== undefined && (kind === 'v1a' ? bytes.length === 32 : bytes.length >= 24);
  if (kind === undefined || !isLong)
    throw new WebhookError('bad_key', 'The key is not a secret (whsec_…) or a public key (whpk_…)');
  const algorithm = kind === 'v1' ? { name: 'HMAC', hash: 'SHA-256' } : { name: 'Ed25519' };
  const key = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['verify']);
  return { kind, algorithm: algorithm.name, key };
}

/** Whether one of the signatures is by one of the keys. */
async function isSigned(signatures: string, content: Uint8Array<ArrayBuffer>, keys: readonly string[]) {
  const found = signatures.split(' ').map((each) => each.split(','));
  for (const { kind, algorithm, key } of await Promise.all(keys.map(importKey)))
    for (const [version, text = ''] of found) {
      const signature = version === kind ? decodeBase64(text) : undefined;
      if (signature !== undefined && (await crypto.subtle.verify(algorithm, key, signature, content)))
        return true;
    }
  return false;
}

/**
 * The event of a message. `body` as it arrived; `keys`: the secret or public key of the endpoint, or several of which one
 * must verify. Rejects with `WebhookError` for a message that isn't by these keys, or too old to be accepted.
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  keys: string | readonly string[],
  { toleranceSeconds = 300, now = new Date() }: VerifyOptions = {},
): Promise<WebhookEvent> {
  const id = readHeader(headers, 'webhook-id');
  const timestamp = readHeader(headers, 'webhook-timestamp');
  const signatures = readHeader(headers, 'webhook-signature');
  const ageSeconds = Math.abs(now.getTime() / 1_000 - Number(timestamp));
  if (!/^\d{1,12}$/.test(timestamp) || ageSeconds > toleranceSeconds)
    throw new WebhookError(
      'bad_timestamp',
      `The attempt was not made within ${toleranceSeconds} seconds of now`,
    );
  const encoder = new TextEncoder();
  const bytes = typeof body === 'string' ? encoder.encode(body) : body;
  const head = encoder.encode(`${id}.${timestamp}.`);
  const content = new Uint8Array(head.length + bytes.length);
  content.set(head);
  content.set(bytes, head.length);
  if (!(await isSigned(signatures, content, [keys].flat())))
    throw new WebhookError('bad_signature', 'No signature is by a given key');
  return parseEvent(id, bytes);
}

function parseEvent(id: string, bytes: Uint8Array): WebhookEvent {
  try {
    return {
      ...(JSON.parse(new TextDecoder().decode(bytes)) as Omit<WebhookEvent, 'id'>),
      id,
    } as WebhookEvent;
  } catch {
    throw new WebhookError('bad_body', 'The body is not JSON');
  }
}
