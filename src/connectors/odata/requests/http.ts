// The one path of every request to an OData service: the connection's concurrency limit, sign-in, limits of
// time and size, and an ErpError for everything that goes wrong. After a 401 it signs in again once; it
// retries nothing else, because backing off is up to the caller.
import type { Ctx } from '../../../core/ctx.ts';
import { GuardedFetchError, type GuardedResponse } from '../../../core/network/guarded-fetch.ts';
import { type DigitsJson, parseDigits } from '../../../core/text/exact-json.ts';
import type { Limiter } from '../../../core/work/account-limits.ts';
import { findAddressProblem, type OdataSettings, type Place } from '../connection.ts';
import { erpError, networkError, responseError } from './errors.ts';
import type { SignIn } from './sign-in.ts';

/** A JSON object of a response; its numbers are the texts of their digits. */
export type JsonObject = { readonly [name: string]: DigitsJson };

export type OdataHttp = {
  /** The absolute address of a path below the service root, with the connection's company and tenant. */
  address(path: string, query?: Readonly<Record<string, string>>): string;
  /** The JSON object at an address of this service. Rejects with ErpError, or with the signal's reason. */
  getJson(url: string, signal: AbortSignal, maxPageSize?: number): Promise<JsonObject>;
  /** The text at an address of this service, in whatever format. Rejects as `getJson`, and for HTML. */
  getText(
    url: string,
    signal: AbortSignal,
  ): Promise<{ readonly text: string; readonly at: string | undefined }>;
  /** The metadata document, in parts. Rejects as `getJson`, with METADATA_TOO_LARGE for a larger one. */
  getMetadata(signal: AbortSignal): Promise<readonly string[]>;
  /** The absolute address of a link in a response. Throws `ErpError` for a link to another host. */
  follow(link: string, from: string): string;
};

type Parts = {
  readonly ctx: Pick<Ctx, 'fetch' | 'clock' | 'log' | 'settings'>;
  readonly settings: OdataSettings;
  readonly signIn: SignIn;
  readonly limiter: Limiter;
};

const acceptJson = 'application/json;odata.metadata=minimal;IEEE754Compatible=true';

const segmentOf = (place: Place | null): string => (place?.in === 'path' ? `${place.segment}/` : '');
const parameterOf = (place: Place | null): [string, string][] =>
  place?.in === 'query' ? [[place.name, place.value]] : [];
const withQuery = (url: string, parameters: readonly (readonly [string, string])[]): string =>
  parameters.reduce(
    (whole, [name, value], index) => `${whole}${index === 0 ? '?' : '&'}${name}=${encodeURIComponent(value)}`,
    url,
  );

/** Its methods reject with `ErpError`, or with the signal's reason once that is aborted. */
export function createOdataHttp(parts: Parts): OdataHttp {
  const { settings } = parts;
  const root = settings.serviceRoot.replace(/\/*$/, '/') + segmentOf(settings.tenant);
  const metadataUrl = withQuery(`${root}$metadata`, parameterOf(settings.tenant));
  const send = createSend(parts);
  const { erp } = parts.ctx.settings;
  const crossCompany: [string, string][] =
    settings.dialect === 'dynamics365' && settings.company === null ? [['cross-company', 'true']] : [];
  const shared = [...parameterOf(settings.tenant), ...parameterOf(settings.company)];
  return {
    address: (path, query = {}) =>
      withQuery(root + segmentOf(settings.company) + path, [
        ...Object.entries(query),
        ...shared,
        ...(path === '' ? [] : crossCompany),
      ]),
    async getJson(url, signal, maxPageSize) {
      const headers = {
        accept: acceptJson,
        ...(maxPageSize !== undefined && { prefer: `odata.maxpagesize=${maxPageSize}` }),
      };
      const response = await send(url, headers, erp.maxResponseBytes, signal);
      return parseObject(response);
    },
    async getText(url, signal) {
      const accept = 'text/plain, application/json;q=0.9';
      const { text, headers } = await send(url, { accept }, erp.maxResponseBytes, signal);
      if (/^\s*<(?:!doctype )?html/i.test(text.slice(0, 200))) throw unreadable(headers);
      return { text, at: headers['date'] };
    },
    getMetadata: async (signal) =>
      (await send(metadataUrl, { accept: 'application/xml' }, erp.maxMetadataBytes, signal)).parts,
    follow(link, from) {
      const url = URL.parse(link, from);
      if (url !== null && url.origin === new URL(root).origin) return url.href;
      const host = url === null ? link.slice(0, 200) : url.origin;
      throw erpError('answer', 'LINK_REFUSED', `The response continues at another host: ${host}`);
    },
  };
}

type Send = (
  url: string,
  headers: Readonly<Record<string, string>>,
  maxBytes: number,
  signal: AbortSignal,
) => Promise<GuardedResponse>;

function createSend({ ctx, settings, signIn, limiter }: Parts): Send {
  const { requestTimeoutMs: timeoutMs, allowedHosts } = ctx.settings.erp;
  const problem = findAddressProblem(settings.serviceRoot, allowedHosts);
  const attempt = async (...[url, headers, maxBytes, signal]: Parameters<Send>) => {
    const signedIn = await signIn.headers(signal);
    const sent = { ...headers, 'odata-maxversion': '4.0', ...signedIn };
    return { signedIn, response: await ctx.fetch(url, { headers: sent, timeoutMs, maxBytes, signal }) };
  };
  const attemptTwice = async (...request: Parameters<Send>): Promise<GuardedResponse> => {
    const first = await attempt(...request);
    if (first.response.status !== 401 || !signIn.renew(first.signedIn)) return first.response;
    return (await attempt(...request)).response;
  };
  return async (...request) => {
    const [url, , , signal] = request;
    if (problem !== null) throw erpError('query', 'HOST_REFUSED', problem);
    const startedMs = ctx.clock.monotonicMs();
    const response = await limiter
      .run(signal, () => attemptTwice(...request))
      .catch((error: unknown) => {
        if (signal.aborted) throw signal.reason;
        throw error instanceof GuardedFetchError ? toErpError(url, error) : error;
      });
    const durationMs = Math.round(ctx.clock.monotonicMs() - startedMs);
    ctx.log.debug({ path: new URL(url).pathname, status: response.status, durationMs }, 'OData responded');
    if (response.status < 200 || response.status > 299) throw responseError(response, ctx.clock.now());
    return response;
  };
}

const toErpError = (url: string, error: GuardedFetchError) =>
  error.reason === 'too-large' && new URL(url).pathname.endsWith('/$metadata')
    ? erpError('query', 'METADATA_TOO_LARGE', `The metadata is too large: ${error.message}`, { cause: error })
    : networkError(error);

const unreadable = (headers: GuardedResponse['headers'], cause?: unknown) => {
  const type = headers['content-type'] ?? 'no content type';
  const message = `The response of the ERP is not one of OData (${type})`;
  return erpError('answer', 'ANSWER_UNREADABLE', message, { cause });
};

function parseObject({ text, headers }: GuardedResponse): JsonObject {
  let body: DigitsJson | undefined;
  try {
    body = parseDigits(text);
  } catch (error) {
    throw unreadable(headers, error);
  }
  if (!isObject(body)) throw unreadable(headers);
  return body;
}

export const isObject = (value: DigitsJson | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
