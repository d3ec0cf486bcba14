import { createServer } from 'node:https';
import { beforeEach, describe, expect, it } from 'vitest';
import { recordTypeDefinitions } from '../../../src/connectors/netsuite/types/record-types.ts';
import { createCertificate } from '../../../src/core/secrets/certificate.ts';
import { listenLocally } from '../../setup/sockets.ts';
import {
  type Answer,
  createConnectorAt,
  movableClock,
  refuses,
  refusesQuery,
  rowsResponse,
  sends,
  signal,
  testKey,
  unreachableUrl,
  useWire,
} from './wire.ts';

const wire = useWire();

/** Returns the time, and answers queries like this. */
const answersQueries =
  (answer: Answer): Answer =>
  ({ path }) =>
    path.endsWith('serverTime') ? { serverTime: '2026-05-01T12:00:00.000Z' } : answer;
/** No table has rows, and these are hidden. */
const hides = (...tables: string[]): Answer =>
  answersQueries(({ query }) => {
    const [, table = ''] = /FROM (\w+)/.exec(query) ?? [];
    return tables.includes(table)
      ? refusesQuery(`Search error occurred: Record '${table}' was not found.`)
      : rowsResponse([]);
  });

beforeEach(() => {
  wire.answer = answersQueries(() => rowsResponse([{ id: '1' }]));
});

const codes = async (connector = createConnectorAt(wire.url)): Promise<string[]> =>
  (await connector.test(signal)).problems.map(({ code }) => code);

