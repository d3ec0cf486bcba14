// From a company's ERP account to the responses that its customers get, using only the real interfaces: both
// APIs over HTTP and a simulated account with real transactions. Also what happens when that account changes
// or is unreachable.
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { createGunzip } from 'node:zlib';
import { parse } from 'csv-parse';
import { type NetsuiteAccount, startNetsuiteAccount } from 'netsuite-simulator';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { demoEndpoints } from '../../demo/schema.ts';
import { type Background, startBackground } from '../../src/app.ts';
import { fullAccess } from '../../src/core/record-access.ts';
import { createVersionTools, getRecordTools } from '../../src/public/index.ts';
import { ask, createReference } from '../gateways/model/ask.ts';
import { answered, declined } from '../gateways/model/questions.ts';
import { createCaller, publishVersion, withReads } from '../public/fixture.ts';
import { testSettings } from '../setup/database.ts';
import { accountId, dataFolder } from '../setup/erp.ts';
import { findStablePort } from '../setup/stable-port.ts';
import { until } from '../setup/until.ts';
import { useOrganization } from '../setup/use-organization.ts';

type Run = {
  id: string;
  status: string;
  generation: string;
  error: { code: string } | null;
  counts: Record<string, number>;
};
type Invoice = {
  id: string;
  number: string;
  total: number;
  customerName: string | null;
  lines: { quantity: number; amount: number; item: string }[];
};

const site = useOrganization({
  erp: { port: await findStablePort() },
  settings: {
    // The ERP is unreachable while it restarts.
    sync: { ...testSettings.sync, retryBaseMs: 200, retryMaxMs: 400, maxAttemptsWithoutProgress: 100_000 },
    cacheTtlMs: 50,
  },
});
let account: NetsuiteAccount;
let background: Background;
const configs = new Map<string, string>();

beforeAll(async () => {
  ({ account } = site.erp);
  background = await startBackground(site.ctx);
});
afterAll(async () => {
  await background.stop();
  await account.stop();
});

const read = (address: string) =>
  createCaller(site.app, { secret: site.owner.secret, organizationId: site.id })(`/v1${address}`);

async function sync(recordType: string, ends: readonly string[] = ['succeeded']): Promise<Run> {
  const started = await site.api('post', `/sync-configs/${configs.get(recordType)}/trigger`, {});
  expect(started.status).toBe(202);
  return until(async () => {
    const { body } = await site.api('get', `/sync-runs/${started.body.id}`);
    if (ends.includes(body.status)) return body as Run;
    if (['succeeded', 'partial', 'failed', 'cancelled'].includes(body.status))
      throw new Error(JSON.stringify(body.error));
    return undefined;
  });
}

/** Changes the ERP's database directly, as an administrator's or a cashier's work would. */
async function inTheErp(...statements: string[]): Promise<void> {
  const client = new Client({ ...inject('pg'), database: site.erp.database });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

async function csvRows(file: string): Promise<Record<string, string>[]> {
  const rows: Record<string, string>[] = [];
  const source = createReadStream(path.join(dataFolder, file))
    .pipe(createGunzip())
    .pipe(parse({ columns: true }));
  for await (const row of source) rows.push(row as Record<string, string>);
  return rows;
}
const pence = (amount: string | number | undefined): number => Math.round(Number(amount) * 100);
const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);

async function allInvoices(): Promise<Invoice[]> {
  const found: Invoice[] = [];
  for (let page = 1; ; page += 1) {
    const { status, body } = await read(`/invoices?pageSize=1000&page=${page}&sort=number`);
    expect(status).toBe(200);
    found.push(...body.data);
    if (found.length >= body.pagination.total || body.data.length === 0) return found;
  }
}

const answers = [
  '/invoices?pageSize=50',
  '/invoices?amountDue_gt=0&sort=amountDue&order=desc&pageSize=3',
  '/invoices/514012',
  '/customers?number_contains=130',
];
const snapshot = () =>
  Promise.all(
    answers.map(async (address) => {
      const { status, headers, text } = await read(address);
      return { address, status, etag: headers['etag'], text };
    }),
  );

