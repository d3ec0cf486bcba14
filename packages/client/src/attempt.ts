// One attempt of a request: it ends when the service is silent for too long.
import { ApiError, ConnectionError } from './errors.ts';
import { isPassingStatus, PassingFailure, readRetryAfter } from './retry.ts';

export type Attempt = {
  readonly url: string;
  /** Default: GET. */
  readonly method?: string;
  readonly headers: Headers;
  readonly body?: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly send: typeof fetch;
};

/** Of the class 2xx, or 304. Reading the chunks rejects as `startAttempt` does. */
export type Response200 = {
  readonly status: number;
  readonly headers: Headers;
  readonly chunks: AsyncGenerator<Uint8Array>;
};

/** Longer timers expire at once. */
const maxTimerMs = 2 ** 31 - 1;

/** `hear` begins the time limit again, `pause` ends it. */
function limitSilence({ timeoutMs, signal }: Attempt) {
  const controller = new AbortController();
  const end = () => controller.abort(signal?.reason);
  const expire = () => controller.abort(new Error(`no answer within ${timeoutMs} ms`));
  let timer: ReturnType<typeof setTimeout> | undefined;
  const hear = () => {
    clearTimeout(timer);
    timer = setTimeout(expire, Math.min(timeoutMs, maxTimerMs));
  };
  signal?.addEventListener('abort', end, { once: true });
  return {
    signal: controller.signal,
    hear,
    pause: () => clearTimeout(timer),
    done: () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
    },
  };
}
type SilenceLimit = ReturnType<typeof limitSilence>;

/** Names that don't exist and certificates that don't fit stay so. */
function isFinal(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : '';
  return code === 'ENOTFOUND' || /CERT|TLS|SSL/.test(code);
}

function toFailure(error: unknown, { url, signal }: Attempt, ended: AbortSignal): unknown {
  if (signal?.aborted) return signal.reason;
  if ([ApiError, ConnectionError, PassingFailure].some((kind) => error instanceof kind)) return error;
  const cause: unknown = ended.aborted ? ended.reason : error;
  const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  const text = reason instanceof Error ? reason.message : String(reason);
  const failure = new ConnectionError(`No whole response from ${new URL(url).host}: ${text}`, { cause });
  return isFinal(error) ? failure : new PassingFailure(failure);
}

async function* readChunks(response: Response, attempt: Attempt, limit: SilenceLimit) {
  const reader = response.body?.getReader();
  try {
    for (;;) {
      limit.hear();
      const part = await reader?.read();
      // The time in which the caller works on it doesn't count.
      limit.pause();
      if (part === undefined || part.done) return;
      yield part.value;
    }
  } catch (error) {
    throw toFailure(error, attempt, limit.signal);
  } finally {
    limit.done();
    reader?.cancel().catch(() => undefined);
  }
}

export async function readText(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of chunks) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The key must not go elsewhere. Browsers don't show the status. */
const isRedirect = ({ status, type }: Response): boolean =>
  type === 'opaqueredirect' || (status >= 300 && status < 400 && status !== 304);

/**
 * Rejects with ApiError for a refusal, with PassingFailure for what may pass, with ConnectionError for what
 * can't, and with the reason of the signal.
 */
export async function startAttempt(attempt: Attempt): Promise<Response200> {
  const { url, method = 'GET', headers, body, signal, send } = attempt;
  signal?.throwIfAborted();
  const limit = limitSilence(attempt);
  limit.hear();
  try {
    const response = await send(url, {
      ...{ method, headers, signal: limit.signal, redirect: 'manual' },
      ...(body !== undefined && { body }),
    });
    if (isRedirect(response))
      throw new ConnectionError(`${new URL(url).origin} redirects to another address`);
    const chunks = readChunks(response, attempt, limit);
    if (response.ok || response.status === 304)
      return { status: response.status, headers: response.headers, chunks };
    const refusal = parseJson(await readText(chunks));
    const error = new ApiError(response.status, refusal, response.headers.get('x-request-id'));
    if (!isPassingStatus(response.status)) throw error;
    throw new PassingFailure(error, readRetryAfter(response.headers));
  } catch (error) {
    limit.done();
    throw toFailure(error, attempt, limit.signal);
  }
}
