// The OData service's HTTP server: signs callers in, finds what they ask for, and answers, unless a fault does.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from 'netsuite-simulator/clock';
import { distortPage, type Faults, type Subject } from './faults.ts';
import { padMetadata, writeMetadata } from './metadata.ts';
import { badRequest, notFound, ODataError, unsupported } from './odata-error.ts';
import type { Profile } from './profiles/profile.ts';
import { parseQuery, type Query } from './query.ts';
import { countRows, type Page, readDelta, readPage } from './read-page.ts';
import { parsePath, type Resource } from './resource-path.ts';
import type { SignIn } from './sign-in.ts';
import type { Row, Store, Table } from './store.ts';
import { type Format, writeEntity, writePage } from './write-answer.ts';

export type SeenRequest = Subject & {
  at: Date;
  method: string;
  /** With the query. */
  path: string;
  status: number;
  /** The effects of the faults that it met. */
  faults: string[];
};
export type ServiceParts = {
  store: Store;
  clock: Clock;
  faults: Faults;
  signIn: SignIn;
  requests: SeenRequest[];
  /** The last page of each list, for answers that repeat it. */
  pages: Map<string, { path: string; page: Page }>;
};
type Answer = {
  status: number;
  type: string;
  body: string | Iterable<string>;
  headers?: Record<string, string | string[]>;
};
type Call = { request: IncomingMessage; url: URL; path: string; subject: Subject; met: string[] };

const MAX_REQUESTS = 100_000;
const MAX_REPEATABLE_LISTS = 1_000;

const toPreferences = (request: IncomingMessage): Map<string, string> =>
  new Map(
    String(request.headers.prefer ?? '')
      .split(',')
      .map((text) => {
        const [name = '', value = ''] = text.trim().toLowerCase().split('=');
        return [name.replace(/^odata\./, ''), value.replaceAll('"', '')];
      }),
  );

function findSubject(profile: Profile, path: string | undefined, url: URL): Subject {
  const other: Subject = { kind: 'other', table: undefined };
  if (path === '$metadata') return { ...other, kind: 'metadata' };
  if (path === undefined || path === '') return other;
  try {
    const { set, key, header, isCount } = parsePath(profile, path);
    const isDelta = /[?&](?:\$|%24)deltatoken=/.test(url.search);
    const kind = isCount ? 'count' : key !== undefined && !header ? 'record' : isDelta ? 'delta' : 'rows';
    return { kind, table: set.name };
  } catch {
    return other;
  }
}