describe('a company publishes its ERP data', () => {
  it('connects and reads the metadata', async () => {
    await site.erp.connect(site.api);
    expect((await site.api('post', '/netsuite/connection/test')).body).toMatchObject({ ok: true });
    expect((await site.api('post', '/netsuite/metadata/refresh')).status).toBe(200);
  });

  const runs = new Map<string, Run>();
  it.each(['customer', 'invoice', 'item', 'creditMemo'])('syncs every %s', async (recordType) => {
    const made = await site.api('post', '/sync-configs', { name: recordType, recordType });
    expect(made.status).toBe(201);
    configs.set(recordType, made.body.id);
    runs.set(recordType, await sync(recordType));
  });

  it('has all records, and the proof of it', async () => {
    const [customers, invoices] = [runs.get('customer'), runs.get('invoice')];
    if (customers === undefined || invoices === undefined) throw new Error('they were not synced');
    expect(customers.counts).toMatchObject({ fetched: 1199, inserted: 1199, rejected: 0 });
    expect(invoices.counts).toMatchObject({ fetched: 2072, inserted: 2072, rejected: 0 });
    const { body } = await site.api('get', `/sync-runs/${invoices.id}/proof`);
    const checks = ['pages', 'count', 'lines', 'staged', 'fields'];
    expect(body.checks).toMatchObject(checks.map((check) => ({ check, passed: true })));
  });

  it('drafts, validates and publishes v1', async () => {
    const draft = await site.api('post', '/api-schema', {
      name: 'Wholesale',
      endpoints: demoEndpoints.filter(({ recordType }) => ['customer', 'invoice'].includes(recordType)),
    });
    expect(draft.status).toBe(201);
    expect((await site.api('post', `/api-schema/${draft.body.id}/validate`)).body.problems).toEqual([]);
    const started = await site.api('post', `/api-schema/${draft.body.id}/publish`, {
      revision: draft.body.revision,
    });
    expect(started.status).toBe(202);
    const readStatus = async () => (await site.api('get', `/api-schema/${draft.body.id}`)).body.status;
    await until(async () => (await readStatus()) === 'published');
  });

  it('serves every invoice and every line, to the penny', async () => {
    const [transactions, lines] = [
      await csvRows('transaction.csv.gz'),
      await csvRows('transactionline.csv.gz'),
    ];
    const expected = transactions.filter(({ type }) => type === 'CustInvc');
    const ids = new Set(expected.map(({ id }) => id));
    const ownLines = lines.filter(({ transaction }) => ids.has(transaction ?? ''));
    const served = await allInvoices();
    expect(served.map(({ number }) => number).sort()).toEqual(expected.map(({ tranid }) => tranid).sort());
    expect(sum(served.map(({ total }) => pence(total)))).toBe(
      sum(expected.map(({ foreigntotal }) => pence(foreigntotal))),
    );
    const servedLines = served.flatMap((invoice) => invoice.lines);
    expect(servedLines).toHaveLength(ownLines.length);
    expect(sum(servedLines.map(({ amount }) => pence(amount)))).toBe(
      -sum(ownLines.map(({ netamount }) => pence(netamount))),
    );
    expect(sum(servedLines.map(({ quantity }) => quantity))).toBe(
      -sum(ownLines.map(({ quantity }) => Number(quantity))),
    );
    const one = (await read('/invoices/514012')).body.data as Invoice;
    expect(one).toMatchObject({ number: '560776', customerName: 'CUST13995', total: 408.25 });
    expect(one.lines[0]).toMatchObject({ description: 'LUNCH BAG WOODLAND', quantity: 10, amount: 16.5 });
  });
});

describe('the built-in model, asked about all four record types', () => {
  beforeAll(() => publishVersion(site.ctx, site.id, { version: 'v2', endpoints: demoEndpoints }));
  const createTools = () =>
    createVersionTools(
      getRecordTools(withReads(site.ctx)),
      { ...site.ctx, organizationId: site.id },
      { version: 'v2', reads: fullAccess, maxCharacters: 60_000 },
    );

  it('the expected answers match the data', async () => {
    const reference = await createReference(site.ctx, site.id);
    const found = await Promise.all(answered.map(({ sql }) => reference(sql)));
    expect(found).toEqual(answered.map(({ known }) => known));
  });

  it(`answers at least 31 of ${answered.length} questions, and none wrongly`, async () => {
    const replies = await Promise.all(
      answered.map(async (question) => ({ ...question, ...(await ask(question.ask, createTools())) })),
    );
    const complete = replies.filter(({ reason }) => reason === 'complete');
    const wrong = complete.filter(
      ({ says, text, calls }) => calls === 0 || !says.every((words) => text.includes(words)),
    );
    expect(wrong.map(({ ask: question, text }) => [question, text])).toEqual([]);
    expect([answered.length, complete.length >= 31]).toEqual([36, true]);
  });

  it('declines what it does not understand, and asks for clarification of ambiguous questions', async () => {
    const replies = await Promise.all(declined.map((question) => ask(question, createTools())));
    const words =
      /I don't understand|Which|two ways|not known|never above zero|two conditions for the same field/;
    expect(replies.filter(({ reason, text }) => reason !== 'declined' || !words.test(text))).toEqual([]);
  });

  it('answers every example in its documentation', async () => {
    const [, forms = ''] =
      /## Forms\n([\s\S]*?)\n## /.exec(await readFile('docs/offline-model.md', 'utf8')) ?? [];
    const examples = [...forms.matchAll(/^\| [^|]+ \| (.+) \|$/gm)]
      .flatMap(([, cell = '']) => cell.split(' · '))
      .filter((text) => text !== 'Example');
    expect(examples.length).toBeGreaterThan(20);
    const replies = await Promise.all(
      examples.map(async (example) => ({ example, ...(await ask(example, createTools())) })),
    );
    expect(
      replies.filter(({ reason }) => reason !== 'complete').map(({ example, text }) => [example, text]),
    ).toEqual([]);
  });

  it('lists example questions with the version’s own names, and answers all of them', async () => {
    const overview = (await ask('What can you do?', createTools())).text;
    for (const words of ['invoices, customers, items, credit-memos', 'Show the 5 largest invoices'])
      expect(overview).toContain(words);
    const memos = (await ask('What can you tell me about credit memos?', createTools())).text;
    for (const words of ['There are 372', 'customerName (text), filter']) expect(memos).toContain(words);
    const examples = [...`${overview}\n${memos}`.matchAll(/^- (\p{Lu}.+[?\d]|\p{Lu}.+ [a-z ]+)$/gmu)].map(
      ([, example = '']) => example,
    );
    expect(examples.length).toBeGreaterThan(10);
    const replies = await Promise.all(examples.map((example) => ask(example, createTools())));
    expect(
      replies.filter(({ reason, text }) => reason !== 'complete' && !text.includes('never above zero')),
    ).toEqual([]);
  });
});

