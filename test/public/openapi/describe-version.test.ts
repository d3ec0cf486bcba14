// The description of a version without new declarations is stored in test/public/golden.
import { describe, expect, it } from 'vitest';
import { createId } from '../../../src/core/id.ts';
import { useStarted } from '../../setup/use-started.ts';
import { bindEndpoints, describeEndpoints } from '../compiled.ts';
import { type Get, invoicesEndpoint, openSite } from '../fixture.ts';
import { lintTotals, schemaErrors } from './problems.ts';

const notes = 'For partners.';
const awkward = [
  { ...invoicesEndpoint, sorts: [], maxPageSize: 10 },
  { ...invoicesEndpoint, name: 'a-1', defaultSort: { field: 'date', order: 'desc' } },
  { ...invoicesEndpoint, name: 'a1', filters: [] },
  {
    ...invoicesEndpoint,
    name: 'unsynced',
    recordType: 'nothing',
    filters: [{ field: 'status', operators: ['eq'] }],
  },
];

describe('describeVersion', () => {
  it('is valid OpenAPI 3.1 and lint-clean', async () => {
    const previous = { version: 'v1', ...bindEndpoints([invoicesEndpoint]) };
    for (const endpoints of [[invoicesEndpoint], awkward, []]) {
      const described = describeEndpoints(endpoints, { notes, previous });
      expect(await schemaErrors(described)).toEqual([]);
      if (endpoints.length > 0)
        expect(await lintTotals(described)).toEqual({ errors: 0, warnings: 0, ignored: 0 });
    }
  });

  it('ends descriptions of the publisher with a full stop before adding text', () => {
    const describeTotal = (description: string) => {
      const fields = [{ name: 'total', source: 'total', description }];
      const endpoint = { ...invoicesEndpoint, fields, filters: [], sorts: [] };
      return JSON.parse(describeEndpoints([endpoint], { notes })).components.schemas.Invoice.properties.total;
    };
    for (const written of ['What is due', 'What is due.'])
      expect(describeTotal(written)).toMatchObject({
        description: expect.stringMatching(/^What is due\. Exact decimal digits\. /),
      });
  });
});

describe('the description of changes', () => {
  it('has their events and the header with which they are resumed', () => {
    const { get } = JSON.parse(describeEndpoints([invoicesEndpoint], { notes })).paths[
      '/v2/invoices/changes'
    ];
    expect(get.parameters).toContainEqual(expect.objectContaining({ name: 'Last-Event-ID', in: 'header' }));
    expect(Object.keys(get.responses[200].content)).toEqual(['application/json', 'text/event-stream']);
  });
});

describe('GET /openapi/{version}', () => {
  const site = useStarted(() => {
    const drafted = { ...invoicesEndpoint, name: 'drafted' };
    return openSite({ versions: [{}, { version: 'v2', status: 'draft', endpoints: [drafted] }] });
  });
  const get: Get = (path, headers) => site.get(path, headers);

  it('200 with the stored bytes and an ETag', async () => {
    const stored = await site.inTransaction((tx) =>
      tx('api_schemas').where({ version: 'v1' }).first<{ openapi: string }>('openapi'),
    );
    const response = await get('/openapi/v1').expect(200);
    expect(response.text).toBe(stored?.openapi);
    await get('/openapi/v1', { 'if-none-match': String(response.headers['etag']) }).expect(304);
    await get('/openapi/v1?draft=false').expect(200);
  });

  it('?draft=true describes the draft of that label', async () => {
    const response = await get('/openapi/v2?draft=true').expect(200);
    expect(response.body.info.version).toBe('v2-draft');
    expect(Object.keys(response.body.paths)).toContain('/v2/drafted');
    await get('/openapi/v2?draft=true', { 'if-none-match': String(response.headers['etag']) }).expect(304);
    await get('/openapi/v2').expect(404);
    expect((await get('/openapi/v2?dr%61ft=tru%65').expect(200)).text).toBe(response.text);
    await get('/openapi/v1?draft=true').expect(404);
    await get('/openapi/v7?draft=true').expect(404);
  });

  it('403 without api-schema:read, before 404', async () => {
    const stranger = createId();
    await site.ctx.db.control.raw('select ensure_user(?, ?, ?)', [
      stranger,
      `${stranger}@example.test`,
      'Left',
    ]);
    const former = await site.callerWith({ createdBy: stranger });
    for (const version of ['v2', 'v7']) {
      const { body } = await former(`/openapi/${version}?draft=true`).expect(403);
      expect(body.error.message).toBe('Missing required permission: api-schema:read');
    }
    await former('/openapi/v1').expect(200);
    await former('/v1/invoices').expect(200);
  });

  describe('with a session', () => {
    it('200 with the same bytes, and the draft with its changes', async () => {
      const response = await site.asMember('viewer', '/openapi/v1');
      expect([response.status, response.text]).toEqual([200, (await get('/openapi/v1')).text]);
      expect(response.headers['vary']).toContain('Cookie');
      const { body } = await site.asMember('viewer', '/openapi/v2?draft=true');
      expect(body.info.description).toContain(
        '## Changes from v1\n- **Breaking:** The resource invoices was removed.',
      );
    });

    it('403 without api-schema:read or for another tenant, 400 without a tenant, 404 for an absent version', async () => {
      expect((await site.asMember(['sync:read'], '/openapi/v1')).status).toBe(403);
      expect((await site.asMember('viewer', '/openapi/v1', { 'x-tenant-id': createId() })).status).toBe(403);
      expect((await site.asMember('viewer', '/openapi/v1', { 'x-tenant-id': '' })).status).toBe(400);
      expect((await site.asMember('viewer', '/openapi/v7')).status).toBe(404);
    });

    it('401 for an unknown session, together with an invalid key, and for records', async () => {
      for (const headers of [
        { cookie: `portal_session=${'A'.repeat(43)}` },
        { authorization: 'Bearer psk_wrong' },
      ])
        expect((await site.asMember('viewer', '/openapi/v1', headers)).status).toBe(401);
      expect((await site.asMember('owner', '/v1/invoices')).status).toBe(401);
    });
  });

  it('400 for other parameters', async () => {
    for (const query of [
      'draft=1',
      'draft=',
      'draft=true&draft=true',
      'page=1',
      'draft=%',
      'draft=false&x=1',
    ]) {
      const response = await get(`/openapi/v1?${query}`);
      expect([query, response.status]).toEqual([query, query.startsWith('draft=true') ? 404 : 400]);
    }
    await get('/openapi/v2?draft=true&x=1').expect(400);
  });
});
