// Requests to an OData service: their addresses, headers and formats.
import type { Ctx } from '../../../core/ctx.ts';
import type { GuardedFetchError, GuardedResponse } from '../../../core/network/guarded-fetch.ts';
import { type DigitsJson, parseDigits } from '../../../core/text/exact-json.ts';
import { httpError, networkError } from '../../http/errors.ts';
import { createSend } from '../../http/send.ts';
import type { OdataSettings, Place } from '../connection.ts';
import { erpError, responseError } from './errors.ts';

/** A JSON object of a response; its numbers are the texts of their digits. */
export type JsonObject = { readonly [name: string]: DigitsJson };

export type OdataHttp = {
  /** The absolute address of a path below the service root, with the connection's company and tenant. */
  address(path: string, query?: Readonly<Record<string, string>>): string;
  /**
   * The JSON object at an address of this service. Rejects with ErpError, or with the signal's reason; with
   * QUERY_REFUSED where it was to track changes and doesn't.
   */
  getJson(url: string, signal: AbortSignal, preferences?: readonly string[]): Promise<JsonObject>;
  /** The text at an address of this service, in whatever format. Rejects as `getJson`, and for HTML. */
  getText(url: string, signal: AbortSignal): Promise<{ text: string; at: string | undefined }>;
  /** The metadata document, in parts. Rejects as `getJson`, with METADATA_TOO_LARGE for a larger one. */
  getMetadata(signal: AbortSignal): Promise<readonly string[]>;
  /** The absolute address of a link in a response. Throws `ErpError` for a link to another host. */
  follow(link: string, from: string): string;
};

type Parts = Pick<Parameters<typeof createSend>[0], 'signIn' | 'limiter'> & {
  readonly ctx: Pick<Ctx, 'fetch' | 'clock' | 'log' | 'settings'>;
  readonly settings: OdataSettings;
};

const acceptJson = {
  accept: 'application/json;odata.metadata=minimal;IEEE754Compatible=true',
  'odata-maxversion': '4.0',
};

export const trackChanges = 'odata.track-changes';

const segmentOf = (place: Place | null): string => (place?.in === 'path' ? `${place.segment}/` : '');
const parameterOf = (place: Place | null): [string, string][] =>
  place?.in === 'query' ? [[place.name, place.value]] : [];
const withQuery = (url: string, parameters: readonly (readonly [string, string])[]): string =>
  parameters.reduce(
    (whole, [name, value], index) => `${whole}${index === 0 ? '?' : '&'}${name}=${encodeURIComponent(value)}`,
    url,
  );

/** Of every request, and of every request for records. */
function connectionParameters({ dialect, tenant, company }: OdataSettings) {
  const crossCompany: [string, string][] =
    dialect === 'dynamics365' && company === null ? [['cross-company', 'true']] : [];
  return [[...parameterOf(tenant), ...parameterOf(company)], crossCompany] as const;
}

/** Its methods reject with `ErpError`, or with the signal's reason once that is aborted. */
export function createOdataHttp(parts: Parts): OdataHttp {
  const { settings } = parts;
  const root = settings.serviceRoot.replace(/\/*$/, '/') + segmentOf(settings.tenant);
  const metadataUrl = withQuery(`${root}$metadata`, parameterOf(settings.tenant));
  const errors = { toNetworkError, toResponseError: responseError };
  const send = createSend({ ...parts, address: settings.serviceRoot, ...errors });
  const { erp } = parts.ctx.settings;
  const [shared, crossCompany] = connectionParameters(settings);
  return {
    address: (path, query = {}) =>
      withQuery((root + segmentOf(settings.company) + path).replace(/\)\/$/, ')'), [
        ...Object.entries(query),
        ...shared,
        ...(path === '' ? [] : crossCompany),
      ]),
    async getJson(url, signal, preferences = []) {
      const headers = { ...acceptJson, ...(preferences.length > 0 && { prefer: preferences.join() }) };
      const response = await send(url, headers, erp.maxResponseBytes, signal);
      if (preferences.includes(trackChanges)) assertTracked(response);
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

const toNetworkError = (error: GuardedFetchError, url: string) =>
  error.reason === 'too-large' && new URL(url).pathname.endsWith('/$metadata')
    ? erpError('query', 'METADATA_TOO_LARGE', `The metadata is too large: ${error.message}`, error)
    : networkError(error);

const unreadable = (headers: GuardedResponse['headers'], cause?: unknown) => {
  const type = headers['content-type'] ?? 'no content type';
  const message = `The response of the ERP is not one of OData (${type})`;
  return httpError('answer', 'ANSWER_UNREADABLE', message, { cause });
};

function assertTracked({ headers }: GuardedResponse): void {
  if (headers['preference-applied']?.includes('track-changes') !== true)
    throw erpError('query', 'QUERY_REFUSED', 'The ERP keeps no track of changes');
}

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
