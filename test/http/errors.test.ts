import { createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { pino } from 'pino';
import supertest from 'supertest';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../src/app.ts';
import { createId } from '../../src/core/id.ts';
import { openDb, openKnex } from '../../src/db/connect.ts';
import { toAppError } from '../../src/http/errors.ts';
import { describeFailure } from '../../src/sync/queue/retry.ts';
import { type Api, base, createApi, listCodes } from '../setup/api.ts';
import { listenLocally } from '../setup/sockets.ts';
import { useOrganization } from '../setup/use-organization.ts';

const org = useOrganization();

const send = (headers: Record<string, string>, body: Buffer | string) => {
  const request = supertest(org.app)
    .post(`${base}/api-keys`)
    .set({ authorization: `Bearer ${org.owner.secret}`, 'content-type': 'application/json', ...headers });
  request.write(body);
  return request;
};

describe('the error body', () => {
  it('reveals nothing about an unexpected failure, which the log has in full', async () => {
    const lines: string[] = [];
    const log = pino({}, { write: (line: string) => lines.push(line) });
    const broken = createApp({
      ...org.ctx,
      log,
      db: {
        ...org.ctx.db,
        data: new Proxy(org.ctx.db.data, {
          get: (pool, name) =>
            name === 'query'
              ? () => Promise.reject(new Error('the inner workings'))
              : Reflect.get(pool, name),
        }),
      },
    });
    const answer = await createApi(broken, org.owner.secret)('get', '/whoami');
    expect([answer.status, answer.body.error.code]).toEqual([500, 'INTERNAL_ERROR']);
    expect(JSON.stringify(answer.body)).not.toContain('inner workings');
    const logged = lines.map((line) => JSON.parse(line)).find(({ level }) => level === 50);
    expect(logged).toMatchObject({
      requestId: answer.body.error.requestId,
      err: { message: 'the inner workings' },
    });
  });

  it('is 503 with Retry-After while the database is unavailable', async () => {
    const url = 'postgres://nobody@127.0.0.1:1/none';
    const away = openDb(url, url, { control: 1, data: 1 }, 1000);
    onTestFinished(() => away.close());
    const answer = await createApi(createApp({ ...org.ctx, db: away }), org.owner.secret)('get', '/whoami');
    const { status, body, headers } = answer;
    expect([status, body.error.code, headers['retry-after']]).toEqual([503, 'INTERNAL_ERROR', '2']);
  });

  it.each([
    ['57P01', 503],
    ['40P01', 503],
    ['53300', 503],
    ['25P03', 503],
    ['08006', 503],
    ['ECONNREFUSED', 503],
    ['EAGAIN', 503],
    ['EHOSTDOWN', 503],
    ['23505', 500],
    ['42P01', 500],
  ])('turns the error code %s into status %i', (code, status) => {
    expect(toAppError(Object.assign(new Error('x'), { code })).status).toBe(status);
    expect(toAppError(new Error('Connection terminated unexpectedly')).status).toBe(503);
  });

  it('is 503 for a database server that accepts the connection and never responds', async () => {
    const silent = createServer(() => undefined);
    const port = await listenLocally(silent);
    const address = { host: '127.0.0.1', port, user: 'nobody', database: 'none' };
    const knex = openKnex(address, null, 1, { connectionTimeoutMillis: 50 });
    try {
      const error = await knex.raw('select').catch((failure: unknown) => failure);
      expect(toAppError(error)).toMatchObject({ status: 503, headers: { 'Retry-After': '2' } });
      expect(describeFailure(error).code).toBe('DATABASE');
    } finally {
      await knex.destroy();
      silent.close();
    }
  });
});

describe('X-Request-Id', () => {
  it('is the caller’s own if it is harmless, and a new one otherwise', async () => {
    const idFor = async (given: string) =>
      (await org.api('get', '/whoami', undefined, { 'x-request-id': given })).headers['x-request-id'];
    expect(await idFor('trace-12345.a_b')).toBe('trace-12345.a_b');
    for (const given of ['short', 'a b c d e f g', '<script>alert</script>', 'x'.repeat(65)])
      expect(await idFor(given)).toMatch(/^[0-9a-f-]{36}$/);
    expect((await supertest(org.app).get('/nowhere')).headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('malicious bodies', () => {
  it('413 above a megabyte, compressed or not', async () => {
    const large = JSON.stringify({ name: 'x'.repeat(1024 * 1024) });
    expect((await org.api('post', '/api-keys', large)).status).toBe(413);
    expect((await send({ 'content-encoding': 'gzip' }, gzipSync(large))).status).toBe(413);
    expect((await send({ 'content-encoding': 'gzip' }, gzipSync('{"name":"packed"}'))).status).toBe(201);
  });

  it('400 or 415 for a body that can not be decompressed or decoded', async () => {
    const broken = await send({ 'content-encoding': 'gzip' }, 'not compressed');
    expect([broken.status, broken.body.error.code]).toEqual([400, 'BAD_REQUEST']);
    const cut = await send({ 'content-encoding': 'gzip' }, gzipSync('{"name":"x"}').subarray(0, 15));
    expect(cut.status).toBe(400);
    for (const headers of [
      { 'content-encoding': 'zip' },
      { 'content-type': 'application/json; charset=latin1' },
    ])
      expect((await send(headers, '{"name":"x"}')).status).toBe(415);
  });

  it('400 for a body that is not UTF-8, instead of storing it with replacement characters', async () => {
    const response = await send({}, Buffer.from('{"name":"\xff\xfe"}', 'latin1'));
    expect([response.status, listCodes(response)]).toEqual([400, ['malformed_text']]);
  });

  it('400 for a body that is neither object nor array, and 422 for an array', async () => {
    for (const body of ['"text"', '1', 'null', 'true', '{"a":1}}', "{'a':1}", '\u{feff}\u{feff}{}']) {
      const answer = await org.api('post', '/api-keys', body);
      expect([body, answer.status]).toEqual([body, 400]);
    }
    expect((await org.api('post', '/api-keys', '[]')).status).toBe(422);
  });

  it('422 for extremely deep nesting', async () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    expect((await org.api('post', '/api-keys', `{"name":${deep}}`)).status).toBe(422);
    expect((await org.api('post', '/api-keys', deep)).status).toBe(422);
  });

  it('422 for more values than a body may contain, at any depth, without further validation', async () => {
    const many = `[${'{},'.repeat(50_000)}{}]`;
    const keys = Array.from({ length: 50_001 }, (_unused, index) => `"k${index}":1`).join();
    for (const body of [
      `{"name":${many}}`,
      many,
      `{"name":"x",${keys}}`,
      `{"name":${'['.repeat(60_000)}${']'.repeat(60_000)}}`,
    ]) {
      const answer = await org.api('post', '/api-keys', body);
      expect([answer.status, answer.body.error.details]).toEqual([
        422,
        [{ path: '', code: 'too_many_values', message: 'must not contain more than 50000 values' }],
      ]);
    }
  });

  it.each(['a\0b', '\ud800', 'x\udc00x'])('422 for the text %j in any field', async (text) => {
    const texts = { consumerKey: text, consumerSecret: text, tokenSecret: text };
    const authentication = { method: 'tba', tokenId: 'x', ...texts };
    const fields = [{ name: 'x', source: text }];
    const endpoint = { name: 'a', recordType: text, description: text, fields };
    const bodies: [Parameters<Api>[0], string, object][] = [
      ['post', '/api-keys', { name: text }],
      ['post', '/api-schema', { notes: text, endpoints: [endpoint] }],
      ['put', '/netsuite/connection', { accountId: '1234567', authentication }],
      ['post', '/sync-configs', { name: 'x', recordType: 'invoice', schedule: text, timezone: text }],
    ];
    for (const [method, path, body] of bodies) {
      const answer = await org.api(method, path, body);
      expect([path, answer.status]).toEqual([path, 422]);
      expect(listCodes(answer)).toContain('unstorable_text');
    }
  });

  it('400 for NUL in a query', async () => {
    const answer = await org.api('get', '/api-keys?q=%00');
    expect([answer.status, listCodes(answer)]).toEqual([400, ['unstorable_text']]);
  });

  it('422 for numbers out of range', async () => {
    const { body } = await org.api('post', '/api-keys', { name: 'numbers' });
    const rotate = (number: string) =>
      org.api('post', `/api-keys/${body.id}/rotate`, `{"gracePeriodSeconds":${number}}`);
    for (const number of ['1e999', '-1e999', '9007199254740993', '0.5', '-0.1', '"1"', '[]'])
      expect([number, (await rotate(number)).status]).toEqual([number, 422]);
    expect((await rotate('1e-400')).status).toBe(201);
  });

  it('422 for keys that name prototypes, and no prototype is polluted', async () => {
    for (const key of ['__proto__', 'constructor', 'prototype', 'toString']) {
      const polluting = `"${key}":{"polluted":true}`;
      for (const body of [`{"name":"x",${polluting}}`, `{"name":"x","scopes":{${polluting}}}`])
        expect((await org.api('post', '/api-keys', body)).status).toBe(422);
      expect((await org.api('get', `/api-keys?${key}=1`)).status).toBe(400);
    }
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  const config = { name: 'x', recordType: 'invoice' };
  it.each<[string, object, string[]]>([
    [
      '/api-keys',
      { name: 7, scopes: { permissions: ['all'], versions: 'v1' }, expiresAt: true },
      [
        'name must be a string',
        'scopes.versions must be an array',
        'scopes.permissions[0] must be read or write, or the only entry and none',
        'expiresAt must be an RFC 3339 timestamp with a time zone',
      ],
    ],
    ['/api-keys', { name: '' }, ['name must have at least 1 character']],
    ['/api-keys', {}, ['name is required']],
    [`/api-schema/${createId()}/retire`, { undo: 'x' }, ['undo must be true or false']],
    [
      '/api-schema',
      { name: 5, endpoints: {} },
      ['name must be "" or a string', 'endpoints must be an array'],
    ],
    ['/api-schema', { name: 'x'.repeat(121) }, ['name must have at most 120 characters']],
    ['/sync-configs', { ...config, fields: [] }, ['fields must have at least 1 entry']],
    [
      '/sync-configs',
      { ...config, fields: ['ok', 'NO'] },
      ['fields[1] must be a field name of the record type'],
    ],
    [
      '/sync-configs',
      { ...config, fields: 1, maxDeleteShare: 2 },
      ['fields must be "*" or an array', 'maxDeleteShare must be at most 1'],
    ],
    [
      '/netsuite/connection',
      { accountId: '1234567', authentication: { method: 'basic' } },
      ['authentication.method must be one of: oauth2, tba'],
    ],
  ])('422 with a plain message for every wrong type of value: %s %j', async (path, body, messages) => {
    const answer = await org.api(path.startsWith('/netsuite') ? 'put' : 'post', path, body);
    const found = answer.body.error.details as { path: string; message: string }[];
    expect(found.map(({ path: at, message }) => `${at} ${message}`)).toEqual(messages);
  });

  it('lists at most a hundred problems', async () => {
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_unused, index) => [`unknown${index}`, 1]));
    const answer = await org.api('post', '/api-keys', { name: 'x', ...many });
    expect([answer.status, answer.body.error.details.length]).toEqual([422, 100]);
  });
});
