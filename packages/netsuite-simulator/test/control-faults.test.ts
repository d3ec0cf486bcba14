// Each fault of the control interface, by what the wire then answers.
import { afterEach, describe, expect, it } from 'vitest';
import { useControlled } from './control-client.ts';
import { createIdentity, requestToken, signAssertion } from './test-account.ts';

const world = useControlled();
afterEach(() => world.done('POST', '/reset'));

const put = (...faults: object[]) => world.done('PUT', '/faults', faults);
const INVOICES = 'SELECT id, foreigntotal FROM transaction ORDER BY id';
const LINES =
  'SELECT l.uniquekey FROM transactionline l INNER JOIN transaction t ON t.id = l.transaction ORDER BY l.uniquekey';
const COUNT = "SELECT COUNT(*) AS n FROM transaction t WHERE type = 'CustInvc'";
const fetchInvoices = () =>
  fetch(`${world.account.url}/services/rest/query/v1/suiteql`, {
    method: 'POST',
    headers: { authorization: world.authorization, prefer: 'transient', 'accept-encoding': 'identity' },
    body: JSON.stringify({ q: INVOICES }),
  });
const ids = async (q = INVOICES, limit = 1000): Promise<string[]> =>
  (await world.rows(q, { limit })).map((row) => row['id'] ?? row['uniquekey'] ?? '');
const ALL = ['101', '102', '103', '104', '105', '106', '107'];
const catalog = () => world.get('record/v1/metadata-catalog/invoice', { accept: 'application/schema+json' });
const token = async () =>
  requestToken(world.account, {
    client_assertion: signAssertion(world.account, await createIdentity(world.account)),
  });

describe('which answers a fault meets', () => {
  const asked = async () => [
    (await world.query(INVOICES)).status,
    (await world.query(COUNT)).status,
    (await world.query(LINES)).status,
    (await world.query('SELECT id FROM customer ORDER BY id')).status,
    (await catalog()).status,
    (await world.get('record/v1/invoice/101')).status,
    (await token()).status,
  ];
  it.each([
    [{}, [503, 503, 503, 503, 503, 503, 503]],
    [{ kind: 'rows' }, [503, 200, 503, 503, 200, 200, 200]],
    [{ kind: 'count' }, [200, 503, 200, 200, 200, 200, 200]],
    [{ kind: 'metadata' }, [200, 200, 200, 200, 503, 200, 200]],
    [{ kind: 'record' }, [200, 200, 200, 200, 200, 503, 200]],
    [{ kind: 'token' }, [200, 200, 200, 200, 200, 200, 503]],
    [{ table: 'transaction' }, [503, 503, 200, 200, 503, 503, 200]],
    [{ table: 'transactionline' }, [200, 200, 503, 200, 200, 200, 200]],
    [{ table: 'transaction', kind: 'rows' }, [503, 200, 200, 200, 200, 200, 200]],
  ])('on %j', async (on, statuses) => {
    await put({ on, status: 503 });
    expect(await asked()).toEqual(statuses);
  });

  it('a derived table counts as the table that it reads', async () => {
    await put({ on: { table: 'transaction', kind: 'count' }, countOffset: 1 });
    expect(await world.value('SELECT COUNT(*) AS n FROM (SELECT id FROM transaction) x')).toBe('8');
  });

  it('a query that groups is a count if it selects COUNT: what faults do to rows leaves its sums true', async () => {
    const grouped =
      'SELECT l.transaction AS id, COUNT(*) AS n, SUM(l.foreignamount) AS amount FROM transactionline l GROUP BY l.transaction ORDER BY l.transaction ASC';
    const truth = ALL.map((id) => ({ id, n: '3', amount: '-3' }));
    await put(
      { on: { table: 'transactionline' }, dropRows: { where: { linesequencenumber: 2 } } },
      { on: { table: 'transactionline' }, dropRows: { every: 2 } },
      { on: { table: 'transactionline' }, nullColumn: 'foreignamount' },
      { on: { table: 'transactionline' }, duplicateRow: true },
      { on: { table: 'transactionline' }, hasMore: false },
    );
    expect(await world.rows(grouped)).toEqual(truth);
    expect((await world.query(grouped, { limit: 2 })).body).toMatchObject({
      count: 2,
      hasMore: true,
      totalResults: 7,
    });
    expect((await world.done('GET', '/state')).hits).toEqual([0, 0, 0, 0, 0]);
    await put({
      on: { table: 'transactionline', kind: 'count' },
      dropRows: { where: { linesequencenumber: 2, transaction: 101 } },
    });
    expect(await world.rows(grouped)).toEqual([{ id: '101', n: '2', amount: '-2' }, ...truth.slice(1)]);
  });

  it('times is how many answers it meets; state has what was put and the hits', async () => {
    const fault = { on: { kind: 'rows' }, times: 2, status: 500 };
    await put(fault);
    expect([(await world.query(INVOICES)).status, (await world.query(COUNT)).status]).toEqual([500, 200]);
    expect([(await world.query(INVOICES)).status, (await world.query(INVOICES)).status]).toEqual([500, 200]);
    expect(await world.done('GET', '/state')).toMatchObject({ faults: [fault], hits: [2] });
  });

  it('putting replaces them, reset removes them', async () => {
    await put({ on: {}, status: 500 });
    await put({ on: { kind: 'count' }, status: 500 });
    expect((await world.query(INVOICES)).status).toBe(200);
    await world.done('POST', '/reset');
    expect((await world.query(COUNT)).status).toBe(200);
  });

  it('several faults meet one answer in their order', async () => {
    await put({ on: {}, delayMs: 120 }, { on: {}, times: 1, status: 429 }, { on: {}, times: 1, status: 503 });
    const started = performance.now();
    expect([(await world.query(INVOICES)).status, (await world.query(INVOICES)).status]).toEqual([429, 503]);
    expect(performance.now() - started).toBeGreaterThan(230);
  });
});

