// A real HTTP server in the place of NetSuite: it accepts every login and responds to each request as the
// test defines.
import { generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { pino } from 'pino';
import { afterEach, beforeEach, expect } from 'vitest';
import {
  type Connector,
  ErpError,
  type FieldMetadata,
  type RecordPage,
  type RecordTypeMetadata,
} from '../../../src/connectors/connector.ts';
import type { NetsuiteSecrets } from '../../../src/connectors/netsuite/connection.ts';
import { netsuite } from '../../../src/connectors/netsuite/connector.ts';
import { recordTypeDefinitions } from '../../../src/connectors/netsuite/types/record-types.ts';
import type { Clock } from '../../../src/core/clock.ts';
import { createGuardedFetch, type Resolve } from '../../../src/core/network/guarded-fetch.ts';
import type { Settings } from '../../../src/core/settings.ts';
import { createAccountLimits } from '../../../src/core/work/account-limits.ts';
import { testSettings } from '../../setup/database.ts';
import { listenLocally } from '../../setup/sockets.ts';
import { field } from '../../sync/fixture.ts';

export const { signal } = new AbortController();
/** What most requests for pages have in common: all records, from the first one on. */
export const firstPage = { afterId: null, changedSince: null, limit: 1000, signal } as const;

/** No process listens on this port, and the system never assigns it. */
export const unreachableUrl = 'http://127.0.0.1:1';

export type Seen = {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
};
/** Sends the response itself, or returns the JSON body to send, or another answer that does. */
export type Answer = (seen: Seen, response: ServerResponse) => unknown;
export type Wire = {
  readonly url: string;
  readonly seen: Seen[];
  logins: number;
  answer: Answer;
  login: Answer;
  stop(): Promise<void>;
};

export const json = (
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
};

/** Answers with this. */
export const sends =
  (status: number, body: unknown = {}, headers?: Record<string, string>): Answer =>
  (_seen, response) =>
    json(response, status, body, headers);

export const rowsResponse = (items: readonly unknown[], hasMore = false, extra: object = {}): object => ({
  links: [],
  count: items.length,
  hasMore,
  items,
  offset: 0,
  totalResults: items.length,
  ...extra,
});

/**
 * A response that is held back until `wanted` requests are concurrent, and 20 ms longer, in which further
 * ones would arrive.
 */
export function concurrencyProbe(
  wanted: number,
  answer: object,
): { answer: Answer; maxConcurrent(): number } {
  const reached = Promise.withResolvers<void>();
  let current = 0;
  let max = 0;
  return {
    maxConcurrent: () => max,
    answer: async () => {
      max = Math.max(max, (current += 1));
      if (current >= wanted) reached.resolve();
      await reached.promise;
      await new Promise((done) => setTimeout(done, 20));
      current -= 1;
      return answer;
    },
  };
}

export const errorResponse = (status: number, code: string, detail: string): object => ({
  type: 'about:blank',
  title: 'Error',
  status,
  'o:errorDetails': [{ detail, 'o:errorCode': code }],
});

export const refuses = (
  status: number,
  code: string,
  detail: string,
  headers?: Record<string, string>,
): Answer => sends(status, errorResponse(status, code, detail), headers);

/** Refuses a query, for this reason. */
export const refusesQuery = (detail: string): Answer =>
  refuses(
    400,
    'INVALID_PARAMETER',
    `Invalid search query. Detailed unprocessed description follows. ${detail}`,
  );

/** The error of the connector with which the work must fail. */
export async function expectErpError(
  work: Promise<unknown> | undefined,
  kind: string,
  code?: string,
  more: object = {},
): Promise<ErpError> {
  const error: unknown = await Promise.resolve(work).then(
    () => 'no failure',
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ErpError);
  expect(error).toMatchObject({ kind, ...(code !== undefined && { code }), ...more });
  return error as ErpError;
}

const defaultLogin: Answer = (_seen, response) =>
  json(response, 200, { access_token: `token-${Math.random()}`, expires_in: 3600, token_type: 'Bearer' });

/** Longer than the connector keeps idle connections, so that none is closed just when it is reused. */
export const keepAliveTimeout = 65_000;

/** `wire` is filled in, for those who have a reference to it already. */
export async function startWire(wire = {} as Wire): Promise<Wire> {
  const server = createServer({ keepAliveTimeout }, (request, response) => {
    void (async () => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const path = request.url ?? '';
      const query = body.startsWith('{') ? String(JSON.parse(body).q) : '';
      const seen = { method: request.method ?? '', path, query, headers: request.headers, body };
      if (path.includes('/oauth2/')) {
        wire.logins += 1;
        wire.login(seen, response);
        return;
      }
      wire.seen.push(seen);
      let answer: unknown = wire.answer;
      while (typeof answer === 'function') answer = await answer(seen, response);
      if (answer !== undefined && !response.headersSent && !response.destroyed) json(response, 200, answer);
    })();
  });
  const port = await listenLocally(server);
  return Object.assign(wire, {
    url: `http://127.0.0.1:${port}`,
    seen: [],
    logins: 0,
    login: defaultLogin,
    answer: () => rowsResponse([]),
    stop: () => new Promise<void>((done) => (server.closeAllConnections(), server.close(() => done()))),
  });
}

