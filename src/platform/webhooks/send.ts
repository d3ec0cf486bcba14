// One attempt to send a message: what is sent, and what the answer means.
import { AppError, errorMessage } from '../../core/errors.ts';
import { GuardedFetchError } from '../../core/network/guarded-fetch.ts';
import { readFirstChanges } from '../../public/index.ts';
import { signMessage } from '../../webhooks/index.ts';
import type { Follower, WebhookCtx } from './compose.ts';
import type { AttemptRow, MessageRow } from './messages.store.ts';
import { openSecrets } from './secrets.ts';

const timeoutMs = 15_000;
/** Of an answer; a longer one is not kept. */
const maxAnswerBytes = 1_000_000;
const maxKeptLength = 1_000;
/** Of a message. */
const maxBodyBytes = 20_000;
const maxChanges = 100;

export const toMessageId = (id: string): string => `msg_${id.replaceAll('-', '')}`;

/** As many of the first changes as fit into `maxBytes`: JSON members that begin with a comma. */
async function includeChanges(
  ctx: WebhookCtx,
  { endpoint, reads }: Follower,
  { resource, since }: MessageRow,
  maxBytes: number,
): Promise<string> {
  const feed = { version: endpoint.version ?? '', resource: resource ?? '', reads };
  for (let limit = maxChanges; limit > 0; limit = Math.floor(limit / 2)) {
    const { changes, hasMore } = await readFirstChanges(ctx, feed, since, limit);
    const text = `,"changes":[${changes}],"hasMore":${hasMore}`;
    if (Buffer.byteLength(text) <= maxBytes) return text;
  }
  return ',"changes":[],"hasMore":true';
}

/** Thin, and with the first changes if the endpoint wants them. Rejects while they can't be read. */
async function writeBody(ctx: WebhookCtx, follower: Follower, message: MessageRow): Promise<string> {
  const { type, data, created_at: at, resource } = message;
  const head = `{"type":${JSON.stringify(type)},"timestamp":"${at.toISOString()}","data":`;
  const thin = JSON.stringify(data);
  if (resource === null || message.since === null || follower.endpoint.include === 'none')
    return `${head}${thin}}`;
  const left = maxBodyBytes - Buffer.byteLength(head) - Buffer.byteLength(thin) - 2;
  // Without them, while they can't be read: the receiver reads on from `next`, as it would after them.
  const changes = await includeChanges(ctx, follower, message, left).catch((error: unknown) => {
    if (error instanceof AppError) return '';
    throw error;
  });
  return `${head}${thin.slice(0, -1)}${changes}}}`;
}

export type Outcome = Omit<AttemptRow, 'number' | 'reason'> & {
  readonly isDelivered: boolean;
  /** The receiver wants no messages any more. */
  readonly isGone: boolean;
  readonly retryAfterMs: number;
};

/** Seconds, or a date: RFC 9110. */
function readRetryAfter(text: string | undefined, now: Date): number {
  if (text === undefined) return 0;
  const ms = /^\d{1,6}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now.getTime();
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}

const describe = (error: unknown): string =>
  error instanceof GuardedFetchError ? error.message : `The request failed: ${errorMessage(error)}`;

/** Rejects when the message can't be written, and when `stop` was aborted. */
export async function sendMessage(
  ctx: WebhookCtx,
  follower: Follower,
  message: MessageRow,
  stop: AbortSignal,
): Promise<Outcome> {
  const body = await writeBody(ctx, follower, message);
  const startedAt = ctx.clock.now();
  const startedMs = ctx.clock.monotonicMs();
  const [id, timestamp] = [toMessageId(message.id), Math.floor(startedAt.getTime() / 1_000)];
  const made = () => ({
    started_at: startedAt,
    duration_ms: Math.round(ctx.clock.monotonicMs() - startedMs),
  });
  try {
    const answer = await ctx.fetch(follower.endpoint.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Portal-Service',
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': signMessage(openSecrets(ctx, follower.endpoint), { id, timestamp, body }),
      },
      ...{ body, timeoutMs, maxBytes: maxAnswerBytes, anyBody: true, signal: stop },
    });
    const { status } = answer;
    const isDelivered = status >= 200 && status < 300;
    return {
      ...made(),
      ...{ status, error: isDelivered ? null : `The answer was ${status}`, isDelivered },
      response: answer.text.slice(0, maxKeptLength).replaceAll('\0', ''),
      isGone: status === 410,
      retryAfterMs: readRetryAfter(answer.headers['retry-after'], startedAt),
    };
  } catch (error) {
    stop.throwIfAborted();
    const nothing = { status: null, response: null, isDelivered: false, isGone: false, retryAfterMs: 0 };
    return { ...made(), ...nothing, error: describe(error) };
  }
}
