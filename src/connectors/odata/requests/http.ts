// Requests to an OData service: their addresses, headers and formats.
import type { Ctx } from '../../../core/ctx.ts';
import type { GuardedFetchError, GuardedResponse } from '../../../core/network/guarded-fetch.ts';
import { type DigitsJson, parseDigits } from '../../../core/text/exact-json.ts';
import { httpError, networkError } from '../../http/errors.ts';
import { createSend } from '../../http/send.ts';
import type { OdataSettings, Place } from '../connection.ts';
import { erpError, inconsistentResponse, responseError } from './errors.ts';

/** A JSON object of a response; its numbers are the texts of their digits. */
export type JsonObject = { readonly [name: string]: DigitsJson };

export type OdataHttp = {
  /** The absolute address of a path below the service root, with the connection's company and tenant. */
  address(path: string, query?: Readonly<Record<string, string>>): string;
  /** The JSON object at an address of this service. QUERY_REFUSED where it was to track changes and doesn't. */
  getJson(url: string, signal: AbortSignal, preferences?: readonly string[]): Promise<JsonObject>;
  /** The service's clock: the Date header of its service document, or of the company. */
  readTime(signal: AbortSignal): Promise<Date>;
  /** The metadata document, in parts. METADATA_TOO_LARGE for a larger one, and what `onPart` throws. */
  getMetadata(onPart: (part: string) => void, signal: AbortSignal): Promise<void>;
  /** The absolute address of a link in a response. Throws LINK_REFUSED for a link to another host. */
  follow(link: string, base: string): string;
};

type Parts = Pick<Parameters<typeof createSend>[0], 'signIn' | 'limiter'> & {
  readonly ctx: Pick<Ctx, 'fetch' | 'clock' | 'log' | 'settings'>;
  readonly settings: OdataSettings;
};

export const trackChanges = 'odata.track-changes';
const acceptJson = {
  accept: 'application/json;odata.metadata=minimal;IEEE754Compatible=true',
  'odata-maxversion': '4.0',
};

const segmentOf = (place: Place | null): string => (place?.in === 'path' ? `${place.segment}/` : '');
const parametersOf = (...places: readonly (Place | null)[]): Record<string, string> =>
  Object.fromEntries(places.flatMap((place) => (place?.in === 'query' ? [[place.name, place.value]] : [])));

/** With those of the parameters that it lacks. */
function withQuery(url: string, parameters: Readonly<Record<string, string>>): string {
  const { searchParams } = new URL(url);
  const missing = Object.entries(parameters).filter(([name]) => !searchParams.has(name));
  const query = missing.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  return query === '' ? url : `${url}${url.includes('?') ? '&' : '?'}${query}`;
}

/** The addresses of a connection, with what every request to them has. */
function createAddresses({ serviceRoot, tenant, company, dialect }: OdataSettings) {
  const root = serviceRoot.replace(/\/*$/, '/') + segmentOf(tenant);
  // Where Dynamics 365 names a company, it does so in filters: see `companyFilter`.
  const ofRecords: Record<string, string> =
    dialect === 'dynamics365'
      ? { ...parametersOf(tenant), 'cross-company': 'true' }
      : parametersOf(tenant, company);
  const below = (path: string): string => (root + segmentOf(company) + path).replace(/\)\/$/, ')');
  return {
    metadata: withQuery(`${root}$metadata`, parametersOf(tenant)),
    serviceDocument: withQuery(below(''), parametersOf(tenant)),
    address: (path: string, query = {}) => withQuery(below(path), { ...query, ...ofRecords }),
    follow(link: string, base: string) {
      const url = URL.parse(link, base);
      if (url !== null && url.origin === new URL(root).origin) return withQuery(url.href, ofRecords);
      const host = url === null ? link.slice(0, 200) : url.origin;
      throw erpError('answer', 'LINK_REFUSED', `The response continues at another host: ${host}`);
    },
  };
}

/** Its methods reject with `ErpError` or with the signal's reason; only `follow` throws. */
export function createOdataHttp({ ctx, settings, ...parts }: Parts): OdataHttp {
  const { metadata, serviceDocument, ...addresses } = createAddresses(settings);
  const errors = { toNetworkError, toResponseError: responseError };
  const send = createSend({ ctx, ...parts, address: settings.serviceRoot, ...errors });
  const { maxResponseBytes, maxMetadataBytes } = ctx.settings.erp;
  return {
    ...addresses,
    async getJson(url, signal, preferences = []) {
      const headers = { ...acceptJson, ...(preferences.length > 0 && { prefer: preferences.join() }) };
      const response = await send(url, headers, maxResponseBytes, signal);
      if (preferences.includes(trackChanges)) assertTracked(response);
      return parseObject(response);
    },
    async readTime(signal) {
      const response = await send(serviceDocument, acceptJson, maxResponseBytes, signal);
      // Some services have this document in XML alone.
      if (/^\s*<(?:!doctype )?html/i.test(response.text.slice(0, 200))) throw unreadable(response);
      const time = new Date(response.headers['date'] ?? '');
      if (Number.isNaN(time.getTime())) throw inconsistentResponse('The response has no time of the ERP');
      return time;
    },
    async getMetadata(onPart, signal) {
      let problem: unknown;
      const write = (part: string): void => {
        try {
          if (problem === undefined) onPart(part);
        } catch (error) {
          problem = error;
        }
      };
      await send(metadata, { accept: 'application/xml' }, maxMetadataBytes, signal, write);
      if (problem !== undefined) throw problem;
    },
  };
}

/** Selects the records of the connection's company where Dynamics 365 keeps them by company; empty otherwise. */
export const companyFilter = (
  { dialect, company }: OdataSettings,
  key: readonly { readonly path: string }[],
): string[] =>
  dialect === 'dynamics365' && company?.in === 'query' && key.some(({ path }) => path === company.name)
    ? [`${company.name} eq '${company.value.replaceAll("'", "''")}'`]
    : [];

const toNetworkError = (error: GuardedFetchError, url: string) =>
  error.reason === 'too-large' && new URL(url).pathname.endsWith('/$metadata')
    ? erpError('query', 'METADATA_TOO_LARGE', `The metadata is too large: ${error.message}`, error)
    : networkError(error);

function assertTracked({ headers }: GuardedResponse): void {
  if (headers['preference-applied']?.includes('track-changes') !== true)
    throw erpError('query', 'QUERY_REFUSED', 'The ERP keeps no track of changes');
}

const unreadable = ({ headers }: GuardedResponse, cause?: unknown) => {
  const type = headers['content-type'] ?? 'no content type';
  const message = `The response of the ERP is not one of OData (${type})`;
  return httpError('answer', 'ANSWER_UNREADABLE', message, { cause });
};

function parseObject(response: GuardedResponse): JsonObject {
  let body: DigitsJson | undefined;
  try {
    body = parseDigits(response.text);
  } catch (error) {
    throw unreadable(response, error);
  }
  if (!isObject(body)) throw unreadable(response);
  // A response that had begun when the service failed ends with the error.
  const { error } = body;
  if (!isObject(error)) return body;
  throw inconsistentResponse(`The ERP failed within a response: ${String(error['message']).slice(0, 500)}`);
}

export const isObject = (value: DigitsJson | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
