// Requests that must not be ambiguous: repeated credentials, malformed text.
import { once } from 'node:events';
import { request } from 'node:http';
import supertest from 'supertest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listen, type Server } from '../contract/http.ts';
import { type Company, openCompany } from '../setup/company.ts';

let company: Company;
let server: Server;
beforeAll(async () => {
  company = await openCompany();
  server = await listen(company.app);
});
afterAll(async () => {
  await server.stop();
  await company.close();
});

async function readStatus(headers: string[]): Promise<{ status: number | undefined; body: string }> {
  const sent = request(`${server.url}/api/platform/v1/whoami`, { headers }).end();
  const [response] = await once(sent, 'response');
  return { status: response.statusCode, body: (await response.toArray()).join('') };
}

describe('a request', () => {
  it('with two Authorization or Host headers gets 400: it would be ambiguous which one counts', async () => {
    const good = ['Host', '127.0.0.1', 'Authorization', `Bearer ${company.secret}`];
    expect((await readStatus(good)).status).toBe(200);
    for (const extra of [
      ['Authorization', 'Bearer psk_other'],
      ['Host', 'elsewhere.example'],
    ]) {
      const refused = await readStatus([...good, ...extra]);
      expect(refused.status).toBe(400);
      expect(JSON.parse(refused.body).error).toMatchObject({
        code: 'BAD_REQUEST',
        details: [{ code: 'repeated' }],
      });
    }
  });

  it('whose body is not UTF-8 gets 400 instead of being stored with replacement characters', async () => {
    const response = await supertest(server.url)
      .post('/api/platform/v1/api-keys')
      .set('authorization', `Bearer ${company.secret}`)
      .set('content-type', 'application/json')
      .serialize((body: unknown) => body as string)
      .send(Buffer.from('{"name":"\xff\xfe"}', 'latin1') as unknown as string);
    expect(response.status).toBe(400);
    expect(response.body.error.details).toMatchObject([{ code: 'malformed_text' }]);
  });
});