describe('answers that fail', () => {
  it.each([
    [429, 'CONCURRENCY_LIMIT_EXCEEDED'],
    [401, 'INVALID_LOGIN'],
    [403, 'INSUFFICIENT_PERMISSION'],
    [500, 'UNEXPECTED_ERROR'],
    [503, 'SERVICE_UNAVAILABLE'],
  ])('status %i has NetSuite’s body', async (status, code) => {
    await put({ on: { kind: 'record' }, status });
    expect(await world.get('record/v1/customer/1')).toMatchObject({
      status,
      body: { status, 'o:errorDetails': [{ 'o:errorCode': code }] },
    });
  });

  it('401 of the token endpoint is an OAuth error', async () => {
    await put({ on: { kind: 'token' }, status: 401 });
    expect(await token()).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
  });

  it('html is a page with status 200', async () => {
    await put({ on: { kind: 'rows' }, html: true });
    const answer = await fetchInvoices();
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=UTF-8']);
    expect(await answer.text()).toContain('<h1>');
  });

  it.each([0, 1, 60])('cut after %i bytes closes the connection', async (cut) => {
    await put({ on: { kind: 'rows' }, cut });
    const answer = await fetchInvoices();
    expect(answer.status).toBe(200);
    expect(Number(answer.headers.get('content-length'))).toBeGreaterThan(60);
    const received: Uint8Array[] = [];
    await expect(
      (async () => {
        for await (const chunk of answer.body ?? []) received.push(chunk);
      })(),
    ).rejects.toThrow();
    expect(Buffer.concat(received)).toHaveLength(cut);
  });

  it('cut behind the end of the body changes nothing', async () => {
    await put({ on: { kind: 'rows' }, cut: 100_000 });
    expect(await ids()).toEqual(ALL);
  });

  it('delayMs answers late and holds a place of the concurrency limit', async () => {
    world.account.setConcurrencyLimit(1);
    await put({ on: { kind: 'rows' }, times: 1, delayMs: 300 });
    const slow = world.query(INVOICES);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect((await world.query(COUNT)).status).toBe(429);
    expect((await slow).status).toBe(200);
    world.account.setConcurrencyLimit(5);
  });
});

