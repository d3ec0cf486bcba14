// A real HTTP server that plays NetSuite's side of the wire: it logs in anyone and answers each query as the test says.
import { generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import type { Connector, FieldMetadata, RecordTypeMetadata } from '../../../src/connectors/connector.ts';
import type { NetsuiteSecrets } from '../../../src/connectors/netsuite/connection.ts';
import { netsuite } from '../../../src/connectors/netsuite/connector.ts';
import { recordTypeDefinitions } from '../../../src/connectors/netsuite/record-types.ts';
import type { Clock } from '../../../src/core/clock.ts';
import { openGuardedFetch, type Resolve } from '../../../src/core/guarded-fetch.ts';
import type { Settings } from '../../../src/core/settings.ts';
import { testSettings } from '../../setup/database.ts';

/** Where no one listens, whoever gets which port meanwhile. */
export const nobody = 'http://127.0.0.1:1';

export type Seen = {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
};
/** Answers, or gives the rows of a query and whether there are more. */
export type Answer = (seen: Seen, response: ServerResponse) => unknown;
export type Wire = { readonly url: string; readonly seen: Seen[]; logins: number; answer: Answer; login: Answer; stop(): Promise<void> };

export const json = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
};

export const rowsAnswer = (items: readonly unknown[], hasMore = false, extra: object = {}): object => ({
  links: [],
  count: items.length,
  hasMore,
  items,
  offset: 0,
  totalResults: items.length,
  ...extra,
});

/** An answer that is held back until `wanted` requests are there at once, and some time more, in which too many would come. */
export function crowdedPlace(wanted: number, answer: object): { answer: Answer; most(): number } {
  const crowd = Promise.withResolvers<void>();
  let here = 0;
  let most = 0;
  return {
    most: () => most,
    answer: async () => {
      most = Math.max(most, (here += 1));
      if (here >= wanted) crowd.resolve();
      await crowd.promise;
      await new Promise((done) => setTimeout(done, 20));
      here -= 1;
      return answer;
    },
  };
}

export const errorAnswer = (status: number, code: string, detail: string): object => ({
  type: 'about:blank',
  title: 'Error',
  status,
  'o:errorDetails': [{ detail, 'o:errorCode': code }],
});

export const invalidQuery = (detail: string): object =>
  errorAnswer(400, 'INVALID_PARAMETER', `Invalid search query. Detailed unprocessed description follows. ${detail}`);

const defaultLogin: Answer = (_seen, response) =>
  json(response, 200, { access_token: `token-${Math.random()}`, expires_in: 3600, token_type: 'Bearer' });

/** Longer than the connector keeps idle connections, so that none is closed just as it is used. */
export const keepAliveTimeout = 65_000;

export async function startWire(): Promise<Wire> {
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
      const answer = await wire.answer(seen, response);
      if (answer !== undefined && !response.headersSent && !response.destroyed) json(response, 200, answer);
    })();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const wire: Wire = {
    url: `http://127.0.0.1:${port}`,
    seen: [],
    logins: 0,
    login: defaultLogin,
    answer: () => rowsAnswer([]),
    stop: () => new Promise((done) => (server.closeAllConnections(), server.close(() => done()))),
  };
  return wire;
}

export const { privateKey: testKey } = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});

export const settingsWith = (erp: Partial<Settings['erp']> = {}): Settings => ({
  ...testSettings,
  erp: { allowedHosts: [], concurrency: 2, requestTimeoutMs: 60_000, maxResponseBytes: 5_000_000, ...erp },
});

/** Stands still until moved. */
export const movableClock = (start: Date): Clock & { advance(ms: number): void } => {
  let now = start.getTime();
  return { now: () => new Date(now), monotonicMs: () => now, advance: (ms) => void (now += ms) };
};

export const realClock: Clock = { now: () => new Date(), monotonicMs: () => performance.now() };

export function openAt(
  url: string,
  options: {
    clock?: Clock;
    erp?: Partial<Settings['erp']>;
    certificateId?: string | null;
    privateKeyPem?: string;
    secrets?: NetsuiteSecrets;
    resolve?: Resolve;
  } = {},
): Connector {
  const {
    clock = realClock,
    erp = {},
    certificateId = 'certificate-1',
    privateKeyPem = testKey,
    secrets = { privateKeyPem },
    resolve,
  } = options;
  const fetch = openGuardedFetch({ allowPrivateHosts: true, ...(resolve !== undefined && { resolve }) });
  const ctx = { fetch, clock, log: pino({ level: 'silent' }), settings: settingsWith(erp) };
  const authentication = { method: 'oauth2', clientId: 'client-1', certificateId } as const;
  return netsuite.open(ctx, { accountId: '1234567_SB1', baseUrl: url, authentication }, secrets);
}

/** Connections of one service: they share its way out, and so what each account may be asked at once. */
export function openAccounts(accounts: readonly { url: string; accountId: string }[]): Connector[] {
  const ctx = {
    fetch: openGuardedFetch({ allowPrivateHosts: true }),
    clock: realClock,
    log: pino({ level: 'silent' }),
    settings: settingsWith(),
  };
  const authentication = { method: 'oauth2', clientId: 'client-1', certificateId: 'certificate-1' } as const;
  return accounts.map(({ url, accountId }) => netsuite.open(ctx, { accountId, baseUrl: url, authentication }, { privateKeyPem: testKey }));
}

/** The record type as an account would describe it that can read all of our columns. */
export function metadataOf(name: string): RecordTypeMetadata {
  const definition = recordTypeDefinitions.find((candidate) => candidate.name === name);
  if (definition === undefined) throw new Error(`no record type ${name}`);
  const field = (column: {
    name: string;
    label: string;
    type: FieldMetadata['type'];
    volatile: boolean;
    excluded: string | null;
  }): FieldMetadata => ({
    name: column.name,
    label: column.label,
    type: column.type,
    custom: false,
    syncable: column.excluded === null,
    volatile: column.volatile,
    reason: column.excluded,
  });
  const lines =
    definition.lines === null
      ? []
      : [
          {
            name: 'lines',
            label: definition.lines.label,
            type: 'lines' as const,
            custom: false,
            syncable: true,
            volatile: definition.lines.columns.some(({ volatile }) => volatile),
            reason: null,
            fields: definition.lines.columns.map(field),
          },
        ];
  return {
    name,
    label: definition.label,
    table: definition.table,
    source: 'test',
    idType: 'integer',
    openWhen: definition.openWhen[0] ?? null,
    modifiedField: 'lastmodifieddate',
    fields: [...definition.columns.map(field), ...lines],
  };
}

/** Whether a query for records by id asks for this row; a query for all of them does. */
export const isAskedFor =
  (query: string) =>
  ({ id }: { readonly id: string }): boolean =>
    /t\.id IN \(([^)]*)\)/.exec(query)?.[1]?.split(', ').includes(id) ?? true;
