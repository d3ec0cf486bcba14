import { describe, expect, it } from 'vitest';
import { netsuite } from '../../../src/connectors/netsuite/connector.ts';
import { until } from '../../setup/until.ts';
import {
  type Answer,
  createConnectorAt,
  createConnectorCtx,
  expectErpError,
  firstPage,
  getMetadata,
  movableClock,
  refuses,
  refusesQuery,
  rowsResponse,
  sends,
  signal,
  unreachableUrl,
  useWire,
} from './wire.ts';

const wire = useWire();
const customer = getMetadata('customer');
const list = (connector = createConnectorAt(wire.url)) =>
  connector.listIds({ ...firstPage, recordType: customer });
const oneRow: Answer = () => rowsResponse([{ links: [], id: '1' }]);
const refusesLogin = refuses(401, 'INVALID_LOGIN', 'Invalid login attempt.');

describe('requests', () => {
  it('carry the token, request transient results and start at offset 0', async () => {
    wire.answer = oneRow;
    expect(await list()).toEqual({ listed: [{ id: '1', modifiedAt: null }], hasMore: false });
    const [seen] = wire.seen;
    expect(seen).toMatchObject({
      method: 'POST',
      path: '/services/rest/query/v1/suiteql?limit=1000&offset=0',
    });
    expect(seen?.headers).toMatchObject({
      prefer: 'transient',
      'content-type': 'application/json',
      authorization: expect.stringMatching(/^Bearer token-/),
    });
    expect(seen?.query).toBe('SELECT t.id AS id FROM customer t ORDER BY t.id ASC');
  });

  it('share one token, however many start at once', async () => {
    wire.answer = oneRow;
    const connector = createConnectorAt(wire.url);
    await Promise.all([list(connector), list(connector), list(connector), list(connector)]);
    await list(connector);
    expect(wire.logins).toBe(1);
    expect(wire.seen).toHaveLength(5);
  });

  it('get a new token a minute before the old one expires', async () => {
    wire.answer = oneRow;
    const clock = movableClock(new Date('2026-05-01T12:00:00Z'));
    const connector = createConnectorAt(wire.url, { clock });
    await list(connector);
    clock.advance(3_539_000);
    await list(connector);
    expect(wire.logins).toBe(1);
    clock.advance(2_000);
    await list(connector);
    expect(wire.logins).toBe(2);
  });

  it('have a new signature each time with token-based authentication', async () => {
    wire.answer = oneRow;
    const authentication = { method: 'tba', consumerKey: 'ck', tokenId: 'ti' } as const;
    const connector = netsuite.create(
      createConnectorCtx(),
      { accountId: '12-sb1', baseUrl: wire.url, authentication },
      { consumerSecret: 'cs', tokenSecret: 'ts' },
    );
    await list(connector);
    await list(connector);
    const [first, second] = wire.seen.map(({ headers }) => headers.authorization ?? '');
    expect(first).toMatch(/^OAuth realm="12_SB1", oauth_consumer_key="ck"/);
    expect(second).not.toBe(first);
    expect(wire.logins).toBe(0);
  });
});

describe('401', () => {
  it('once: logs in again and continues', async () => {
    wire.answer = () => (wire.logins === 1 ? refusesLogin : oneRow);
    expect((await list()).listed).toEqual([{ id: '1', modifiedAt: null }]);
    expect(wire.logins).toBe(2);
    const [first, second] = wire.seen;
    expect(first?.headers.authorization).not.toBe(second?.headers.authorization);
  });

  it('twice: fails with refused credentials and stops trying', async () => {
    wire.answer = refusesLogin;
    await expectErpError(list(), 'credentials', 'INVALID_LOGIN', {
      fix: expect.stringContaining('Login Audit Trail'),
    });
    expect(wire.seen).toHaveLength(2);
  });
});