function toFormat(
  { store: { profile } }: ServiceParts,
  { request, url, path }: Call,
): Format & { version: string } {
  const { accept = '', host = '' } = request.headers;
  const highest = String(request.headers['odata-maxversion'] ?? profile.version);
  const version = profile.version === '4.01' && highest !== '4.0' ? '4.01' : '4.0';
  const isRelative = profile.hasRelativeLinks;
  return {
    profile,
    version,
    prefix: version === '4.01' ? '@' : '@odata.',
    isExact: /IEEE754Compatible=true/i.test(accept),
    isBare: /(?:odata\.)?metadata=none/i.test(accept),
    root: isRelative ? '../'.repeat(path.split('/').length - 1) : `http://${host}${profile.root}`,
    self: isRelative ? (path.split('/').at(-1) ?? '') : `http://${host}${url.pathname}`,
    path: path.replace(/\([^/]*$/, ''),
  };
}

const toContentType = ({ isExact, isBare, version }: ReturnType<typeof toFormat>): string =>
  `application/json; ${version === '4.01' ? '' : 'odata.'}metadata=${isBare ? 'none' : 'minimal'}${isExact ? '; IEEE754Compatible=true' : ''}; charset=utf-8`;

/** Business Central reads lines of a known header only. */
function assertHeaderIsGiven({ set, header, key }: Resource, { filter }: Query): void {
  const given = Object.keys(set.header?.by ?? {}).concat(set.keys);
  if (set.isOnlyByHeader && !header && key === undefined && !given.some((name) => filter?.fixes(name)))
    throw badRequest('You must specify an Id or a Document Id to get the lines.');
}

type Read = { table: Table; query: Query; row: Row | undefined; within: Row[] | undefined };
function prepareRead({ store }: ServiceParts, call: Call, resource: Resource): Read {
  const { company, set, key, header } = resource;
  const { profile } = store;
  const companies = profile.sets.find(({ name }) => name === profile.companies);
  if (companies && company !== '' && !store.table('', companies).rows.has(company))
    throw notFound('The company does not exist.');
  const query = parseQuery(profile, set, call.url.search.slice(1));
  assertHeaderIsGiven(resource, query);
  const row = key === undefined ? undefined : store.table(company, header ?? set).rows.get(key);
  if (key !== undefined && !row) throw notFound(`No ${(header ?? set).type} has the key ${key}.`);
  return { table: store.table(company, set), query, row, within: header && row?.lines };
}

function answerList(parts: ServiceParts, call: Call, { table, query, within }: Read): Answer {
  const { faults, pages, store } = parts;
  const { subject, met, request, url } = call;
  const { set } = table;
  if (query.isOrderedByKey && faults.meet(subject, met, 'refuseOrderBy'))
    throw badRequest(`Ordering by the key of ${set.name} is not supported.`);
  const preferences = toPreferences(request);
  const preferred = Number(preferences.get('maxpagesize') ?? Infinity);
  const pageSize = Math.max(1, Math.min(store.profile.maxPageSize, preferred));
  const isTracking = preferences.has('track-changes') && !within;
  if (isTracking && set.refusesDeltas)
    throw new ODataError(500, 'InternalServerError', 'Entity does not support delta requests.');
  const source = { store, table, pageSize };
  const page =
    query.deltaToken === undefined
      ? readPage(source, query, isTracking, within)
      : readDelta(source, query, url.pathname);
  const listName = JSON.stringify([url.pathname, query.select, query.expand]);
  const previous = pages.get(listName);
  if (pages.size === MAX_REPEATABLE_LISTS) pages.clear();
  pages.set(listName, { path: url.search, page });
  const shown = distortPage(
    faults,
    subject,
    page,
    previous?.path === url.search ? undefined : previous?.page,
    met,
  );
  const format = toFormat(parts, call);
  const applied = [
    ...(Number.isFinite(preferred) ? [`odata.maxpagesize=${preferred}`] : []),
    ...(isTracking ? ['odata.track-changes'] : []),
  ];
  return {
    status: 200,
    type: toContentType(format),
    body: writePage(format, set, shown),
    headers: {
      'odata-version': format.version,
      ...(applied.length > 0 && { 'preference-applied': applied.join(', ') }),
    },
  };
}

function answerRead(parts: ServiceParts, call: Call): Answer {
  const { faults, store } = parts;
  const resource = parsePath(store.profile, call.path);
  const read = prepareRead(parts, call, resource);
  const format = toFormat(parts, call);
  if (resource.isCount) {
    const offset = faults.meet(call.subject, call.met, 'countOffset')?.countOffset ?? 0;
    const count = countRows(read, read.query, read.within) + offset;
    return { status: 200, type: 'text/plain; charset=utf-8', body: String(count) };
  }
  if (!read.row || read.within) return answerList(parts, call, read);
  const body = writeEntity(format, read.table.set, read.query, read.row);
  return { status: 200, type: toContentType(format), body, headers: { 'odata-version': format.version } };
}

function answerService(parts: ServiceParts, call: Call): Answer {
  const { store, faults } = parts;
  const { profile } = store;
  if (call.request.method !== 'GET') throw unsupported('The simulated service is read with GET only.');
  if (call.subject.kind === 'metadata') {
    const bad = faults.meet(call.subject, call.met, 'metadata')?.metadata;
    return {
      status: 200,
      type: 'application/xml; charset=utf-8',
      body:
        typeof bad === 'object'
          ? padMetadata(writeMetadata(profile), bad.megabytes)
          : writeMetadata(profile, bad),
    };
  }
  if (call.path !== '') return answerRead(parts, call);
  const format = toFormat(parts, call);
  const value = profile.sets.map(({ name }) => ({ name, kind: 'EntitySet', url: name }));
  const body = JSON.stringify({ [`${format.prefix}context`]: `${format.root}$metadata`, value });
  return { status: 200, type: toContentType(format), body, headers: { 'odata-version': format.version } };
}

const STATUS_CODES: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  410: 'Gone',
  429: 'TooManyRequests',
  503: 'ServiceUnavailable',
};

