import { request } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type Caller, useCaller } from './test-account.ts';

const caller = useCaller();

const UNSUPPORTED = 'Search error occurred: Invalid or unsupported search.';
const ENDPOINT = '/services/rest/query/v1/suiteql';

describe('the response', () => {
  it('has the envelope, rows and headers of a real account', async () => {
    const { status, headers, body } = await caller.query(
      "SELECT t.tranid, t.id, t.memo AS Remark, t.foreigntotal AS camelCase FROM transaction t WHERE t.type = 'CustInvc' ORDER BY t.id ASC",
      { limit: 2 },
    );
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(['links', 'count', 'hasMore', 'items', 'offset', 'totalResults']);
    expect(body).toMatchObject({ count: 2, hasMore: true, offset: 0, totalResults: 2000 });
    expect(Object.keys(body.items[0] ?? {})).toEqual(['links', 'camelcase', 'id', 'tranid']);
    expect(
      Object.values(body.items[0] ?? {})
        .slice(1)
        .every((value) => typeof value === 'string'),
    ).toBe(true);
    expect(body.links.map((link) => link.rel)).toEqual(['next', 'last', 'self']);
    expect(headers.get('content-type')).toBe(
      'application/vnd.oracle.resource+json; type=collection; charset=UTF-8',
    );
    expect(headers.get('preference-applied')).toBe('transient');
    expect(headers.get('cache-control')).toBe('No-Cache');
    expect(headers.get('x-n-operationid')).toMatch(/^[0-9a-f-]{36}$/);
    expect(headers.get('x-netsuite-jobid')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('has T and F, numbers without trailing zeros, and no nulls', async () => {
    const row = await caller.first(
      'SELECT posting, void, memo, exchangerate, 1.500 AS n, 100 AS h FROM transaction ORDER BY id ASC',
      { limit: 1 },
    );
    expect(row).toEqual({ exchangerate: '1', h: '100', n: '1.5', posting: 'T', void: 'F' });
  });

  it('names unnamed expressions expr1, expr2', async () => {
    expect(await caller.rows('SELECT COUNT(*), MAX(id) FROM transactionstatus WHERE id IS NULL')).toEqual([
      { expr1: '0' },
    ]);
  });

  it('is gzipped only if the client accepts it', async () => {
    for (const encoding of ['gzip', 'identity']) {
      const { headers, bytes } = await rawQuery(encoding);
      expect(headers['content-encoding']).toBe(encoding === 'gzip' ? 'gzip' : undefined);
      expect(JSON.parse((encoding === 'gzip' ? gunzipSync(bytes) : bytes).toString())).toMatchObject({
        count: 1,
        items: [{ id: '1' }],
      });
    }
  });
});

/** Unlike fetch, doesn't decompress the response. */
function rawQuery(encoding: string): Promise<{ headers: Record<string, unknown>; bytes: Buffer }> {
  return new Promise((resolve, reject) => {
    request(
      caller.account.url + ENDPOINT,
      {
        method: 'POST',
        headers: { 'accept-encoding': encoding, authorization: caller.authorization, prefer: 'transient' },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response
          .on('data', (chunk: Buffer) => chunks.push(chunk))
          .on('end', () => resolve({ headers: response.headers, bytes: Buffer.concat(chunks) }));
      },
    )
      .on('error', reject)
      .end('{"q":"SELECT id FROM currency"}');
  });
}

describe('the request', () => {
  const detail = (answer: Awaited<ReturnType<Caller['query']>>) => ({
    status: answer.status,
    ...(answer.body['o:errorDetails'][0] ?? {}),
  });

  it('needs Prefer: transient', async () => {
    expect(
      detail(await caller.query('SELECT id FROM currency', { headers: { prefer: 'respond-async' } })),
    ).toMatchObject({ status: 400, 'o:errorHeader': 'Prefer' });
  });

  it('is parsed as JSON whatever its content type', async () => {
    expect(
      (await caller.query('SELECT id FROM currency', { headers: { 'content-type': 'text/plain' } })).status,
    ).toBe(200);
  });

  it('400 for a body that is not a JSON object or has no q', async () => {
    for (const text of ['q=SELECT', '[]'])
      expect(detail(await caller.query('', { text }))).toMatchObject({
        status: 400,
        detail: 'Invalid content in the request body.',
      });
    const empty = detail(await caller.query('', { text: '{}' }));
    expect(empty).toMatchObject({ status: 400, 'o:errorQueryParam': 'q' });
  });

  it('400 for a limit above 1000 or below 1, and for an offset that is not a multiple of it', async () => {
    for (const limit of ['1001', '0', '-1', 'x']) {
      expect(detail(await caller.query('SELECT id FROM currency', { limit }))).toMatchObject({
        status: 400,
        'o:errorCode': 'INVALID_PARAMETER',
        'o:errorQueryParam': 'limit',
      });
    }
    for (const offset of ['5', '-10', 'x']) {
      expect(detail(await caller.query('SELECT id FROM currency', { limit: 10, offset }))).toMatchObject({
        status: 400,
        'o:errorQueryParam': 'offset',
      });
    }
  });

  it('binds params', async () => {
    const [first, last] = await caller.rows('SELECT id FROM customer ORDER BY id', { limit: 2 });
    const rows = await caller.rows(
      'SELECT id FROM customer WHERE id BETWEEN ? AND ? AND entityid LIKE ? ORDER BY id',
      { params: [first?.['id'], Number(last?.['id']), 'CUST%'] },
    );
    expect(rows.map((row) => row['id'])).toEqual([first?.['id'], last?.['id']]);
    expect(await caller.refusal('SELECT id FROM customer WHERE id = ?')).toBe(UNSUPPORTED);
    expect(
      await caller.rows('SELECT id FROM customer WHERE entityid = ? ORDER BY id', {
        params: ["x' OR '1'='1"],
      }),
    ).toEqual([]);
  });
});

describe('paging', () => {
  const SIX =
    "SELECT id FROM transactionstatus WHERE trantype IN ('CustInvc', 'CustCred', 'Journal') ORDER BY trantype, id";

  it('links to the neighbouring pages and ends at the last one', async () => {
    const middle = await caller.query(SIX, { limit: 2, offset: 2 });
    expect(middle.body).toMatchObject({ count: 2, hasMore: true, offset: 2, totalResults: 6 });
    expect(middle.body.links.map((link) => link.rel)).toEqual(['first', 'previous', 'next', 'last', 'self']);
    const end = await caller.query(SIX, { limit: 2, offset: 4 });
    expect(end.body).toMatchObject({ count: 2, hasMore: false, totalResults: 6 });
    const beyond = await caller.query(SIX, { limit: 2, offset: 6 });
    expect(beyond.body).toMatchObject({ count: 0, hasMore: false, totalResults: 6 });
  });

  it('returns rows in a different order each time without ORDER BY', async () => {
    const read = async () => (await caller.column('SELECT id FROM customer', { limit: 100 })).join();
    expect(await read()).not.toBe(await read());
  });
});

describe('error messages', () => {
  const unknown = (name: string, from = 'customer=customer') =>
    `Search error occurred: Unknown identifier '${name}'. Available identifiers are: {${from}}.`;
  const syntax = (query: string, near: string) =>
    `Failed to parse SQL [${query}]: syntax error, near: ${near}`;
  const sentences: [query: string, sentence: string][] = [
    [
      'SELECT id FROM TransactionTableThatDoesNotExist',
      'Invalid search type: transactiontablethatdoesnotexist.',
    ],
    ['SELECT id FROM invoice', 'Invalid search type: invoice.'],
    ['SELECT id FROM subsidiary', "Search error occurred: Record 'subsidiary' was not found."],
    ['SELECT subsidiary FROM transaction', unknown('subsidiary', 'transaction=transaction')],
    ['SELECT c.nope FROM customer c', unknown('nope', 'c=customer')],
    ['SELECT x.id FROM customer c', unknown('x', 'c=customer')],
    ['SELECT id FROM customer WHERE nope = 1 ORDER BY id', unknown('nope')],
    ['SELECT id FROM customer ORDER BY nope', unknown('nope')],
    [
      'SELECT id FROM customer WHERE = 3',
      syntax('SELECT id FROM customer WHERE = 3', '=(1,31, token code:0)'),
    ],
    ['SELECT id\nFROM customer WHERE', syntax('SELECT id\nFROM customer WHERE', 'EOF(2,20, token code:0)')],
    ['SELECT id FROM customer LIMIT 5', UNSUPPORTED],
    ['WITH x AS (SELECT id FROM customer) SELECT id FROM x', UNSUPPORTED],
    ['SELECT [id] FROM customer', UNSUPPORTED],
    ['SELECT a.id FROM customer a, customer b WHERE a.id = b.id (+)', UNSUPPORTED],
    ["SELECT id FROM transaction WHERE trandate > DATE '2011-01-01'", UNSUPPORTED],
    ["SELECT 'a' + 'b' FROM dual", UNSUPPORTED],
    [
      `SELECT id FROM customer WHERE id IN (${Array.from({ length: 1001 }, (_, i) => i).join(',')})`,
      UNSUPPORTED,
    ],
    [
      "SELECT id FROM transaction WHERE trandate >= '31/12/2011' ORDER BY id",
      'Search error occurred: Parse of date/time "31/12/2011" failed with date format "M/D/YYYY" in time zone Europe/London',
    ],
  ];
  for (const [query, sentence] of sentences) {
    it(`${query.slice(0, 70)} → ${sentence.slice(0, 60)}`, async () => {
      expect(await caller.refusal(query)).toBe(sentence);
    });
  }

  it('are in NetSuite’s envelope', async () => {
    const { headers, body } = await caller.query('SELECT nope FROM customer');
    expect(body).toEqual({
      type: 'https://www.rfc-editor.org/rfc/rfc9110.html#section-15.5.1',
      title: 'Bad Request',
      status: 400,
      'o:errorDetails': [
        {
          detail:
            "Invalid search query. Detailed unprocessed description follows. Search error occurred: Unknown identifier 'nope'. Available identifiers are: {customer=customer}.",
          'o:errorQueryParam': 'q',
          'o:errorCode': 'INVALID_PARAMETER',
        },
      ],
    });
    expect(headers.get('content-type')).toBe(
      'application/vnd.oracle.resource+json; type=error; charset=UTF-8',
    );
    expect(headers.get('x-n-operationid')).toBeTruthy();
  });

  it('a thousand values in a list are allowed', async () => {
    const list = Array.from({ length: 1000 }, (_, i) => i).join(',');
    expect((await caller.query(`SELECT id FROM customer WHERE id IN (${list})`)).status).toBe(200);
  });
});

describe('what a query cannot do', () => {
  const dangerous = [
    'SELECT pg_sleep(10) FROM dual',
    'SELECT pg_catalog.pg_sleep(10) FROM dual',
    "SELECT set_config('role', 'none', false) FROM dual",
    "SELECT pg_read_file('/etc/passwd') FROM dual",
    "SELECT dblink('x', 'y') FROM dual",
    "SELECT current_setting('data_directory') FROM dual",
    "SELECT query_to_xml('select 1', true, true, '') FROM dual",
    'SELECT lo_import(1) FROM dual',
    'SELECT version() FROM dual',
    'SELECT current_user FROM dual',
    'SELECT session_user FROM dual',
    'SELECT user FROM dual',
    'SELECT * FROM pg_class',
    'SELECT * FROM pg_catalog.pg_authid',
    'SELECT * FROM information_schema.tables',
    'SELECT * FROM ledger.customer',
    'SELECT * FROM setup.certificate',
    'SELECT * FROM suiteql.customer',
    'SELECT id FROM customer c, LATERAL (SELECT 1) x',
    'SELECT * FROM generate_series(1, 10)',
    'SELECT id FROM customer; DROP SCHEMA ledger CASCADE',
    'SELECT id FROM customer;',
    'DELETE FROM customer',
    'UPDATE customer SET entityid = 1',
    'TABLE customer',
    "COPY customer TO '/tmp/x'",
    'SELECT id INTO x FROM customer',
    'SELECT id FROM customer FOR UPDATE',
    'RESET ROLE',
    'EXPLAIN SELECT id FROM customer',
    'SELECT id FROM customer UNION SELECT rolname FROM pg_roles',
    'SELECT (SELECT rolname FROM pg_roles) FROM dual',
    'SELECT id FROM customer WHERE EXISTS (SELECT 1 FROM pg_roles)',
    "SELECT 'pg_class'::regclass FROM dual",
    "SELECT regclass 'pg_class' FROM dual",
    "SELECT id AS regclass, regclass 'pg_class' FROM customer",
    "SELECT CAST('pg_class' AS regclass) FROM dual",
    "SELECT E'\\x41' FROM dual",
    'SELECT $$x$$ FROM dual',
    "SELECT U&'\\0041' FROM dual",
    'SELECT $1 FROM dual',
    'SELECT id /* FROM customer',
    'SELECT ctid FROM customer',
    'SELECT xmin FROM customer',
    'SELECT c FROM customer c',
    'SELECT c.tableoid FROM customer c',
    'SELECT entity__df FROM transaction',
    'SELECT t.entity__df FROM transaction t',
    'SELECT suiteql.today() FROM dual',
    'SELECT BUILTIN.DF((SELECT 1 FROM dual)) FROM dual',
    "SELECT 'a\u0000b' FROM dual",
    `SELECT ${'('.repeat(200)}1${')'.repeat(200)} FROM dual`,
  ];
  for (const query of dangerous) {
    it(query.slice(0, 90), async () => {
      const { status, body } = await caller.query(query);
      expect(status, JSON.stringify(body)).toBe(400);
    });
  }
});