describe('connector.test', () => {
  it('logs in, reads the server time and one row of each table', async () => {
    const report = await createConnectorAt(wire.url).test(signal);
    expect(report).toMatchObject({ ok: true, account: '1234567_SB1', problems: [] });
    expect(report.latencyMs).toBeGreaterThanOrEqual(0);
    const [time, ...rows] = wire.seen.map(
      ({ path, query }) => path.replace('/services/rest/', '') + query.replace(/^SELECT.* FROM/, ' '),
    );
    expect(time).toBe('system/v1/serverTime');
    const tables = [
      ...new Set(
        recordTypeDefinitions.flatMap(({ table, lines }) => (lines === null ? table : [table, lines.table])),
      ),
    ];
    expect(tables).toEqual(expect.arrayContaining(['transaction', 'transactionline', 'customer']));
    expect(rows.toSorted()).toEqual(
      tables.map((table) => `query/v1/suiteql?limit=1&offset=0  ${table} t`).toSorted(),
    );
  });

  it('reports every problem with a code, a message and a fix', async () => {
    wire.login = sends(400, { error: 'invalid_grant' });
    const report = await createConnectorAt(wire.url).test(signal);
    expect(report).toMatchObject({
      ok: false,
      problems: [
        {
          code: 'CERTIFICATE_UNKNOWN',
          message: expect.stringContaining('invalid_grant'),
          fix: expect.stringContaining('upload it again'),
        },
      ],
    });
  });

  it.each([
    [401, 'invalid_client'],
    [400, 'unauthorized_client'],
  ])('CLIENT_UNKNOWN for a wrong client id: %s %s', async (status, error) => {
    wire.login = sends(status, { error });
    expect((await createConnectorAt(wire.url).test(signal)).problems).toMatchObject([
      { code: 'CLIENT_UNKNOWN', fix: expect.stringContaining('consumer key') },
    ]);
  });

  it('CERTIFICATE_EXPIRED when the certificate is refused and has expired', async () => {
    wire.login = sends(400, { error: 'invalid_grant' });
    const open = (notAfter: string) =>
      createConnectorAt(wire.url, { secrets: { privateKeyPem: testKey, notAfter } });
    expect((await open('2020-01-01T00:00:00.000Z').test(signal)).problems).toMatchObject([
      {
        code: 'CERTIFICATE_EXPIRED',
        message: expect.stringContaining('2020-01-01'),
        fix: expect.stringContaining('Create a new certificate'),
      },
    ]);
    expect(await codes(open('2999-01-01T00:00:00.000Z'))).toEqual(['CERTIFICATE_UNKNOWN']);
  });

  it('ACCOUNT_UNKNOWN when the address of the account does not exist', async () => {
    const resolve = () =>
      Promise.reject(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }));
    expect(
      (await createConnectorAt('https://1234567-sb1.suitetalk.api.netsuite.com', { resolve }).test(signal))
        .problems,
    ).toMatchObject([{ code: 'ACCOUNT_UNKNOWN', fix: expect.stringContaining('Company Information') }]);
  });

  it("TLS_UNTRUSTED when the server's certificate is not trusted, or it speaks no TLS", async () => {
    const made = createCertificate({ commonName: 'localhost', days: 1, keyType: 'ec-p256', now: new Date() });
    const impostor = createServer(
      { key: made.privateKeyPem, cert: made.certificatePem },
      (_request, response) => void response.end('{}'),
    );
    const port = await listenLocally(impostor);
    try {
      for (const url of [`https://127.0.0.1:${port}`, wire.url.replace('http:', 'https:')])
        expect((await createConnectorAt(url).test(signal)).problems).toMatchObject([
          { code: 'TLS_UNTRUSTED', fix: expect.stringContaining('proxy') },
        ]);
    } finally {
      impostor.closeAllConnections();
      await new Promise((done) => impostor.close(done));
    }
  });

  it('INVALID_LOGIN when NetSuite refuses the token twice', async () => {
    wire.answer = refuses(401, 'INVALID_LOGIN', 'Invalid login attempt.');
    expect(await codes()).toEqual(['INVALID_LOGIN']);
  });

  const otherMethod = { consumerSecret: 'a', tokenSecret: 'b' };
  it.each<[string, string, Parameters<typeof createConnectorAt>[1], string?]>([
    ['CERTIFICATE_UNKNOWN', 'before the certificate has an id', { certificateId: null }],
    ['PRIVATE_KEY_UNUSABLE', 'when the stored key cannot sign', { privateKeyPem: 'nonsense' }],
    ['INVALID_LOGIN', 'when the secrets belong to another authentication method', { secrets: otherMethod }],
    ['HOST_UNREACHABLE', 'when no one answers', {}, unreachableUrl],
  ])('%s %s, without a login', async (code, _when, options, url = wire.url) => {
    expect(await codes(createConnectorAt(url, options))).toEqual([code]);
    expect(wire.logins).toBe(0);
  });

  it('CLOCK_SKEW when the clocks differ, in addition to the refusal that it causes', async () => {
    const theirs = new Date('2020-05-01T12:00:00Z');
    const clock = movableClock(new Date(theirs.getTime() - 600_000));
    expect(await codes(createConnectorAt(wire.url, { clock }))).toEqual(['CLOCK_SKEW']);
    wire.login = sends(400, { error: 'invalid_grant' }, { date: theirs.toUTCString() });
    const report = await createConnectorAt(wire.url, { clock }).test(signal);
    expect(report.problems.map(({ code }) => code)).toEqual(['CLOCK_SKEW', 'CERTIFICATE_UNKNOWN']);
    expect(report.problems[0]?.message).toContain('600 s behind');
  });

  it('PERMISSION_MISSING when the role may not use the interface, or sees none of the records', async () => {
    wire.answer = refuses(403, 'INSUFFICIENT_PERMISSION', 'No.');
    expect(await codes()).toEqual(['PERMISSION_MISSING']);
    wire.answer = answersQueries(refusesQuery("Search error occurred: Record 'x' was not found."));
    expect(await codes()).toEqual(['PERMISSION_MISSING']);
  });

  it('RECORD_TYPE_HIDDEN for a table that the role does not see, while the connection is ok', async () => {
    wire.answer = hides('transaction', 'transactionline');
    expect(await createConnectorAt(wire.url).test(signal)).toMatchObject({
      ok: true,
      problems: [
        {
          code: 'RECORD_TYPE_HIDDEN',
          message: expect.stringMatching(/invoice, creditMemo.*'transaction'/),
          fix: expect.stringContaining('View'),
          recordTypes: ['invoice', 'creditMemo', 'salesOrder', 'customerPayment'],
        },
      ],
    });
  });

  it('RECORD_TYPE_HIDDEN for lines that the role does not see, with the record types that have them', async () => {
    wire.answer = hides('transactionline');
    expect(await createConnectorAt(wire.url).test(signal)).toMatchObject({
      ok: true,
      problems: [
        {
          code: 'RECORD_TYPE_HIDDEN',
          message: expect.stringMatching(/lines of invoice, creditMemo, salesOrder: /),
          recordTypes: ['invoice', 'creditMemo', 'salesOrder'],
          fields: ['lines'],
        },
      ],
    });
    wire.answer = hides(...new Set(recordTypeDefinitions.map(({ table }) => table)));
    expect(await codes()).toEqual(['PERMISSION_MISSING']);
  });

  it('rejects when the caller aborts', async () => {
    wire.answer = () => new Promise(() => undefined);
    await expect(createConnectorAt(wire.url).test(AbortSignal.timeout(50))).rejects.toMatchObject({
      name: 'TimeoutError',
    });
  });
});
