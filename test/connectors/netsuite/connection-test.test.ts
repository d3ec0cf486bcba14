import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { errorAnswer, invalidQuery, json, movableClock, openAt, rowsAnswer, startWire, type Wire } from './wire.ts';

let wire: Wire;
const signal = new AbortController().signal;

beforeEach(async () => {
  wire = await startWire();
  wire.answer = ({ path }) => (path.endsWith('serverTime') ? { serverTime: '2026-05-01T12:00:00.000Z' } : rowsAnswer([{ id: '1' }]));
});
afterEach(() => wire.stop());

const codes = async (connector = openAt(wire.url)): Promise<string[]> => (await connector.test(signal)).problems.map(({ code }) => code);

describe('test of a connection', () => {
  it('logs in, asks for the time, reads a row', async () => {
    const report = await openAt(wire.url).test(signal);
    expect(report).toMatchObject({ ok: true, account: '1234567_SB1', problems: [] });
    expect(report.latencyMs).toBeGreaterThanOrEqual(0);
    expect(wire.seen.map(({ path }) => path.replace('/services/rest/', ''))).toEqual([
      'system/v1/serverTime',
      'query/v1/suiteql?limit=1&offset=0',
    ]);
  });

  it('tells every problem with a code, a message and a fix', async () => {
    wire.login = (_seen, response) => json(response, 400, { error: 'invalid_grant' });
    const report = await openAt(wire.url).test(signal);
    expect(report).toMatchObject({
      ok: false,
      problems: [
        {
          code: 'CERTIFICATE_UNKNOWN',
          message: expect.stringContaining('invalid_grant'),
          fix: expect.stringContaining('Upload the certificate'),
        },
      ],
    });
  });

  it('INVALID_LOGIN when the client is unknown or the request is refused', async () => {
    wire.login = (_seen, response) => json(response, 401, { error: 'invalid_client' });
    expect(await codes()).toEqual(['INVALID_LOGIN']);
  });

  it('INVALID_LOGIN when NetSuite refuses the token twice', async () => {
    wire.answer = (_seen, response) => json(response, 401, errorAnswer(401, 'INVALID_LOGIN', 'Invalid login attempt.'));
    expect(await codes()).toEqual(['INVALID_LOGIN']);
  });

  it('CERTIFICATE_UNKNOWN before the certificate has an id, without asking', async () => {
    expect(await codes(openAt(wire.url, { certificateId: null }))).toEqual(['CERTIFICATE_UNKNOWN']);
    expect(wire.logins).toBe(0);
  });

  it('PRIVATE_KEY_UNUSABLE when the stored key can not sign', async () => {
    expect(await codes(openAt(wire.url, { privateKeyPem: 'nonsense' }))).toEqual(['PRIVATE_KEY_UNUSABLE']);
  });

  it('HOST_UNREACHABLE when nobody answers', async () => {
    const connector = openAt(wire.url);
    await wire.stop();
    expect(await codes(connector)).toEqual(['HOST_UNREACHABLE']);
    wire = await startWire();
  });

  it('CLOCK_SKEW when the clocks differ, beside the refusal it causes', async () => {
    const clock = movableClock(new Date(Date.now() - 600_000));
    expect(await codes(openAt(wire.url, { clock }))).toEqual(['CLOCK_SKEW']);
    wire.login = (_seen, response) => json(response, 400, { error: 'invalid_grant' });
    const report = await openAt(wire.url, { clock }).test(signal);
    expect(report.problems.map(({ code }) => code)).toEqual(['CLOCK_SKEW', 'CERTIFICATE_UNKNOWN']);
    expect(report.problems[0]?.message).toMatch(/(?:599|600) s behind/);
  });

  it('PERMISSION_MISSING when the role may not use the interface, or sees none of the records', async () => {
    wire.answer = (_seen, response) => json(response, 403, errorAnswer(403, 'INSUFFICIENT_PERMISSION', 'No.'));
    expect(await codes()).toEqual(['PERMISSION_MISSING']);
    wire.answer = ({ path }, response) =>
      path.endsWith('serverTime')
        ? { serverTime: '2026-05-01T12:00:00.000Z' }
        : json(response, 400, invalidQuery("Search error occurred: Record 'x' was not found."));
    expect(await codes()).toEqual(['PERMISSION_MISSING']);
  });

  it('is content when the role sees some of the records', async () => {
    wire.answer = ({ path, query }, response) => {
      if (path.endsWith('serverTime')) return { serverTime: '2026-05-01T12:00:00.000Z' };
      return query.includes('FROM customer')
        ? json(response, 400, invalidQuery("Search error occurred: Record 'customer' was not found."))
        : rowsAnswer([]);
    };
    expect(await codes()).toEqual([]);
  });

  it('INVALID_LOGIN when the secrets belong to another way of signing in', async () => {
    const connector = openAt(wire.url, { secrets: { consumerSecret: 'a', tokenSecret: 'b' } });
    expect(await codes(connector)).toEqual(['INVALID_LOGIN']);
  });

  it('rejects when the caller aborts', async () => {
    wire.answer = () => new Promise(() => undefined);
    await expect(openAt(wire.url).test(AbortSignal.timeout(50))).rejects.toMatchObject({ name: 'TimeoutError' });
  });
});