describe('the login', () => {
  it.each([
    [400, { error: 'invalid_grant' }, 'credentials', 'CERTIFICATE_UNKNOWN'],
    [401, { error: 'invalid_client' }, 'credentials', 'CLIENT_UNKNOWN'],
    [400, { error: 'unauthorized_client' }, 'credentials', 'CLIENT_UNKNOWN'],
    [400, { error: 'invalid_scope' }, 'credentials', 'PERMISSION_MISSING'],
    [400, 'not even an object', 'credentials', 'INVALID_LOGIN'],
    [200, { access_token: '', expires_in: 3600, token_type: 'bearer' }, 'answer', 'ANSWER_UNREADABLE'],
    [200, { access_token: 'x', expires_in: 'soon', token_type: 'bearer' }, 'answer', 'ANSWER_UNREADABLE'],
    [200, { access_token: 'x', expires_in: 3600, token_type: 'mac' }, 'answer', 'ANSWER_UNREADABLE'],
    [503, {}, 'down', 'SERVER_ERROR'],
    [429, {}, 'throttled', 'CONCURRENCY_LIMIT_EXCEEDED'],
  ])('with the response %i %j is %s %s', async (status, body, kind, code) => {
    wire.login = sends(status, body);
    await expectErpError(list(), kind, code);
    expect(wire.seen).toHaveLength(0);
  });

  it('accepts the lifetime as a string and the token type in any case', async () => {
    wire.answer = oneRow;
    wire.login = sends(200, { access_token: 'x', expires_in: '3600', token_type: 'bearer' });
    expect((await list()).listed).toEqual([{ id: '1', modifiedAt: null }]);
  });

  it('is tried again after it failed', async () => {
    wire.answer = oneRow;
    const connector = createConnectorAt(wire.url);
    const { login } = wire;
    wire.login = sends(503);
    await expectErpError(list(connector), 'down');
    wire.login = login;
    expect((await list(connector)).listed).toEqual([{ id: '1', modifiedAt: null }]);
  });
});

describe('error responses', () => {
  const sendsText =
    (status: number, body = '', headers: Record<string, string> = {}): Answer =>
    (_seen, response) =>
      void response.writeHead(status, headers).end(body);
  const cutsOff: Answer = (_seen, response) =>
    void response.writeHead(200, { 'content-length': '1000' }).write('{"items":[', () => response.destroy());
  const [html, jsonType] = [{ 'content-type': 'text/html' }, { 'content-type': 'application/json' }];
  const inAMinute = new Date(Date.now() + 60_000).toUTCString();
  const aboutAMinute = expect.toSatisfy((ms) => ms > 40_000 && ms <= 60_000);
  const metadata = { location: 'http://169.254.169.254/' };
  const blocked = ['CONCURRENCY_LIMIT_EXCEEDED', 'Blocked.'] as const;
  const noColumn =
    "Search error occurred: Unknown identifier 'altname'. Available identifiers are: {t=customer}";
  const noTable = "Search error occurred: Record 'customer' was not found.";
  const unsupported = 'Search error occurred: Invalid or unsupported search.';

  const responses: readonly [string, Answer, kind: string, code?: string, retryAfterMs?: unknown][] = [
    ['403', refuses(403, 'INSUFFICIENT_PERMISSION', 'No.'), 'forbidden', 'PERMISSION_MISSING'],
    [
      '429 with Retry-After',
      refuses(429, ...blocked, { 'retry-after': '7' }),
      'throttled',
      blocked[0],
      7_000,
    ],
    [
      '429 with Retry-After as a date',
      sends(429, {}, { 'retry-after': inAMinute }),
      'throttled',
      blocked[0],
      aboutAMinute,
    ],
    ['429 without Retry-After', refuses(429, ...blocked), 'throttled', blocked[0]],
    ['429 with nonsense in Retry-After', sends(429, {}, { 'retry-after': 'later' }), 'throttled', blocked[0]],
    ['500', refuses(500, 'UNEXPECTED_ERROR', 'Error ID: abc'), 'down', 'UNEXPECTED_ERROR'],
    ['502 in HTML', sendsText(502, '<h1>Bad gateway</h1>', html), 'down', 'SERVER_ERROR'],
    ['503 with Retry-After', sends(503, {}, { 'retry-after': '120' }), 'down', 'SERVER_ERROR', 120_000],
    ['400 that blames a column', refusesQuery(noColumn), 'query', 'COLUMN_UNKNOWN'],
    ['400 that hides the table', refusesQuery(noTable), 'forbidden', 'RECORD_TYPE_HIDDEN'],
    ['400 of another kind', refusesQuery(unsupported), 'query', 'INVALID_PARAMETER'],
    ['404 of another server', sendsText(404, '<html>nothing here</html>'), 'answer', 'ANSWER_UNREADABLE'],
    ['a redirect', sendsText(302, '', metadata), 'answer', 'ANSWER_UNREADABLE'],
    ['malformed JSON', sendsText(200, '{"items":[', jsonType), 'answer', 'ANSWER_MALFORMED'],
    ['HTML instead of JSON', sendsText(200, '<html>Hello</html>', html), 'answer', 'ANSWER_UNREADABLE'],
    ['an empty body', sendsText(200), 'answer', 'ANSWER_UNREADABLE'],
    ['a truncated body', cutsOff, 'down', 'HOST_UNREACHABLE'],
    ['a cut connection', (_seen, response) => void response.destroy(), 'down', 'HOST_UNREACHABLE'],
    ['no response', () => new Promise(() => undefined), 'down', 'TIMEOUT'],
    ['an oversized response', sends(200, { items: 'x'.repeat(60_000) }), 'answer', 'ANSWER_TOO_LARGE'],
  ];
  it.each(responses)('%s', async (_name, answer, kind, code, retryAfterMs = null) => {
    wire.answer = answer;
    const timesOut = code === 'TIMEOUT';
    const erp = { requestTimeoutMs: timesOut ? 1_000 : 60_000, maxResponseBytes: 50_000 };
    const error = await expectErpError(list(createConnectorAt(wire.url, { erp })), kind, code, {
      retryAfterMs,
    });
    expect(error.fix).toMatch(/\w{3,}.*\.$/);
    // Never sent twice; one that timed out may not have arrived.
    if (timesOut) expect(wire.seen.length).toBeLessThanOrEqual(1);
    else expect(wire.seen).toHaveLength(1);
  });

  it.each([
    ['no server', unreachableUrl, 'down', 'HOST_UNREACHABLE'],
    ['an address that is not allowed', 'http://169.254.169.254', 'query', 'HOST_REFUSED'],
  ])('%s', async (_name, url, kind, code) => {
    await expectErpError(list(createConnectorAt(url)), kind, code);
  });

  it("rejects with the signal's reason when the caller aborts, whether waiting or in flight", async () => {
    wire.answer = () => new Promise(() => undefined);
    const connector = createConnectorAt(wire.url, { erp: { concurrency: 1 } });
    const controller = new AbortController();
    const request = { recordType: customer, afterId: null, limit: 10, signal: controller.signal };
    const both = Promise.allSettled([connector.listIds(request), connector.listIds(request)]);
    await until(async () => wire.seen.length === 1 || undefined);
    controller.abort(new Error('the run was cancelled'));
    expect(await both).toMatchObject(
      [1, 2].map(() => ({ status: 'rejected', reason: { message: 'the run was cancelled' } })),
    );
  });
});

