// Requests that must not be ambiguous: repeated credentials, malformed text.
import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import supertest from 'supertest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';

let database: TestDatabase;
let server: Server;
let key: string;

beforeAll(async () => {
  database = await testDatabase();
  const { id } = await makeOrganization(database.ctx);
  key = (await makeKey(database.ctx, id, { permissions: ['write'] })).secret;
  server = createServer({ keepAliveTimeout: 0 }, createApp(database.ctx)).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await database.close();
});

async function statusOf(headers: string[]): Promise<{ status: number | undefined; body: string }> {
  const { port } = server.address() as AddressInfo;
  const sent = request({ host: '127.0.0.1', port, path: '/api/platform/v1/whoami', headers });
  sent.end();
  const [response] = await once(sent, 'response');
  let body = '';
  for await (const chunk of response) body += chunk;
  return { status: response.statusCode, body };
}

describe('a request', () => {
  it('with two Authorization or Host headers gets 400: it would be ambiguous which one counts', async () => {
    const good = ['Host', '127.0.0.1', 'Authorization', `Bearer ${key}`];
    expect((await statusOf(good)).status).toBe(200);
    for (const extra of [
      ['Authorization', 'Bearer psk_other'],
      ['Host', 'elsewhere.example'],
    ]) {
      const refused = await statusOf([...good, ...extra]);
      expect(refused.status).toBe(400);
      expect(JSON.parse(refused.body).error).toMatchObject({
        code: 'BAD_REQUEST',
        details: [{ code: 'repeated' }],
      });
    }
  });

  it('whose body is not UTF-8 gets 400 instead of being stored with replacement characters', async () => {
    const response = await supertest(server)
      .post('/api/platform/v1/api-keys')
      .set('authorization', `Bearer ${key}`)
      .set('content-type', 'application/json')
      .serialize((body: unknown) => body as string)
      .send(
        Buffer.concat([
          Buffer.from('{"name":"'),
          Buffer.from([0xff, 0xfe]),
          Buffer.from('"}'),
        ]) as unknown as string,
      );
    expect(response.status).toBe(400);
    expect(response.body.error.details).toMatchObject([{ code: 'malformed_text' }]);
  });
});
