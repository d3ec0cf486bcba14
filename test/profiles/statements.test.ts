// Statements of every customer, at any date: to the cent what the account's own posting lines on receivables add up to.
import { beforeAll, describe, expect, it } from 'vitest';
import { journalEntry, journalLines } from '../../demo/journal-lines.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { toCookieName } from '../../src/http/cookies.ts';
import { insertSession } from '../../src/portal/sessions.store.ts';
import { createRandom, propertySeed } from '../access/random.ts';
import { profile } from '../setup/account-profile.ts';
import { until } from '../setup/until.ts';
import { useStarted } from '../setup/use-started.ts';
import { openCompany } from './company.ts';

const company = useStarted(() => openCompany());
const random = createRandom(propertySeed);
const recordTypes = ['customer', 'invoice', 'creditMemo', 'customerPayment', 'customerRefund'];

/** By customer and currency: millionths. Some lines of the data are not whole cents. */
type Balances = Map<string, bigint>;
const parseAmount = (text: string): bigint => {
  const [, sign, whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d{1,6})0*)?$/.exec(text) ?? [];
  if (sign === undefined) throw new Error(`${text} has more digits than are compared`);
  return BigInt(`${sign}${whole}${fraction.padEnd(6, '0')}`);
};

async function postedAt(day: string): Promise<Balances> {
  const { rows } = await company.account.pool.query<{ entity: string; currency: string; owed: string }>(
    `select coalesce(l.entity, t.entity)::text as entity, c.name as currency, sum(l.foreignamount)::text as owed
     from ledger.transactionline l join ledger.transaction t on t.id = l.transaction
       join ledger.account a on a.id = l.account join ledger.currency c on c.id = t.currency
     where a.accttype = 'AcctRec' and t.posting = 'T' and t.trandate <= $1 group by 1, 2`,
    [day],
  );
  return new Map(rows.map(({ entity, currency, owed }) => [`${entity} ${currency}`, parseAmount(owed)]));
}

/** What a member sees as the customer. */
async function seeAs(customer: string): Promise<string> {
  const { tenant, portal } = company;
  const { origin, host } = new URL(tenant.settings.publicUrl);
  const { organizationId } = tenant;
  const site = { organizationId, host } as Parameters<typeof insertSession>[1];
  const { owner } = await inTransaction(tenant, (tx) =>
    tx('memberships').first<{ owner: string }>('user_id as owner'),
  );
  const { token } = await inTransaction(tenant, (tx) =>
    insertSession(tx, site, {
      ...{ email: '', customer, viewer_id: owner, previous_visit_at: null, lifetimeSeconds: 3_600 },
      ...{ ip: '127.0.0.1', userAgent: null },
    }),
  );
  expect(portal).toContain('/portal/');
  return `${toCookieName(origin, `portal_view_as_${organizationId}`)}=${token}`;
}

type Line = { readonly currency: string; readonly date: string; readonly balance: bigint };
async function readLines(cookie: string, from: string, to: string): Promise<Line[]> {
  const host = new URL(company.tenant.settings.publicUrl).host;
  const answer = await fetch(`${company.portal}/statement.csv?from=${from}&to=${to}`, {
    headers: { cookie, host },
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${answer.status} ${text.slice(0, 500)}`);
  return text
    .trimEnd()
    .split('\r\n')
    .slice(1)
    .map((line) => {
      const [currency = '', date = '', , , , , , balance = ''] = line.split(',');
      return { currency, date, balance: parseAmount(balance) };
    });
}

let days: string[];
let span: { first: string; last: string };

beforeAll(async () => {
  const { api, sync } = company;
  expect((await api('post', '/netsuite/queries', journalLines)).status).toBe(201);
  const configs = new Map<string, string>();
  for (const recordType of [...recordTypes, journalLines.name]) {
    const made = await api('post', '/sync-configs', { name: recordType, recordType });
    expect([recordType, made.status, made.body.error]).toEqual([recordType, 201, undefined]);
    configs.set(recordType, made.body.id);
  }
  await sync(configs, 'full');
  const { people, records } = (await api('get', '/portal/access')).body;
  const shown = records.filter((one: { recordType: string }) => recordTypes.includes(one.recordType));
  const access = { enabled: true, people, records: [...shown, journalEntry] };
  expect((await api('put', '/portal/access', access)).body.statementGaps).toEqual([]);
  await until(async () => (await api('get', '/portal/access')).body.status === 'on', 300_000);
  const { rows } = await company.account.pool.query<{ first: string; last: string }>(
    `select min(trandate)::text as first, max(trandate)::text as last from ledger.transaction where posting = 'T'`,
  );
  span = rows[0] ?? { first: '', last: '' };
  const length = (Date.parse(span.last) - Date.parse(span.first)) / 86_400_000;
  days = Array.from({ length: 50 }, () =>
    new Date(Date.parse(span.first) + random.int(length) * 86_400_000).toISOString().slice(0, 10),
  ).sort();
});

describe(`statements of the profile ${profile}`, () => {
  it('have the balance of every customer at 50 random dates', { timeout: 900_000 }, async () => {
    const posted = new Map(await Promise.all(days.map(async (day) => [day, await postedAt(day)] as const)));
    const { rows } = await company.account.pool.query<{ id: string }>('select id::text from ledger.customer');
    const different: string[] = [];
    let compared = 0;
    for (const { id } of rows) {
      const lines = await readLines(await seeAs(id), span.first, span.last);
      for (const [day, balances] of posted) {
        const before = lines.filter(({ date }) => date <= day);
        const stated = new Map(before.map(({ currency, balance }) => [currency, balance]));
        const owed = [...balances].filter(([key]) => key.startsWith(`${id} `));
        for (const [key, amount] of owed) {
          const currency = key.slice(id.length + 1);
          compared += 1;
          if ((stated.get(currency) ?? 0n) !== amount)
            different.push(`${day} ${key}: ${stated.get(currency)} ${amount}`);
          stated.delete(currency);
        }
        for (const [currency, amount] of stated)
          if (amount !== 0n) different.push(`${day} ${id} ${currency}: ${amount} 0`);
      }
    }
    expect(compared).toBeGreaterThan(5_000);
    expect(different).toEqual([]);
  });

  it('open and close at random dates with what is posted by then', { timeout: 900_000 }, async () => {
    const last = await postedAt(span.last);
    const ids = [...new Set([...last.keys()].map((key) => key.split(' ')[0] ?? ''))];
    for (const day of days) {
      const id = random.pick(ids);
      const to = random.pick(days.filter((one) => one >= day));
      const lines = await readLines(await seeAs(id), day, to);
      const [before, at] = [await postedAt(dayBefore(day)), await postedAt(to)];
      for (const currency of new Set(lines.map((line) => line.currency))) {
        const own = lines.filter((line) => line.currency === currency);
        const key = `${id} ${currency}`;
        expect([day, to, key, own[0]?.balance, own.at(-1)?.balance]).toEqual([
          ...[day, to, key],
          ...[before.get(key) ?? 0n, at.get(key) ?? 0n],
        ]);
      }
    }
  });
});

const dayBefore = (day: string): string => new Date(Date.parse(day) - 86_400_000).toISOString().slice(0, 10);
