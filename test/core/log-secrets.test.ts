// No secret reaches the log, in whatever text it is contained.
import { expect, it } from 'vitest';
import { createLog } from '../../src/core/log.ts';

const key = `psk_${'a1B2c3D4'.repeat(6)}x`;
const jwt = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl';

const logged = (write: (log: ReturnType<typeof createLog>) => void): string => {
  let text = '';
  write(createLog('info', { write: (line) => void (text += line) }));
  return text;
};

it.each([
  ['a key', key, key.slice(4)],
  ['a key with an escape', `/x/psk%5F${key.slice(4)}`, key.slice(4)],
  ['a web token', `/api/${jwt}/x`, 'eyJzdWIi'],
  ['a web token without signature', jwt.split('.').slice(0, 2).join('.'), 'eyJzdWIi'],
  ['a database URL', 'connect to postgres://portal:s3cr:t@db:5432/x failed', 's3cr'],
  ['a mail server URL', 'smtps://portal:hunter2@mail', 'hunter2'],
  ['a header', 'authorization: Bearer abcdef123456', 'abcdef123456'],
  ['a cookie', 'Cookie: a=b; portal_session=Zm9vYmFy; c=d', 'Zm9vYmFy'],
  ['a query', 'https://erp.example/token?client_secret=Zm9vYmFy&x=1', 'Zm9vYmFy'],
  ['a private key', '-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----', 'MIIEvQ'],
])('%s is redacted in texts, values and errors', (_what, text, secret) => {
  const lines = logged((log) => {
    log.info({ path: text }, 'one');
    log.child({ requestId: 'r' }, { redact: [] }).info({ path: text }, 'two');
    log.error({ err: new Error(text, { cause: new Error(text) }) }, `three ${text}`);
  });
  expect(lines).not.toContain(secret);
  const messages = lines
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).msg);
  expect(messages).toEqual(['one', 'two', expect.stringMatching(/^three/)]);
});

it('other texts are not redacted', () => {
  const facts = {
    path: '/api/public/v1/invoices',
    url: 'postgres://db.internal:5432/portal',
    note: 'basic facts, for a year',
  };
  expect(JSON.parse(logged((log) => log.info(facts, 'the token ring, number 5')))).toMatchObject({
    ...facts,
    msg: 'the token ring, number 5',
  });
});
