// A simulated account with the books of a whole company, a connector to it, and what the account itself
// holds.
import { randomBytes } from 'node:crypto';
import { type ProfileName, startNetsuiteAccount } from 'netsuite-simulator';
import { Client } from 'pg';
import { pino } from 'pino';
import { inject } from 'vitest';
import { createLoadedDatabase } from '../../../packages/netsuite-simulator/test/loaded-account.ts';
import type { Connector, RecordTypeMetadata } from '../../../src/connectors/connector.ts';
import { netsuite } from '../../../src/connectors/netsuite/connector.ts';
import type { SourceRecord } from '../../../src/connectors/source-records.ts';
import { createAccountLimits } from '../../../src/core/account-limits.ts';
import { createCertificate } from '../../../src/core/certificate.ts';
import { createGuardedFetch } from '../../../src/core/guarded-fetch.ts';
import { sendControl } from '../../setup/account-control.ts';
import { accountId, dataFolder } from '../../setup/erp.ts';
import { realClock, settingsWith } from './wire.ts';

export const { signal } = new AbortController();

type Rejected = Awaited<ReturnType<Connector['readPage']>>['rejected'][number];
export type CompanyAccount = {
  readonly connector: Connector;
  /** How many requests the connector made. */
  requests(): number;
  /**
   * Rows of a SELECT, without that word, over the account's own tables, which no role restricts: each as its
   * columns' texts.
   */
  truth(query: string): Promise<(string | null)[][]>;
  /** The first column of these rows. */
  first(query: string): Promise<string[]>;
  control(method: string, path: string, body?: unknown): ReturnType<typeof sendControl>;
  /** All pages, with all fields. */
  readAll(
    recordType: RecordTypeMetadata,
    options?: { readonly limit?: number; readonly changedSince?: Date | null },
  ): Promise<{ readonly records: readonly SourceRecord[]; readonly rejected: readonly Rejected[] }>;
  /** All listed ids. */
  listAll(
    recordType: RecordTypeMetadata,
    options?: { readonly limit?: number; readonly changedSince?: Date | null },
  ): Promise<string[]>;
  close(): Promise<void>;
};

export const listIds = ({ records }: { readonly records: readonly { readonly id: string }[] }): string[] =>
  records.map(({ id }) => id);

export async function openCompanyAccount(profile: ProfileName): Promise<CompanyAccount> {
  const admin = inject('pg');
  const database = `company_${randomBytes(6).toString('hex')}`;
  await createLoadedDatabase(database, dataFolder, profile);
  const account = await startNetsuiteAccount({
    admin,
    database,
    dataFolder,
    accountId,
    profile,
    control: {},
  });
  const { certificatePem, privateKeyPem } = createCertificate({
    commonName: 'test',
    days: 30,
    keyType: 'ec-p256',
    now: new Date(),
  });
  const { clientId } = await account.createIntegration('test');
  const { certificateId } = await account.uploadCertificate(clientId, certificatePem);
  const fetch = createGuardedFetch({ allowPrivateHosts: true });
  let requests = 0;
  const counted: typeof fetch = (url, request) => {
    requests += 1;
    return fetch(url, request);
  };
  const settings = settingsWith({ maxResponseBytes: 60_000_000 });
  const connector = netsuite.create(
    {
      fetch: counted,
      clock: realClock,
      log: pino({ level: 'silent' }),
      settings,
      erpLimits: createAccountLimits(),
    },
    {
      accountId: account.accountId,
      baseUrl: account.url,
      authentication: { method: 'oauth2', clientId, certificateId },
    },
    { privateKeyPem },
  );
  const books = new Client({ ...admin, database });
  await books.connect();
  const truth: CompanyAccount['truth'] = async (query) => {
    const { rows } = await books.query({ text: `select ${query}`, rowMode: 'array' });
    return rows.map((row: unknown[]) => row.map((value) => (value === null ? null : String(value))));
  };
  return {
    connector,
    requests: () => requests,
    truth,
    first: async (query) => (await truth(query)).map(([value]) => String(value)),
    control: (method, path, body) => sendControl(account, method, path, body),
    ...createReaders(connector),
    async close() {
      await books.end();
      await account.stop();
      const closing = new Client(admin);
      await closing.connect();
      await closing.query(`drop database if exists "${database}" with (force)`);
      await closing.end();
    },
  };
}

function createReaders(connector: Connector): Pick<CompanyAccount, 'readAll' | 'listAll'> {
  return {
    async readAll(recordType, { limit = 1_000, changedSince = null } = {}) {
      const fields = recordType.fields.map(({ name }) => name);
      const records: SourceRecord[] = [];
      const rejected: Rejected[] = [];
      for (let afterId: string | null = null, hasMore = true; hasMore; ) {
        const request: Parameters<Connector['readPage']>[0] = {
          recordType,
          fields,
          afterId,
          changedSince,
          limit,
          signal,
        };
        const page = await connector.readPage(request);
        records.push(...page.records);
        rejected.push(...page.rejected);
        ({ lastId: afterId, hasMore } = page);
      }
      return { records, rejected };
    },
    async listAll(recordType, { limit = 1_000, changedSince = null } = {}) {
      const ids: string[] = [];
      for (let hasMore = true; hasMore; ) {
        const page = await connector.listIds({
          recordType,
          afterId: ids.at(-1) ?? null,
          changedSince,
          limit,
          signal,
        });
        ids.push(...page.listed.map(({ id }) => id));
        ({ hasMore } = page);
      }
      return ids;
    },
  };
}
