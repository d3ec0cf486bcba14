// What the tests of missing and empty fields share: a company whose version v1 shows invoices, what it serves
// next to the account's truth, its change feed and its mails.
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { demoEndpoints } from '../../demo/schema.ts';
import type { Answer } from '../setup/api.ts';
import { type MailServer, startMailServer } from '../setup/smtp.ts';
import { until } from '../setup/until.ts';
import { type Company, type ErpRecord, startCompany } from './company.ts';

type Served = Awaited<ReturnType<Company['readAll']>>[number];
export type Gaps = {
  readonly company: Company;
  readonly configId: string;
  /** Invoices by id, as v1 serves them. */
  served(): Promise<Map<string, Served>>;
  /** Invoices by id, as they are in the account. */
  truth(): Promise<Map<string, ErpRecord>>;
  /** Hides these tables and columns from the role; without them nothing is hidden. */
  hide(hidden?: {
    tables?: readonly string[];
    columns?: Readonly<Record<string, readonly string[]>>;
  }): Promise<unknown>;
  edit(id: string, change: { fields?: object; lines?: readonly object[]; touch?: string }): Promise<unknown>;
  /** Creates an invoice like another one, and returns its id. */
  create(like: string): Promise<string>;
  /** The token at the end of the change feed. */
  token(): Promise<string>;
  /** The ids in the feed since the token, ascending. */
  changes(since: string): Promise<string[]>;
  /** The sync configuration. */
  sync(): Promise<Answer['body']>;
  /** The subjects of the mails since the last call, once there are so many. */
  mails(count: number): Promise<string[]>;
  /** Ends faults and hidden columns, and what they left in the sync. */
  heal(): Promise<void>;
  accept(...fields: string[]): ReturnType<Company['api']>;
  warnings(run: { id: string }): Promise<string[]>;
  stop(): Promise<void>;
};

export const recipient = 'ops@example.test';

/** For the top level of a test file; faults and hidden columns of a test end before the next one. */
export function useGaps(): Gaps {
  const gaps = {} as Gaps;
  beforeAll(async () => Object.assign(gaps, await startGaps()));
  beforeEach(() => gaps.heal());
  afterAll(() => gaps.stop());
  return gaps;
}

async function startGaps(): Promise<Gaps> {
  const server: MailServer = await startMailServer();
  const company = await startCompany({ mail: { smtpUrl: server.url } });
  const configId = await company.config('invoice', { alertRecipients: [recipient] });
  expect(await company.run('invoice')).toMatchObject({ status: 'succeeded' });
  expect(await company.publish(demoEndpoints.filter(({ name }) => name === 'invoices'))).toBe('v1');
  const walk = async (since: string | null) => {
    const ids: string[] = [];
    for (let next = since; ; ) {
      const { status, body } = await company.read(
        `/v1/invoices/changes?limit=1000${next === null ? '' : `&since=${encodeURIComponent(next)}`}`,
      );
      expect([status, body.error]).toEqual([200, undefined]);
      ids.push(...body.data.map(({ id }: { id: string }) => id));
      next = body.next;
      if (!body.hasMore) return { ids: ids.sort((a, b) => Number(a) - Number(b)), next: body.next };
    }
  };
  return {
    company,
    configId,
    async served() {
      return new Map((await company.readAll('v1/invoices')).map((record) => [record.id, record]));
    },
    async truth() {
      return new Map((await company.transactions('CustInvc')).map((record) => [record.id, record]));
    },
    hide: (hidden = {}) => company.control('PUT', '/hidden', hidden),
    edit: (id, change) => company.control('PATCH', `/records/transaction/${id}`, change),
    create: async (like) => (await company.control('POST', '/records/transaction', { like })).id,
    token: async () => (await walk(null)).next,
    changes: async (since) => (await walk(since)).ids,
    sync: async () => (await company.api('get', `/sync-configs/${configId}`)).body,
    async mails(count) {
      await until(async () => server.delivered.length >= count);
      return server.delivered.splice(0).map(({ mail }) => mail.subject ?? '');
    },
    async heal() {
      await company.control('POST', '/reset');
      const { staleFields, acceptedFields } = (await company.api('get', `/sync-configs/${configId}`)).body;
      if (staleFields.length + acceptedFields.length > 0) {
        await company.refresh();
        expect(await company.run('invoice', 'full')).toMatchObject({ status: 'succeeded' });
      }
      server.delivered.splice(0);
    },
    accept: (...fields) => company.api('post', `/sync-configs/${configId}/accept-missing-fields`, { fields }),
    async warnings({ id }) {
      const { body } = await company.api('get', `/sync-runs/${id}/events?pageSize=100`);
      return body.data
        .filter(({ level }: { level: string }) => level === 'warning')
        .map(({ message }: { message: string }) => message);
    },
    async stop() {
      await server.close();
      await company.stop();
    },
  };
}

export const ascending = (...ids: string[]): string[] => ids.sort((a, b) => Number(a) - Number(b));
export const by = <T>(records: Map<string, T>, id: string): T => {
  const found = records.get(id);
  if (found === undefined) throw new Error(`no record ${id}`);
  return found;
};

/** Decimals in one notation: the ERP leaves out trailing zeros. */
export const decimal = (text: string | number | null | undefined): string | null =>
  text == null ? null : String(Number(text));