/** What a fault answers in place of the service. */
async function findFaultAnswer(
  { faults }: ServiceParts,
  { subject, met }: Call,
): Promise<Answer | undefined> {
  const wait = faults.meet(subject, met, 'delayMs');
  if (wait?.delayMs !== undefined) await delay(wait.delayMs);
  const fault = faults.meet(subject, met, 'status', 'redirect', 'html');
  if (!fault) return undefined;
  const { redirect, status, retryAfter } = fault;
  if (redirect !== undefined)
    return { status: 302, type: 'text/plain', body: '', headers: { location: redirect } };
  if (status !== undefined) {
    const code = STATUS_CODES[status] ?? 'InternalServerError';
    const body =
      subject.kind === 'token'
        ? JSON.stringify({ error: 'invalid_client', error_description: 'A fault of the simulator.' })
        : new ODataError(status, code, 'A fault of the simulator.').body();
    const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
    return { status, type: 'application/json', body, headers };
  }
  const body =
    '<!DOCTYPE html><html><head><title>Maintenance</title></head><body>We will be back soon.</body></html>';
  return { status: 200, type: 'text/html; charset=utf-8', body };
}

function toErrorAnswer(error: unknown): Answer {
  const known =
    error instanceof ODataError ? error : new ODataError(500, 'InternalServerError', String(error));
  return { status: known.status, type: 'application/json', body: known.body(), headers: known.headers };
}

async function send(
  { faults }: ServiceParts,
  call: Call,
  response: ServerResponse,
  answer: Answer,
): Promise<void> {
  const { status, type, body } = answer;
  const isOData = call.subject.kind !== 'token' && !type.startsWith('text/html');
  const version = isOData ? { 'odata-version': '4.0' } : {};
  const headers = { 'content-type': type, 'cache-control': 'no-cache', ...version, ...answer.headers };
  if (typeof body !== 'string') {
    response.writeHead(status, headers);
    // A caller that leaves needs no further parts.
    await pipeline(body, response).catch(() => undefined);
    return;
  }
  const content = Buffer.from(body);
  response.writeHead(status, { ...headers, 'content-length': content.length });
  const cut = faults.meet(call.subject, call.met, 'cut')?.cut ?? Infinity;
  if (cut >= content.length) {
    response.end(content);
    return;
  }
  response.flushHeaders();
  // Time for what was written to leave, even if it is only the headers.
  response.write(content.subarray(0, cut), () => setImmediate(() => response.destroy()));
}

function note({ clock, requests }: ServiceParts, { request, url, subject, met }: Call, status: number): void {
  const { method = '' } = request;
  if (requests.length === MAX_REQUESTS) requests.shift();
  requests.push({
    at: clock.now(),
    ...subject,
    method,
    path: url.pathname + url.search,
    status,
    faults: met,
  });
}

async function handle(
  parts: ServiceParts,
  call: Call,
  response: ServerResponse,
  answerCall: () => Answer | Promise<Answer>,
  isOpen: boolean,
): Promise<void> {
  let answer: Answer;
  try {
    if (!isOpen) parts.signIn.assertSignedIn(call.request.headers);
    answer = (await findFaultAnswer(parts, call)) ?? (await answerCall());
  } catch (error) {
    answer = toErrorAnswer(error);
  }
  note(parts, call, answer.status);
  await send(parts, call, response, answer);
}

const toUrl = ({ url = '/' }: IncomingMessage): URL => new URL(url.replace(/^\/+/, '/'), 'http://127.0.0.1');

/** Never throws: what fails while a request is answered becomes its answer. */
export function createServiceHandler(parts: ServiceParts): RequestListener {
  const { profile } = parts.store;
  return (request, response) => {
    const url = toUrl(request);
    const path = url.pathname.startsWith(profile.root) ? url.pathname.slice(profile.root.length) : undefined;
    const call = { request, url, path: path ?? '', subject: findSubject(profile, path, url), met: [] };
    const answerCall = (): Answer => {
      if (path === undefined) throw notFound(`The service is at ${profile.root}.`);
      return answerService(parts, call);
    };
    void handle(parts, call, response, answerCall, false);
  };
}

const MAX_FORM_BYTES = 65_536;

/** The token endpoint, on an address of its own. Never throws, either. */
export function createTokenHandler(parts: ServiceParts, tokenPath: string): RequestListener {
  return (request, response) => {
    const url = toUrl(request);
    const call: Call = { request, url, path: '', subject: { kind: 'token', table: undefined }, met: [] };
    const answerCall = async (): Promise<Answer> => {
      if (request.method !== 'POST' || url.pathname !== tokenPath)
        throw notFound(`Tokens are issued by POST ${tokenPath}.`);
      const form = await buffer(request);
      if (form.length > MAX_FORM_BYTES) throw badRequest('The form is too large.');
      const { status, body } = parts.signIn.issueToken(
        new URLSearchParams(form.toString()),
        request.headers.authorization ?? '',
      );
      return { status, type: 'application/json; charset=utf-8', body: JSON.stringify(body) };
    };
    void handle(parts, call, response, answerCall, true);
  };
}
