// Calls the management interface with the session's cookie, typed by its OpenAPI document. A failure is an
// ApiError with the service's own message and request id.
import type { Client } from 'openapi-fetch';
import type { paths } from '../.generated/api.ts';
import { ApiError } from './api-error.ts';
import { limitedReads, sessionEnded, shownOrganization, unreachable } from './service-state.ts';

export const platformBase = '/api/platform/v1';

export async function readError(response: Response): Promise<ApiError> {
  const body = await response.json().catch(() => ({}));
  return new ApiError(response.status, body.error ?? {});
}

const maxWaitSeconds = 60;
/** Waits less when `signal` is aborted. */
const wait = (ms: number, signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
    signal.addEventListener('abort', resolve);
  });

async function fetchOnce(request: Request): Promise<Response> {
  if (sessionEnded.value)
    throw new ApiError(401, { code: 'UNAUTHORIZED', message: 'Your session has ended. Sign in again.' });
  try {
    const response = await fetch(request);
    unreachable.value = false;
    if (response.status === 401) sessionEnded.value = true;
    return response;
  } catch (error) {
    if (!request.signal.aborted) unreachable.value = true;
    throw error;
  }
}

/** A read that exceeded the rate limit is repeated once its window has passed. */
async function fetchPatiently(request: Request): Promise<Response> {
  const response = await fetchOnce(request.clone());
  const seconds = Number(response.headers.get('retry-after') ?? 'NaN');
  if (response.status !== 429 || request.method !== 'GET' || !(seconds <= maxWaitSeconds)) return response;
  limitedReads.value += 1;
  await wait(seconds * 1000, request.signal);
  limitedReads.value -= 1;
  return fetchOnce(request);
}

/** Calls an operation, for an answer that isn't JSON. Rejects with an ApiError when it is refused. */
export async function send(path: string, init: RequestInit): Promise<Response> {
  const request = new Request(platformBase + path, init);
  if (shownOrganization.value !== '') request.headers.set('x-organization-id', shownOrganization.value);
  const response = await fetchPatiently(request);
  if (!response.ok) throw await readError(response);
  return response;
}

type Values = Readonly<Record<string, unknown>>;
type CallInit = {
  readonly params?: { readonly path?: Values; readonly query?: Values };
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly querySerializer?: (query: Values) => string;
  readonly parseAs?: 'text';
};

/** Lists are repeated parameters; null and undefined are left out. */
function toQuery(query: Values): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((one) => [name, one] as const),
  );
  return new URLSearchParams(
    given.filter(([, value]) => value != null).map(([name, value]) => [name, String(value)]),
  ).toString();
}

const call =
  (method: string) =>
  async (
    path: string,
    { params = {}, body, headers, querySerializer = toQuery, parseAs }: CallInit = {},
  ): Promise<{ data: unknown }> => {
    const at = path.replace(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(String(params.path?.[name])),
    );
    const search = querySerializer(params.query ?? {});
    const response = await send(at + (search && `?${search}`), {
      method,
      ...(body !== undefined && {
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', ...headers },
      }),
    });
    const text = await response.text();
    return { data: parseAs === 'text' ? text : text === '' ? undefined : JSON.parse(text) };
  };

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
/**
 * Calls typed by the OpenAPI document. Each rejects with an ApiError; `toApiError` also covers failures of
 * the network.
 */
export const api = Object.fromEntries(methods.map((method) => [method, call(method)])) as unknown as Pick<
  Client<paths>,
  (typeof methods)[number]
>;

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
type JsonOf<Operation> = Operation extends { responses: infer Responses }
  ? {
      [Status in keyof Responses]: Status extends 200 | 201 | 202
        ? Responses[Status] extends { content: { 'application/json': infer Body } }
          ? Body
          : never
        : never;
    }[keyof Responses]
  : never;
/** The body of a successful answer, such as `Answer<'/sync-configs/{id}'>`. */
export type Answer<Path extends keyof paths, M extends Method = 'get'> = JsonOf<paths[Path][M]>;
/** One item of a list. */
export type Item<Path extends keyof paths> = Answer<Path> extends { data: (infer One)[] } ? One : never;
export { ApiError, toApiError } from './api-error.ts';
export type { paths };