describe('answers that lie', () => {
  it('repeatPage gives the previous page again', async () => {
    await put({ on: { table: 'transaction', kind: 'rows' }, repeatPage: true, times: 1 });
    expect(await world.pages(3)).toEqual([ALL.slice(0, 3), ALL.slice(0, 3), ALL.slice(3, 6), ALL.slice(6)]);
  });

  it('repeatPage tells lists apart, and answers the same request truly', async () => {
    await put({ on: { kind: 'rows' }, repeatPage: true });
    expect(await ids("SELECT id FROM transaction WHERE type = 'CustInvc' ORDER BY id", 2)).toEqual([
      '101',
      '102',
    ]);
    expect(await ids("SELECT id FROM transaction WHERE type = 'CustCred' ORDER BY id")).toEqual([]);
    expect(await ids('SELECT id FROM customer ORDER BY id')).toEqual(['1', '2']);
    expect(await ids('SELECT id FROM customer ORDER BY id')).toEqual(['1', '2']);
    expect(
      await ids("SELECT id FROM transaction WHERE type = 'CustInvc' AND id > 102 ORDER BY id", 2),
    ).toEqual(['101', '102']);
  });

  it('stalePage shows the books as they were before the last edit', async () => {
    await world.edit('transaction/101', { memo: 'new' });
    const memo = async () => await world.value('SELECT memo FROM transaction WHERE id = 101');
    await put({ on: { table: 'transaction' }, stalePage: true });
    expect(await memo()).toBeUndefined();
    expect((await world.read('record/v1/invoice/101'))['memo']).toBeUndefined();
    await world.edit('transaction/101', { memo: 'newer' });
    await world.done('DELETE', '/records/transaction/107');
    expect([await memo(), (await ids()).length]).toEqual([undefined, 7]);
    expect(await world.value(COUNT)).toBe('6'); // counts only when they are named
    await put({ on: { kind: 'count' }, stalePage: true });
    expect([await memo(), await world.value(COUNT)]).toEqual(['newer', '7']);
    await world.done('POST', '/records/transaction/107/restore');
    await world.edit('transaction/101', { memo: null });
  });

  it('stalePage shows the books that were kept; reset forgets them', async () => {
    const memo = async () => await world.value('SELECT memo FROM transaction WHERE id = 102');
    const patch = (text: string | null) => world.edit('transaction/102', { memo: text });
    await patch('first');
    await world.done('POST', '/books/keep');
    await put({ on: { table: 'transaction' }, stalePage: true });
    await patch('second');
    expect(await memo()).toBe('first');
    await world.done('POST', '/reset');
    await put({ on: { table: 'transaction' }, stalePage: true });
    await patch(null);
    expect(await memo()).toBe('second');
  });

  it('countOffset changes counts; on rows, the total', async () => {
    await put({ on: { table: 'transaction' }, countOffset: 1 }, { on: { kind: 'rows' }, countOffset: -2 });
    expect(await world.value(COUNT)).toBe('8');
    expect(await world.first('SELECT type, COUNT(*) n FROM transaction GROUP BY type')).toMatchObject({
      n: '8',
    });
    const { body } = await world.query(INVOICES);
    expect([body['totalResults'], body['count']]).toEqual([5, 7]);
  });

  it('hasMore: false ends a list early, and only that', async () => {
    await put({ on: { kind: 'rows' }, hasMore: false });
    const { body } = await world.query(INVOICES, { limit: 3 });
    expect(body).toMatchObject({ hasMore: false, count: 3, totalResults: 7 });
    expect(body.links.map(({ rel }) => rel)).toEqual(['self']);
    expect(await world.pages(3)).toEqual([ALL.slice(0, 3)]);
  });

  it('dropRows where: the rows are missing, selected column or not, and the pages stay full', async () => {
    await put({ on: { table: 'transactionline' }, dropRows: { where: { linesequencenumber: 2 } } });
    const left = await world.query(LINES, { limit: 10 });
    expect(left.body).toMatchObject({ count: 10, totalResults: 14, hasMore: true });
    expect((await ids(LINES)).length).toBe(14);
    expect(await world.value('SELECT COUNT(*) AS n FROM transactionline')).toBe('21');
    await put({
      on: { table: 'transactionline', kind: 'count' },
      dropRows: { where: { linesequencenumber: 2, transaction: 101 } },
    });
    expect(await world.value('SELECT COUNT(*) AS n FROM transactionline')).toBe('20');
    expect((await ids(LINES)).length).toBe(21);
  });

  it('dropRows where compares times, texts and empty columns', async () => {
    for (const where of [
      { tranid: 'I103' },
      { trandate: '2011-07-03' },
      { id: '103', memo: null },
      { id: 103, posting: true },
    ]) {
      await put({ on: { table: 'transaction' }, dropRows: { where } });
      expect(await ids(), JSON.stringify(where)).toEqual(ALL.filter((id) => id !== '103'));
    }
  });

  it('dropRows every leaves out every Nth row of all answers', async () => {
    await put({ on: { table: 'transaction' }, dropRows: { every: 3 } });
    const { body } = await world.query(INVOICES, { limit: 5 });
    expect([body.items.map(({ id }) => id), body['count'], body.hasMore]).toEqual([
      ['101', '102', '104', '105'],
      4,
      true,
    ]);
    expect(await ids()).toEqual(['102', '103', '105', '106']); // the sixth is its first
  });

  it('nullColumn empties a selected column whatever it is called, and changes no condition', async () => {
    await put({ on: { table: 'transaction', kind: 'rows' }, nullColumn: 'foreigntotal' });
    const q =
      'SELECT id, foreigntotal AS total, TO_CHAR(foreigntotal) AS text, foreignamountunpaid AS due FROM transaction WHERE foreigntotal > 1 ORDER BY id';
    expect(await world.first(q)).toEqual({ id: '101', due: '3' });
    expect(await world.first('SELECT * FROM transaction WHERE id = 101')).not.toHaveProperty('foreigntotal');
    expect(
      await world.value(
        'SELECT t.foreigntotal AS total FROM customer c JOIN transaction t ON t.entity = c.id WHERE t.id = 101',
      ),
    ).toBe('3');
    await put({ on: { table: 'transaction', kind: 'rows' }, nullColumn: 'entity' });
    expect(
      await world.first('SELECT entity, BUILTIN.DF(entity) AS name, id FROM transaction WHERE id = 101'),
    ).toEqual({ id: '101' });
  });

  it('nullColumn empties a column in some rows, the same in every answer', async () => {
    await put({
      on: { table: 'transactionline' },
      nullColumn: { column: 'memo', where: { linesequencenumber: 2 } },
    });
    const lines =
      'SELECT l.memo AS text FROM transactionline l INNER JOIN transaction t ON t.id = l.transaction WHERE l.transaction = 101 ORDER BY l.id';
    expect(await world.column(lines)).toEqual(['line 1', undefined, 'line 3']);
    await put({ on: { table: 'transaction' }, nullColumn: { column: 'entity', every: 3 } });
    const labels = await world.rows(
      'SELECT t.id, BUILTIN.DF(t.entity) AS name FROM transaction t ORDER BY t.id',
    );
    expect(labels.filter((row) => row['name'] === undefined).map((row) => row['id'])).toEqual(['102', '105']);
    expect(await world.first('SELECT * FROM transaction WHERE id = 105')).not.toHaveProperty('entity');
    expect((await world.done('GET', '/state')).hits).toEqual([2]);
  });

  it('nullColumn on records leaves out the property', async () => {
    await put({ on: { kind: 'record' }, nullColumn: 'foreigntotal' });
    const { body } = await world.get('record/v1/invoice/101');
    expect([body['id'], 'total' in body, 'amountPaid' in body]).toEqual(['101', false, true]);
    await put({ on: { table: 'transactionline', kind: 'record' }, nullColumn: 'quantity' });
    const lines = (await world.read('record/v1/invoice/101/item')).items;
    expect([lines.length, 'quantity' in (lines[0] ?? {}), 'rate' in (lines[0] ?? {})]).toEqual([
      3,
      false,
      true,
    ]);
  });

  it('duplicateRow gives the first row twice; a full page loses none', async () => {
    await put({ on: { table: 'transaction', kind: 'rows' }, duplicateRow: true, times: 1 });
    expect(await world.pages(3)).toEqual([
      ['101', '101', '102'],
      ['103', '104', '105'],
      ['106', '107'],
    ]);
    await put({ on: { table: 'transaction', kind: 'rows' }, duplicateRow: true });
    expect((await world.query(INVOICES)).body).toMatchObject({ count: 8, totalResults: 8, hasMore: false });
  });

  it('lists of the record service lie too', async () => {
    await put({ on: { kind: 'record' }, duplicateRow: true }, { on: { kind: 'record' }, hasMore: false });
    const { body } = await world.get('record/v1/customer?limit=2');
    expect(body).toMatchObject({ count: 2, hasMore: false });
    expect(body.items[0]?.['id']).toBe(body.items[1]?.['id']);
  });

  it('the books stay true', async () => {
    await put(
      { on: {}, status: 500 },
      { on: { kind: 'rows' }, dropRows: { every: 1 } },
      { on: { kind: 'rows' }, nullColumn: 'foreigntotal' },
    );
    await world.query(INVOICES);
    const { records } = await world.done('GET', '/records/transaction');
    expect(records.map(({ id }: { id: string }) => id)).toEqual(ALL);
    expect(records[0].fields.foreigntotal).toBe('3');
  });
});