describe('the ERP changes', () => {
  it('a sync without changes leaves every response and ETag unchanged', async () => {
    const before = await snapshot();
    const none = { inserted: 0, updated: 0, deleted: 0, unchanged: 0 };
    expect((await sync('invoice')).counts).toMatchObject(none);
    expect(await snapshot()).toEqual(before);
  });

  it('the next run applies an edited and a deleted invoice, and the ETag changes', async () => {
    const before = await read('/invoices?pageSize=1');
    await inTheErp(
      `update ledger.transaction set foreigntotal = foreigntotal + 1.01, lastmodifieddate = lastmodifieddate + interval '1 hour' where id = 514012`,
      'delete from ledger.transactionline where transaction = 514013',
      'delete from ledger.transaction where id = 514013',
    );
    const run = await sync('invoice');
    expect(run.counts).toMatchObject({ updated: 1, deleted: 1, inserted: 0, unchanged: 0 });
    const after = await until(async () => {
      const answer = await read('/invoices?pageSize=1');
      return answer.headers['etag'] === before.headers['etag'] ? undefined : answer;
    });
    expect(after.body.pagination.total).toBe(2071);
    expect((await read('/invoices/514012')).body.data.total).toBe(409.26);
    expect((await read('/invoices/514013')).status).toBe(404);
    expect(Object.keys(after.body.data[0])).toEqual(Object.keys(before.body.data[0]));
  });

  it('a field is removed: v1 still responds, in the same shape', async () => {
    const before = await read('/customers/13047');
    account.setColumnVisible('customer', 'datecreated', false);
    try {
      expect(await sync('customer', ['partial'])).toMatchObject({ error: { code: 'FIELDS_UNREADABLE' } });
      const after = await read('/customers/13047');
      expect(after.status).toBe(200);
      expect(after.body).toEqual(before.body);
    } finally {
      account.setColumnVisible('customer', 'datecreated', true);
    }
  });

  it('the role can no longer see invoices: the run fails, and nothing is deleted', async () => {
    account.setVisible('transaction', false);
    try {
      expect(await sync('invoice', ['failed'])).toMatchObject({ error: { code: 'RECORD_TYPE_HIDDEN' } });
      expect((await read('/invoices?pageSize=1')).body.pagination.total).toBe(2071);
    } finally {
      account.setVisible('transaction', true);
    }
  });
});

describe('the ERP is unreachable', () => {
  it('public responses stay unchanged; the run waits and succeeds when the ERP is back', async () => {
    const before = await snapshot();
    await account.stop();
    const waiting = await sync('invoice', ['waiting']);
    expect(waiting.error?.code).toBe('HOST_UNREACHABLE');
    expect(await snapshot()).toEqual(before);
    const port = Number(new URL(account.url).port);
    const again = { database: site.erp.database, dataFolder, accountId, port };
    account = await startNetsuiteAccount({ admin: inject('pg'), ...again });
    await until(async () => (await site.api('get', `/sync-runs/${waiting.id}`)).body.status === 'succeeded');
    expect(await snapshot()).toEqual(before);
  });
});
