// A version as a Postman collection and as an .http file: each request of either works once the key is filled in.
import { describe, expect, it } from 'vitest';
import { useStarted } from '../../setup/use-started.ts';
import { openSite } from '../fixture.ts';

const site = useStarted(() => openSite({ rows: [{ id: 1, tranid: 'INV-1' }] }));

type Request = {
  method: string;
  header: { key: string; value: string }[];
  url: { raw: string; variable: { key: string }[] };
};
type Collection = {
  info: { name: string; schema: string };
  auth: { type: string; bearer: { key: string; value: string }[] };
  variable: { key: string; value: string }[];
  item: { name: string; item: { name: string; request: Request }[] }[];
};
const id = '1';
const baseUrl = () => `${site.ctx.settings.publicUrl}/api/public`;
const toPath = (address: string): string => {
  expect(address.startsWith(`${baseUrl()}/`)).toBe(true);
  return address.slice(baseUrl().length);
};

describe('a version', () => {
  it('as a Postman collection sends each operation with the tenant and the key', async () => {
    const { status, headers, text } = await site.get('/openapi/v1?as=postman');
    expect([status, headers['content-type'], headers['content-disposition']]).toEqual([
      200,
      'application/json; charset=utf-8',
      'attachment; filename="v1.postman_collection.json"',
    ]);
    const { info, auth, variable, item }: Collection = JSON.parse(text);
    expect(info.schema).toBe('https://schema.getpostman.com/json/collection/v2.1.0/collection.json');
    expect([auth.type, auth.bearer[0]?.value]).toEqual(['bearer', '{{apiKey}}']);
    const values = new Map(variable.map(({ key, value }) => [key, value]));
    expect(values.get('tenantId')).toBe(site.organizationId);
    expect(values.get('apiKey')).toBe('');
    const requests = item.flatMap((folder) => folder.item);
    expect(requests.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['List invoices', 'Retrieve an invoice']),
    );
    for (const { name, request } of requests) {
      expect(request.header).toEqual([{ key: 'x-tenant-id', value: '{{tenantId}}' }]);
      const filled = request.url.raw.replace('{{baseUrl}}', values.get('baseUrl') ?? '').replace(':id', id);
      expect([name, (await site.get(toPath(filled))).status]).toEqual([name, 200]);
    }
    const list = JSON.parse(text).item[0].item[0].request.url.query;
    expect(list.find(({ key }: { key: string }) => key === 'date_after')).toMatchObject({
      disabled: true,
      value: '2026-01-31',
    });
  });

  it('as an .http file has the same requests', async () => {
    const { status, headers, text } = await site.get('/openapi/v1?as=http').buffer(true);
    expect([status, headers['content-type'], headers['content-disposition']]).toEqual([
      200,
      'text/plain; charset=utf-8',
      'attachment; filename="v1.http"',
    ]);
    const variables = new Map(
      [...text.matchAll(/^@(\w+) = (.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
    );
    expect(variables.get('tenantId')).toBe(site.organizationId);
    const blocks = text.split(/^### /m).slice(1);
    expect(blocks.length).toBeGreaterThan(2);
    for (const block of blocks) {
      expect(block).toContain('\nAuthorization: Bearer {{apiKey}}\nx-tenant-id: {{tenantId}}');
      const address = /^GET (\S+)$/m
        .exec(block)?.[1]
        ?.replace('{{baseUrl}}', variables.get('baseUrl') ?? '')
        .replace('{{id}}', id);
      expect((await site.get(toPath(address ?? ''))).status).toBe(200);
    }
  });

  it('as a collection names only what a key may read, and has an entity tag of its own', async () => {
    const { etag } = (await site.get('/openapi/v1?as=postman')).headers;
    await site.get('/openapi/v1?as=postman', { 'if-none-match': String(etag) }).expect(304);
    expect((await site.get('/openapi/v1')).headers['etag']).not.toBe(etag);
    const { secret } = await site.key({ resources: ['none-of-these'] });
    const limited = await site.get('/openapi/v1?as=http', { authorization: `Bearer ${secret}` }).buffer(true);
    expect(limited.text ?? '').not.toContain('/invoices');
  });

  it.each(['as=pdf', 'as=postman&as=http', 'as='])('400 for %s', async (query) => {
    const { status, body } = await site.get(`/openapi/v1?${query}`);
    expect([status, body.error.details[0].path]).toEqual([400, 'as']);
  });
});

it('a missing tenant id is named to those who have a key of it', async () => {
  for (const tenant of ['', 'acme']) {
    const { status, body } = await site.get('/v1/invoices', { 'x-tenant-id': tenant });
    expect([status, body.error.message.includes(site.organizationId)]).toEqual([400, true]);
  }
  const stranger = await site.get('/v1/invoices', { 'x-tenant-id': '', authorization: 'Bearer psk_wrong' });
  expect([stranger.status, stranger.text.includes(site.organizationId)]).toEqual([401, false]);
});