describe('bad faults', () => {
  const cases: [faults: object, paths: string[]][] = [
    [{}, ['']],
    [[{ status: 500 }], ['[0].on']],
    [[{ on: {} }], ['[0]']],
    [[{ on: {}, status: 500, html: true }], ['[0]']],
    [[{ on: {}, status: 404 }], ['[0].status']],
    [[{ on: { tabel: 'x' }, status: 500 }], ['[0].on.tabel']],
    [
      [
        { on: {}, status: 500 },
        { on: {}, hasMore: true },
      ],
      ['[1].hasMore'],
    ],
    [[{ on: {}, status: 500, when: 1 }], ['[0].when']],
    [[{ on: { table: 'invoices' }, status: 500 }], ['[0].on.table']],
    [[{ on: { kind: 'line' }, status: 500 }], ['[0].on.kind']],
    [[{ on: { kind: 'token' }, hasMore: false }], ['[0].on.kind']],
    [[{ on: { kind: 'metadata' }, dropRows: { every: 2 } }], ['[0].on.kind']],
    [[{ on: {}, dropRows: {} }], ['[0].dropRows']],
    [[{ on: {}, dropRows: { every: 2, where: { id: 1 } } }], ['[0].dropRows']],
    [[{ on: {}, dropRows: { each: 2 } }], ['[0].dropRows.each']],
    [[{ on: { table: 'transaction' }, dropRows: { where: { line: 1 } } }], ['[0].dropRows.where.line']],
    [[{ on: { table: 'transaction' }, dropRows: { where: { id: 'x' } } }], ['[0].dropRows.where.id']],
    [[{ on: { table: 'transaction' }, nullColumn: 'total' }], ['[0].nullColumn']],
    [
      [{ on: { table: 'transaction' }, nullColumn: { column: 'total', every: 2 } }],
      ['[0].nullColumn.column'],
    ],
    [[{ on: { table: 'transaction' }, nullColumn: { column: 'memo' } }], ['[0].nullColumn']],
    [
      [{ on: { table: 'transaction' }, nullColumn: { column: 'memo', where: { line: 1 } } }],
      ['[0].nullColumn.where.line'],
    ],
    [
      [{ on: { table: 'nexttransactionlinelink' }, nullColumn: { column: 'nextdoc', every: 2 } }],
      ['[0].nullColumn.every'],
    ],
    [[{ on: { kind: 'record' }, nullColumn: { column: 'memo', every: 2 } }], ['[0].on.kind']],
    [[{ on: {}, times: 0, status: 500 }], ['[0].times']],
  ];
  it.each(cases)('422 for %j', async (faults, paths) => {
    expect(await world.refuse('PUT', '/faults', faults)).toEqual([422, ...paths]);
    expect((await world.done('GET', '/state')).faults).toEqual([]);
  });
});
