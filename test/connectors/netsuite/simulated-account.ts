// A simulated account, by default with the books of a whole company, a connector to it, and what the account
// itself holds.
import { randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { type NetsuiteAccount, type NetsuiteAccountOptions, startNetsuiteAccount } from 'netsuite-simulator';
import { Client } from 'pg';
import { afterEach, inject } from 'vitest';
import { createLoadedDatabase } from '../../../packages/netsuite-simulator/test/loaded-account.ts';
import type { Connector, RecordTypeMetadata } from '../../../src/connectors/connector.ts';
import { netsuite } from '../../../src/connectors/netsuite/connector.ts';
import type { SourceRecord } from '../../../src/connectors/source-records.ts';
import { createCertificate } from '../../../src/core/secrets/certificate.ts';
import { sendControl } from '../../setup/account-control.ts';
import { profile } from '../../setup/account-profile.ts';
import { accountId, dataFolder } from '../../setup/erp.ts';
import { createScratchFolder } from '../../setup/scratch-folder.ts';
import { asSuperuser } from '../../setup/superuser.ts';
import { useStarted } from '../../setup/use-started.ts';
import { createConnectorCtx, firstPage, signal } from './wire.ts';

const headers = {
  customer: 'id,entityid,isperson,isinactive,currency,defaultcountry,datecreated,lastmodifieddate',
  item: 'id,itemid,displayname,itemtype,isinactive,createddate,lastmodifieddate',
  transaction:
    'id,tranid,type,trandate,entity,currency,exchangerate,posting,foreigntotal,createddate,lastmodifieddate',
  transactionline:
    'uniquekey,id,transaction,linesequencenumber,item,memo,quantity,rate,netamount,mainline,taxline,linelastmodifieddate',
};
export type Row = readonly (string | number)[];
/** Rows are in the order of the columns; an empty text is null. */
export type Tables = Readonly<Record<keyof typeof headers, readonly Row[]>>;

export type Login = {
  readonly clientId: string;
  readonly certificateId: string;
  readonly privateKeyPem: string;
};
type Rejected = Awaited<ReturnType<Connector['readPage']>>['rejected'][number];
type Paging = { readonly limit?: number; readonly changedSince?: Date | null };
export type SimulatedAccount = {
  readonly account: NetsuiteAccount;
  readonly login: Login;
  readonly connector: Connector;
  /** How many requests the connector made. */
  requests(): number;
  /** A new certificate for the same integration. */
  signUp(keyType: 'ec-p256' | 'rsa-3072'): Promise<Login>;
  openConnector(login: Login): Connector;
  /** The account's own database, which no role restricts. */
  readonly books: Client;
  /** Rows of a SELECT, without that word, over the account's own tables: each as its columns' texts. */
  truth(query: string): Promise<(string | null)[][]>;
  /** The first column of these rows. */
  first(query: string): Promise<string[]>;
  control(method: string, path: string, body?: unknown): ReturnType<typeof sendControl>;
  /** A user changes a record, and with it its modification time. */
  edit(table: string, id: string | null | undefined, fields: object): ReturnType<typeof sendControl>;
  /** Records whose modification time is not before this, and those with changed lines. */
  countChanged(
    recordType: RecordTypeMetadata,
    since: Date,
  ): ReturnType<NonNullable<Connector['countChanged']>>;
  /** The ids of records with changed lines. */
  listWithChangedLines(recordType: RecordTypeMetadata, since: Date): Promise<readonly string[] | undefined>;
  readByIds(
    recordType: RecordTypeMetadata,
    fields: readonly string[],
    ids: readonly string[],
  ): ReturnType<Connector['readByIds']>;
  /** A record type that is described: of `types`, or one that the connector knows by name if there are `tables`. */
  getType(name: string): RecordTypeMetadata;
  /** All pages, with all syncable fields. */
  readAll(
    recordType: RecordTypeMetadata,
    options?: Paging & { readonly fields?: readonly string[] },
  ): Promise<{ readonly records: readonly SourceRecord[]; readonly rejected: readonly Rejected[] }>;
  /** All listed ids. */
  listAll(recordType: RecordTypeMetadata, options?: Paging): Promise<string[]>;
  close(): Promise<void>;
};

export const listIds = ({ records }: { readonly records: readonly { readonly id: string }[] }): string[] =>
  records.map(({ id }) => id);
export const listSyncable = ({ fields }: RecordTypeMetadata): string[] =>
  fields.filter(({ syncable }) => syncable).map(({ name }) => name);

type Options = Pick<NetsuiteAccountOptions, 'profile' | 'timeZone' | 'dateFormat'> & {
  /** Instead of the shipped sample of data; the profile is that of the environment then. */
  readonly tables?: Tables;
  /** Record types to describe. */
  readonly types?: readonly string[];
};

async function start(database: string, { tables, types: _, ...options }: Options): Promise<NetsuiteAccount> {
  const given = { admin: inject('pg'), database, accountId, control: {}, ...options };
  if (tables === undefined) {
    await createLoadedDatabase(database, dataFolder, options.profile);
    return startNetsuiteAccount({ ...given, dataFolder });
  }
  const folder = await createScratchFolder('account-');
  for (const [name, rows] of Object.entries(tables)) {
    const text = [headers[name as keyof Tables], ...rows.map((row) => row.join(','))].join('\n');
    await writeFile(path.join(folder, `${name}.csv.gz`), gzipSync(`${text}\n`));
  }
  const inProfile = profile === undefined ? {} : { profile };
  const account = await startNetsuiteAccount({ ...given, ...inProfile, dataFolder: folder });
  await rm(folder, { recursive: true });
  return account;
}

export async function openAccount(options: Options = {}): Promise<SimulatedAccount> {
  const database = `account_${randomBytes(6).toString('hex')}`;
  const account = await start(database, options);
  const { clientId } = await account.createIntegration('test');
  let requests = 0;
  const service = createConnectorCtx({ erp: { maxResponseBytes: 60_000_000 } });
  const ctx: typeof service = {
    ...service,
    fetch: (url, request) => {
      requests += 1;
      return service.fetch(url, request);
    },
  };
  const signUp: SimulatedAccount['signUp'] = async (keyType) => {
    const made = createCertificate({ commonName: 'test', days: 30, keyType, now: new Date() });
    const { certificateId } = await account.uploadCertificate(clientId, made.certificatePem);
    return { clientId, certificateId, privateKeyPem: made.privateKeyPem };
  };
  const openConnector = ({ privateKeyPem, ...ids }: Login): Connector => {
    const settings = {
      accountId,
      baseUrl: account.url,
      authentication: { method: 'oauth2', ...ids },
    } as const;
    return netsuite.create(ctx, settings, { privateKeyPem });
  };
  const login = await signUp('ec-p256');
  const connector = openConnector(login);
  const { tables, types: wanted } = options;
  const described =
    tables === undefined && wanted === undefined ? [] : await connector.metadata(signal, wanted);
  const types = new Map(described.map((type) => [type.name, type]));
  requests = 0;
  const books = new Client({ ...inject('pg'), database });
  await books.connect();
  const truth: SimulatedAccount['truth'] = async (query) => {
    const { rows } = await books.query({ text: `select ${query}`, rowMode: 'array' });
    return rows.map((row: unknown[]) => row.map((value) => (value === null ? null : String(value))));
  };
  return {
    account,
    login,
    connector,
    requests: () => requests,
    signUp,
    openConnector,
    books,
    truth,
    first: async (query) => (await truth(query)).map(([value]) => String(value)),
    control: (method, path, body) => sendControl(account, method, path, body),
    edit: (table, id, fields) =>
      sendControl(account, 'PATCH', `/records/${table}/${id}`, { fields, touch: 'header' }),
    getType(name) {
      const type = types.get(name);
      if (type === undefined) throw new Error(`${name} is not described`);
      return type;
    },
    ...createReaders(connector),
    async close() {
      await books.end();
      await account.stop();
      await asSuperuser(inject('pg'), (client) =>
        client.query(`drop database if exists "${database}" with (force)`),
      );
    },
  };
}

/** For the top level of a test file or suite: what a test changes over the control interface is reset after it. */
export function useAccount(options: Options = {}): SimulatedAccount {
  const account = useStarted(() => openAccount(options));
  afterEach(() => account.control('POST', '/reset'));
  return account;
}
function createReaders(
  connector: Connector,
): Pick<SimulatedAccount, 'readAll' | 'listAll' | 'countChanged' | 'listWithChangedLines' | 'readByIds'> {
  return {
    async countChanged(recordType, since) {
      if (connector.countChanged === undefined) throw new Error('changes are not counted');
      return connector.countChanged({ recordType, since, signal });
    },
    listWithChangedLines: async (recordType, since) =>
      (await connector.lines?.listChanged({ ...firstPage, recordType, since }))?.ids,
    readByIds: (recordType, fields, ids) => connector.readByIds({ recordType, fields, ids, signal }),
    async readAll(recordType, { fields = listSyncable(recordType), ...paging } = {}) {
      const records: SourceRecord[] = [];
      const rejected: Rejected[] = [];
      for (let afterId: string | null = null, hasMore = true; hasMore; ) {
        const page = await connector.readPage({ ...firstPage, ...paging, recordType, fields, afterId });
        records.push(...page.records);
        rejected.push(...page.rejected);
        ({ lastId: afterId, hasMore } = page);
      }
      return { records, rejected };
    },
    async listAll(recordType, paging = {}) {
      const ids: string[] = [];
      for (let hasMore = true; hasMore; ) {
        const afterId = ids.at(-1) ?? null;
        const page = await connector.listIds({ ...firstPage, ...paging, recordType, afterId });
        ids.push(...page.listed.map(({ id }) => id));
        ({ hasMore } = page);
      }
      return ids;
    },
  };
}
