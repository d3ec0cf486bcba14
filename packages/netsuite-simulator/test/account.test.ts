// Controls of the account outside its API: injected faults, preferences, limits; what its reader may do in PostgreSQL.
import { Client } from 'pg';
import { describe, expect, inject, it } from 'vitest';
import { newDatabaseName, startOn, startShop, useShop } from './test-account.ts';
import { until } from './until.ts';

const caller = useShop({ concurrencyLimit: 50 });

const Q = 'SELECT id FROM currency';

describe('injectFault', () => {
  it('responds with the fault to the given number of matching requests', async () => {
    const body = {
      title: 'Bad Request',
      status: 429,
      'o:errorDetails': [{ 'o:errorCode': 'CONCURRENCY_LIMIT_EXCEEDED' }],
    };
    const headers = { 'retry-after': '1' };
    caller.account.injectFault({ path: /suiteql/, times: 2, status: 429, body, headers });
    expect((await caller.get('system/v1/serverTime')).status).toBe(200);
    for (let i = 0; i < 2; i += 1) {
      const answer = await caller.query(Q);
      expect([answer.status, answer.headers.get('retry-after'), answer.body]).toEqual([429, '1', body]);
    }
    expect((await caller.query(Q)).status).toBe(200);
    expect(caller.account.audit().at(-1)).toMatchObject({
      status: 429,
      reason: 'injected fault',
      request: 'POST /services/rest/query/v1/suiteql?limit=1000&offset=0',
    });
  });

  it('delays a response', async () => {
    caller.account.injectFault({ path: /suiteql/, times: 1, status: 503, delayMs: 150 });
    const started = performance.now();
    const response = await fetch(`${caller.account.url}/services/rest/query/v1/suiteql`, { method: 'POST' });
    expect(response.status).toBe(503);
    expect(performance.now() - started).toBeGreaterThan(140);
  });

  it('closes the connection before a response or in the middle of one', async () => {
    for (const body of [undefined, { items: ['0123456789'] }]) {
      caller.account.injectFault({
        path: /suiteql/,
        times: 1,
        status: 200,
        cut: true,
        ...(body && { body }),
      });
      await expect(caller.query(Q)).rejects.toThrow();
    }

    expect((await caller.query(Q)).status).toBe(200);
  });
});

describe('the reader in PostgreSQL', () => {
  it('can only read the views, even with arbitrary SQL', async () => {
    const client = new Client({ ...inject('pg'), database: caller.database });
    await client.connect();
    // Only the account knows the password of its reader.
    await client.query(`SET SESSION AUTHORIZATION "${caller.database}_reader"`);
    const attempt = (sql: string) =>
      client.query(sql).then(
        () => 'done',
        (error: Error) => error.message,
      );
    expect(await attempt(`SET ROLE ${inject('pg').user}`)).toMatch(/permission denied/);
    expect(await attempt('SET ROLE netsuite_simulator')).toBe('done');
    expect(await attempt('SELECT id FROM suiteql.currency')).toBe('done');
    for (const sql of [
      'SELECT * FROM ledger.customer',
      'SELECT * FROM setup.certificate',
      'CREATE TABLE suiteql.x (a int)',
      'CREATE TEMP TABLE x (a int)',
      'CREATE TABLE public.x (a int)',
      "SELECT pg_read_file('/etc/passwd')",
      "COPY (SELECT 1) TO PROGRAM 'true'",
      'INSERT INTO suiteql.currency (id) VALUES (2)',
      'CREATE SCHEMA x',
    ]) {
      expect(await attempt(sql), sql).toMatch(/permission denied|cannot insert/);
    }
    await client.end();
  });

  it('cancels a query after the time limit; the response has an error id, the audit trail the reason', async () => {
    const impatient = await startShop({ statementTimeoutMs: 300 });
    const SLOW = `SELECT COUNT(*) FROM ${[...'abcdefg'].map((name) => `transactionstatus ${name}`).join(', ')} WHERE a.name <> b.name`;
    const { status, body } = await impatient.query(SLOW);
    expect(status).toBe(500);
    expect(body['o:errorDetails'][0]).toMatchObject({ 'o:errorCode': 'UNEXPECTED_ERROR' });
    expect(body['o:errorDetails'][0]?.detail).toMatch(/^An unexpected error occurred\. Error ID: [a-p]{20}$/);
    expect(impatient.account.audit().at(-1)).toMatchObject({
      status: 500,
      reason: 'canceling statement due to statement timeout',
    });
    await until(async () => (await impatient.query(Q)).status === 200 || undefined);
    impatient.account.setSwitches({ timedOutQuery: 'disconnect' });
    await expect(impatient.query(SLOW)).rejects.toThrow('fetch failed');
    expect(impatient.account.audit().at(-1)?.reason).toBe('canceling statement due to statement timeout');
    await impatient.close();
  });
});

describe('preferences', () => {
  it('apply another time zone and date format', async () => {
    const other = await startShop({ timeZone: 'America/Los_Angeles', dateFormat: 'DD.MM.YYYY' });
    expect(
      await other.rows(
        "SELECT trandate, lastmodifieddate, TO_CHAR(lastmodifieddate, 'YYYY-MM-DD HH24:MI') AS t FROM transaction WHERE lastmodifieddate >= '01.07.2011'",
      ),
    ).toEqual([{ trandate: '01.07.2011', lastmodifieddate: '01.07.2011', t: '2011-07-01 02:00' }]);
    await other.close();
  });

  it('reject an invalid account id, time zone or date format', async () => {
    for (const options of [{ accountId: 'a/b' }, { timeZone: 'Mars/Olympus' }, { dateFormat: 'YY' }])
      await expect(startOn(newDatabaseName(), options)).rejects.toThrow(RangeError);
  });
});

it('concurrent callers each get their own rows', async () => {
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      caller.rows('SELECT ? AS n, COUNT(*) AS c FROM customer', { params: [i] }),
    ),
  );
  expect(answers.map(([row]) => row?.['n'])).toEqual(Array.from({ length: 40 }, (_, i) => String(i)));
});
