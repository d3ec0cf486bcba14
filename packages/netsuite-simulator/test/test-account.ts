// A separate account per test file, with the demo's slice of data, and a signed-in caller.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import jwt from 'jsonwebtoken';
import { afterAll, beforeAll, expect, inject } from 'vitest';
import { type NetsuiteAccount, type NetsuiteAccountOptions, startNetsuiteAccount } from '../src/account.ts';
import { createCertificate, type KeyType } from './certificate.ts';
import { asAdmin, createLoadedDatabase } from './loaded-account.ts';
import { until } from './until.ts';

export const SLICE = path.resolve(import.meta.dirname, '../../../demo/data');
export const ACCOUNT_ID = 'TSTDRV1234567';
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

export type Link = { rel: string; href: string; method?: string };
export type ErrorDetail = {
  detail: string;
  'o:errorCode': string;
  'o:errorQueryParam'?: string;
  'o:errorHeader'?: string;
  'o:errorUrl'?: string;
  'o:errorPath'?: string;
};
/** The members that tests use; which of them exist depends on the response. */
export type Body = {
  links: Link[];
  hasMore: boolean;
  items: Record<string, string>[];
  'o:errorDetails': ErrorDetail[];
  access_token: string;
  serverTime: string;
  [member: string]: unknown;
};
export type Answer = { status: number; headers: Headers; body: Body };
export type QueryOptions = {
  limit?: number | string;
  offset?: number | string;
  params?: unknown[];
  headers?: Record<string, string>;
  text?: string;
};
export type Identity = {
  clientId: string;
  certificateId: string;
  privateKeyPem: string;
  algorithm: jwt.Algorithm;
};

export const newDatabaseName = (): string => `netsuite_${randomBytes(6).toString('hex')}`;

export function startOn(
  database: string,
  options: Partial<NetsuiteAccountOptions> = {},
): Promise<NetsuiteAccount> {
  return startNetsuiteAccount({
    admin: inject('pg'),
    database,
    dataFolder: SLICE,
    accountId: ACCOUNT_ID,
    ...options,
  });
}

export async function dropDatabase(database: string): Promise<void> {
  await asAdmin(inject('pg').database, (client) =>
    client.query(`DROP DATABASE IF EXISTS "${database}" WITH (FORCE)`),
  );
}

/** Resolves when the server has closed the connections of the process that ran the account. */
export const isLeft = (database: string): Promise<true> =>
  asAdmin(inject('pg').database, (client) =>
    until(async () => {
      const { rows } = await client.query('SELECT 1 FROM pg_stat_activity WHERE datname = $1', [database]);
      return rows.length === 0 || undefined;
    }),
  );

export async function createIdentity(
  account: NetsuiteAccount,
  keyType: KeyType = 'ec-p256',
): Promise<Identity> {
  const { clientId } = await account.createIntegration('Portal Service');
  const made = await createCertificate({ days: 700, keyType, now: new Date() });
  const { certificateId } = await account.uploadCertificate(clientId, made.certificatePem);
  return {
    clientId,
    certificateId,
    privateKeyPem: made.privateKeyPem,
    algorithm: keyType === 'ec-p256' ? 'ES256' : 'PS256',
  };
}

export const tokenUrl = (account: NetsuiteAccount): string =>
  `${account.url}/services/rest/auth/oauth2/v1/token`;

export function signAssertion(
  account: NetsuiteAccount,
  identity: Identity,
  claims: object = {},
  options: jwt.SignOptions = {},
): string {
  const now = Math.floor(Date.now() / 1000);
  const payload = {
    iss: identity.clientId,
    aud: tokenUrl(account),
    scope: ['rest_webservices'],
    iat: now,
    exp: now + 300,
    ...claims,
  };
  // jsonwebtoken rejects undefined claims
  return jwt.sign(JSON.parse(JSON.stringify(payload)) as object, identity.privateKeyPem, {
    algorithm: identity.algorithm,
    keyid: identity.certificateId,
    ...options,
  });
}

export async function requestToken(account: NetsuiteAccount, form: Record<string, string>): Promise<Answer> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_assertion_type: ASSERTION_TYPE,
    ...form,
  });
  return readAnswer(await fetch(tokenUrl(account), { method: 'POST', body }));
}

export async function signIn(account: NetsuiteAccount, identity?: Identity): Promise<string> {
  const answer = await requestToken(account, {
    client_assertion: signAssertion(account, identity ?? (await createIdentity(account))),
  });
  return answer.body.access_token;
}

export async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: JSON.parse(text || '{}') as Body };
}