/** For the top level of a test file or suite: a new server for each test. */
export function useWire(): Wire {
  const wire = {} as Wire;
  beforeEach(() => startWire(wire));
  afterEach(() => wire.stop());
  return wire;
}

/** Reads pages until there are no more, a hundred at most. */
export async function readPages(
  read: (last: RecordPage | undefined) => Promise<RecordPage>,
): Promise<RecordPage[]> {
  const pages: RecordPage[] = [];
  while (pages.at(-1)?.hasMore !== false) {
    if (pages.length === 100) throw new Error('there is no last page');
    pages.push(await read(pages.at(-1)));
  }
  return pages;
}

export const { privateKey: testKey } = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});

export const settingsWith = (erp: Partial<Settings['erp']> = {}): Settings => ({
  ...testSettings,
  erp: { ...testSettings.erp, requestTimeoutMs: 60_000, maxResponseBytes: 5_000_000, ...erp },
});

/** Advances only when the test calls `advance`. */
export const movableClock = (start: Date): Clock & { advance(ms: number): void } => {
  let now = start.getTime();
  return { now: () => new Date(now), monotonicMs: () => now, advance: (ms) => void (now += ms) };
};

export const realClock: Clock = { now: () => new Date(), monotonicMs: () => performance.now() };

/** What a connector needs of the service. */
export const createConnectorCtx = ({
  clock = realClock,
  erp,
  resolve,
}: {
  clock?: Clock;
  erp?: Partial<Settings['erp']>;
  resolve?: Resolve;
} = {}) => ({
  fetch: createGuardedFetch({ allowPrivateHosts: true, ...(resolve !== undefined && { resolve }) }),
  clock,
  log: pino({ level: 'silent' }),
  settings: settingsWith(erp),
  erpLimits: createAccountLimits(),
});

export function createConnectorAt(
  url: string,
  {
    certificateId = 'certificate-1',
    privateKeyPem = testKey,
    secrets = { privateKeyPem },
    ...options
  }: {
    certificateId?: string | null;
    privateKeyPem?: string;
    secrets?: NetsuiteSecrets;
  } & Parameters<typeof createConnectorCtx>[0] = {},
): Connector {
  const authentication = { method: 'oauth2', clientId: 'client-1', certificateId } as const;
  const settings = { accountId: '1234567_SB1', baseUrl: url, authentication };
  return netsuite.create(createConnectorCtx(options), settings, secrets);
}

/** Connectors of one service: they share its fetch, and so the concurrency limit of each account. */
export function createConnectors(accounts: readonly { url: string; accountId: string }[]): Connector[] {
  const ctx = createConnectorCtx();
  const authentication = { method: 'oauth2', clientId: 'client-1', certificateId: 'certificate-1' } as const;
  return accounts.map(({ url, accountId }) =>
    netsuite.create(ctx, { accountId, baseUrl: url, authentication }, { privateKeyPem: testKey }),
  );
}

type Definition = (typeof recordTypeDefinitions)[number];

/** The metadata of a record type for a role that can read all of our columns. */
export function getMetadata(name: string): RecordTypeMetadata {
  const definition = recordTypeDefinitions.find((candidate) => candidate.name === name);
  if (definition === undefined) throw new Error(`no record type ${name}`);
  const toField = (column: Definition['columns'][number]): FieldMetadata => ({
    ...field(column.name, column.type),
    label: column.label,
    syncable: column.excluded === null,
    volatile: column.volatile,
    reason: column.excluded,
  });
  const { lines, columns } = definition;
  const lineFields = lines && {
    ...field('lines', 'lines', lines.columns.map(toField)),
    label: lines.label,
    volatile: lines.columns.some(({ volatile }) => volatile),
  };
  return {
    name,
    label: definition.label,
    table: definition.table,
    source: 'test',
    idType: 'integer',
    openWhen: definition.openWhen[0] ?? null,
    modifiedField: 'lastmodifieddate',
    linesModifiedField: lines?.modified ?? null,
    shownAs: { number: null, name: null, date: null, amount: null },
    fields: [...columns.map(toField), ...(lineFields === null ? [] : [lineFields])],
  };
}

/** Whether a query by id includes this row; a query for all records does. */
export const isRequestedBy =
  (query: string) =>
  ({ id }: { readonly id: string }): boolean =>
    /t\.id IN \(([^)]*)\)/.exec(query)?.[1]?.split(', ').includes(id) ?? true;