describe('responses that contradict themselves', () => {
  const listTwo = (afterId: string | null) =>
    createConnectorAt(wire.url).listIds({ ...firstPage, recordType: customer, afterId, limit: 2 });
  const row = (id: string) => ({ links: [], id });
  const responses: readonly [string, unknown][] = [
    ['no items', { hasMore: false }],
    ['items that are not a list', { items: {}, hasMore: false }],
    ['a row that is not an object', { items: ['1'], hasMore: false }],
    ['no hasMore', { items: [] }],
    ['hasMore as a string', { items: [], hasMore: 'false' }],
    ['a list at the top', []],
    ['null', null],
    ['fewer rows than counted', rowsResponse([row('1')], false, { count: 2 })],
    ['another offset', rowsResponse([row('1')], false, { offset: 1000 })],
    ['more to come after no rows', rowsResponse([], true)],
    ['no rows of a total', rowsResponse([], false, { totalResults: 5 })],
    ['more rows than requested', rowsResponse([row('1'), row('2'), row('3')])],
    ['ids that do not ascend', rowsResponse([row('2'), row('1')])],
    ['an id at or before the cursor', rowsResponse([row('-5')])],
    ['a missing id', rowsResponse([{ links: [], name: 'x' }])],
    ['an id that is null', rowsResponse([{ links: [], id: null }])],
    ['an id that is a number', rowsResponse([{ links: [], id: 7 }])],
  ];
  it.each(responses)('%s', async (_name, answer) => {
    wire.answer = sends(200, answer);
    await expectErpError(listTwo('-5'), 'answer', 'ANSWER_INCONSISTENT');
  });

  it.each([
    ['an id that is not an integer unchanged: the engine knows it as rejected', ['1', 'C-5']],
    ['an id that is listed twice twice, as it is counted twice', ['1', '1']],
  ])('returns %s', async (_what, ids) => {
    wire.answer = () => rowsResponse(ids.map(row));
    expect((await listTwo('-5')).listed.map(({ id }) => id)).toEqual(ids);
  });

  it('has more when the total is larger than the page, whatever hasMore is', async () => {
    wire.answer = () => rowsResponse([row('1'), row('2')], false, { totalResults: 9 });
    expect(await listTwo(null)).toEqual({
      listed: [
        { id: '1', modifiedAt: null },
        { id: '2', modifiedAt: null },
      ],
      hasMore: true,
    });
  });

  it.each([[[]], [[{ n: 'many' }]], [[{ n: '-1' }]], [[{ n: 5 }]], [[{}]]])(
    'a count response of %j',
    async (items) => {
      wire.answer = () => rowsResponse(items);
      await expectErpError(createConnectorAt(wire.url).count(customer, signal), 'answer');
    },
  );

  it.each([
    {},
    { serverTime: 'today' },
    { serverTime: '2026-02-30T99:00:00Z' },
    { serverTime: '2026-01-01 00:00' },
    [],
  ])('a time of %j', async (body) => {
    wire.answer = sends(200, body);
    await expectErpError(createConnectorAt(wire.url).now(signal), 'answer');
  });
});