type Row = Record<string, string>;
export type Caller = {
  account: NetsuiteAccount;
  database: string;
  authorization: string;
  query(q: string, options?: QueryOptions): Promise<Answer>;
  /** The rows of a successful query, without their `links`, which must be empty. */
  rows(q: string, options?: QueryOptions): Promise<Row[]>;
  /** The first row of a successful query. Rejects with an Error if there is none. */
  first(q: string, options?: QueryOptions): Promise<Row>;
  /** The only column in the first row, undefined for null. */
  value(q: string, options?: QueryOptions): Promise<string | undefined>;
  /** The only column in all rows. */
  column(q: string, options?: QueryOptions): Promise<(string | undefined)[]>;
  /** Expects a successful query without rows. */
  expectNone(q: string, message?: string): Promise<void>;
  /** The error message of a rejected query, without the prefix that all of them share. */
  refusal(q: string, options?: QueryOptions): Promise<string>;
  get(pathAndQuery: string, headers?: Record<string, string>, method?: string): Promise<Answer>;
  /** The body of a successful GET. */
  read(pathAndQuery: string): Promise<Body>;
  /** The properties of a record type in the metadata catalog. */
  readProperties(type: string): Promise<Record<string, ReturnType<typeof JSON.parse>>>;
  /** A write, with a body if there is one. */
  send(
    method: string,
    pathAndQuery: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  /** The status with which a write is answered. */
  status(method: string, pathAndQuery: string, body?: unknown): Promise<number>;
  /** The id of a record that is created successfully. */
  create(type: string, body?: unknown): Promise<string>;
  /** The detail of the error with which a write is refused. */
  rejection(method: string, pathAndQuery: string, body?: unknown): Promise<string>;
  close(): Promise<void>;
};

export const CATALOG = 'record/v1/metadata-catalog';
const PREFIX = 'Invalid search query. Detailed unprocessed description follows. ';

export async function startCaller(options: Partial<NetsuiteAccountOptions> = {}): Promise<Caller> {
  const database = options.database ?? newDatabaseName();
  if (options.database === undefined && options.dataFolder === undefined && options.replayFrom === undefined)
    await createLoadedDatabase(database, SLICE, options.profile);
  const account = await startOn(database, options);
  const authorization = `Bearer ${await signIn(account)}`;
  const query = async (
    q: string,
    { limit = 1000, offset = 0, params, headers, text }: QueryOptions = {},
  ): Promise<Answer> =>
    readAnswer(
      await fetch(`${account.url}/services/rest/query/v1/suiteql?limit=${limit}&offset=${offset}`, {
        method: 'POST',
        headers: { authorization, prefer: 'transient', 'content-type': 'application/json', ...headers },
        body: text ?? JSON.stringify({ q, ...(params ? { params } : {}) }),
      }),
    );
  const rows: Caller['rows'] = async (q, queryOptions) => {
    const { status, body } = await query(q, queryOptions);
    if (status !== 200)
      throw new Error(`${status} ${JSON.stringify(body)} ${account.audit().at(-1)?.reason}`);
    return body.items.map(({ links, ...row }) => {
      if (JSON.stringify(links) !== '[]') throw new Error(`a row with links: ${JSON.stringify(links)}`);
      return row;
    });
  };
  const first: Caller['first'] = async (q, queryOptions) => {
    const [row] = await rows(q, queryOptions);
    if (row === undefined) throw new Error(`no row: ${q}`);
    return row;
  };
  const toValue = (row: Row): string | undefined => {
    const [value, ...more] = Object.values(row);
    if (more.length > 0) throw new Error(`more than one column: ${Object.keys(row)}`);
    return value;
  };
  const get: Caller['get'] = async (pathAndQuery, headers, method = 'GET') =>
    readAnswer(
      await fetch(`${account.url}/services/rest/${pathAndQuery}`, {
        method,
        headers: { authorization, ...headers },
      }),
    );
  const send: Caller['send'] = async (method, pathAndQuery, body, headers) =>
    readAnswer(
      await fetch(`${account.url}/services/rest/${pathAndQuery}`, {
        method,
        headers: { authorization, ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    );
  return {
    account,
    database,
    authorization,
    query,
    rows,
    first,
    value: async (q, queryOptions) => toValue(await first(q, queryOptions)),
    column: async (q, queryOptions) => (await rows(q, queryOptions)).map(toValue),
    expectNone: async (q, message) => expect(await rows(q), message).toEqual([]),
    async refusal(q, queryOptions) {
      const { status, body } = await query(q, queryOptions);
      if (status !== 400) throw new Error(`${status} ${JSON.stringify(body).slice(0, 300)}`);
      return (body['o:errorDetails'][0]?.detail ?? '').replace(PREFIX, '');
    },
    get,
    read: async (pathAndQuery) => toBody(await get(pathAndQuery)),
    readProperties: async (type) =>
      toBody(await get(`${CATALOG}/${type}`, { accept: 'application/schema+json' }))['properties'] as never,
    send,
    status: async (...write) => (await send(...write)).status,
    create: async (type, body) => getCreatedId(await send('POST', `record/v1/${type}`, body)),
    async rejection(...write) {
      const [status, detail] = toErrorDetail(await send(...write));
      if (status < 400) throw new Error(`${status} for ${write[0]} ${write[1]}`);
      return detail;
    },
    async close() {
      await account.stop();
      await dropDatabase(database);
    },
  };
}

/** A caller of an account with the rows of `createDataFolder`. */
export async function startShop(
  options: Partial<NetsuiteAccountOptions> = {},
  files: Parameters<typeof createDataFolder>[0] = {},
): Promise<Caller & { folder: string }> {
  const { folder, remove } = await createDataFolder(files);
  const caller = await startCaller({ dataFolder: folder, ...options });
  return {
    ...caller,
    folder,
    async close() {
      await caller.close();
      await remove();
    },
  };
}

/**
 * For the top level of a test file or a `describe`: all is there when its own hooks and tests run, and closed
 * after them.
 */
export function useStarted<T extends { close(): Promise<void> }>(start: () => Promise<T>): T {
  const started = {} as T;
  beforeAll(async () => {
    Object.assign(started, await start());
  });
  afterAll(() => started.close());
  return started;
}
export const useCaller = (...given: Parameters<typeof startCaller>) =>
  useStarted(() => startCaller(...given));
export const useShop = (...given: Parameters<typeof startShop>) => useStarted(() => startShop(...given));

const toBody = ({ status, body }: Answer): Body => {
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
};

/** The id at the end of a new record's Location. */
export const getCreatedId = (answer: Answer): string => {
  if (answer.status !== 204) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.headers.get('location')?.split('/').at(-1) ?? '';
};

/** Details of errors for the body of a write. */
export const invalidValue = (value: unknown, field: string): string =>
  `Error while accessing a resource. Invalid Field Value ${value} for the following field: ${field}`;
export const missingValue = (labels: string): string =>
  `Error while accessing a resource. Please enter value(s) for: ${labels}`;

/** The status, detail and code of an error response. */
export const toErrorDetail = ({ status, body }: Answer): [status: number, detail: string, code: string] => [
  status,
  body['o:errorDetails']?.[0]?.detail ?? '',
  body['o:errorDetails']?.[0]?.['o:errorCode'] ?? '',
];

const HEADERS: Record<string, string> = {
  customer: 'id,entityid,isperson,isinactive,currency,defaultcountry,datecreated,lastmodifieddate',
  item: 'id,itemid,displayname,itemtype,isinactive,createddate,lastmodifieddate',
  transaction:
    'id,tranid,type,trandate,entity,currency,exchangerate,posting,foreigntotal,createddate,lastmodifieddate',
  transactionline:
    'uniquekey,id,transaction,linesequencenumber,item,memo,quantity,rate,netamount,mainline,taxline,linelastmodifieddate',
};
const T = '2011-07-01 10:00:00';

/** Creates a data folder with a few rows; each file can be given other rows or raw bytes. */
export async function createDataFolder(
  files: Partial<Record<string, string[] | Buffer | null>> = {},
): Promise<{ folder: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'netsuite-data-'));
  const usual: Record<string, string[]> = {
    customer: [`1,CUST1,F,F,1,France,${T},${T}`, `2,CUST2,F,F,1,,${T},${T}`],
    item: [`10,ABC,"A ""quoted"", back\\slash",InvtPart,F,${T},${T}`],
    transaction: [`101,I1,CustInvc,2011-07-01,1,1,1,T,30.10,${T},${T}`],
    transactionline: [`1001,1,101,1,10,,-1,30.10,-30.10,F,F,${T}`],
  };
  for (const [name, header] of Object.entries(HEADERS)) {
    const given = files[name];
    if (given === null) continue;
    const bytes = Buffer.isBuffer(given)
      ? given
      : gzipSync([header, ...(given ?? usual[name] ?? []), ''].join('\n'));
    await writeFile(path.join(folder, `${name}.csv.gz`), bytes);
  }
  return { folder, remove: () => rm(folder, { recursive: true }) };
}
