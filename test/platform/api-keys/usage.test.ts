// The requests of a key, counted by day, version, resource and subject.
import { describe, expect, it } from 'vitest';
import { type Answer, pluck } from '../../setup/api.ts';
import { useOrganization } from '../../setup/use-organization.ts';
import { createKeyCalls } from './fixture.ts';

const org = useOrganization();
const { create, read } = createKeyCalls(org);

describe('GET /api-keys/{id}/usage', () => {
  const row = (day: string, version: string, resource: string, counts: number[], subject = '') => {
    const [succeeded = 0, not_modified = 0, refused = 0, failed = 0] = counts;
    return { day, version, resource, subject, succeeded, not_modified, refused, failed };
  };
  const insert = (id: string, rows: object[]) =>
    org
      .admin('api_key_usage')
      .insert(rows.map((counted) => ({ organization_id: org.id, api_key_id: id, ...counted })));
  const in2021 = async (id: string, query: string): Promise<Answer['body']> =>
    (await org.api('get', `/api-keys/${id}/usage?from=2021-01-01&to=2021-12-31${query}`)).body;

  it('groups and filters by the subject of tokens', async () => {
    const { id } = await create();
    await insert(id, [
      row('2021-01-31', 'v1', 'invoices', [10], 'customer:1'),
      row('2021-01-31', 'v1', 'customers', [5], 'customer:1'),
      row('2021-01-31', 'v1', 'invoices', [20], 'customer:2'),
      row('2021-02-01', 'v1', 'invoices', [1], 'other'),
      row('2021-02-01', 'v1', 'invoices', [2]),
    ]);
    const brief = async (query: string) =>
      pluck((await in2021(id, query)).data, 'day', 'resource', 'subject', 'requests');
    expect(await brief('&groupBy=subject')).toEqual([
      [null, null, 'customer:2', 20],
      [null, null, 'customer:1', 15],
      [null, null, null, 2],
      [null, null, 'other', 1],
    ]);
    expect(await brief('&groupBy=subject,day&subject=customer:1')).toEqual([
      ['2021-01-31', null, 'customer:1', 15],
    ]);
    expect(await brief('&groupBy=day')).toEqual([
      ['2021-02-01', null, null, 3],
      ['2021-01-31', null, null, 35],
    ]);
  });

  it('counts the last seven days with the key', async () => {
    const { id } = await create({ name: 'counted' });
    const dayBefore = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
    await insert(
      id,
      [0, 6, 8].map((days) => row(dayBefore(days), 'v1', 'invoices', [4, 3, 2, 1])),
    );
    expect((await read(id)).requestsLast7Days).toBe(20);
    const listed = (await org.api('get', '/api-keys?q=counted')).body.data;
    expect(pluck(listed, 'requestsLast7Days')).toEqual([20]);
  });
  it('groups the requests by day, version and resource within the requested days', async () => {
    const [{ id }, other] = [await create(), await create()];
    // Long ago on any date: without `from` and `to` only the last days are included.
    await insert(id, [
      row('2021-01-31', 'v1', 'invoices', [10, 5, 2, 1]),
      row('2021-01-31', 'v1', '', [1]),
      row('2021-02-01', 'v2', 'invoices', [100]),
      row('2021-02-01', '', '', [0, 0, 7]),
    ]);
    await insert(other.id, [row('2021-02-01', 'v1', 'invoices', [1_000_000])]);
    const shown = (day: string, version: string | null, resource: string | null, counts: number[]) => {
      const [requests, succeeded, notModified, refused, failed] = counts;
      return { day, version, resource, subject: null, requests, succeeded, notModified, refused, failed };
    };
    expect(await in2021(id, '')).toEqual({
      data: [
        shown('2021-02-01', 'v2', 'invoices', [100, 100, 0, 0, 0]),
        shown('2021-02-01', null, null, [7, 0, 0, 7, 0]),
        shown('2021-01-31', 'v1', 'invoices', [18, 10, 5, 2, 1]),
        shown('2021-01-31', 'v1', null, [1, 1, 0, 0, 0]),
      ],
      pagination: { total: 4, page: 1, pageSize: 25, totalPages: 1 },
    });
    const brief = async (query: string) =>
      pluck((await in2021(id, query)).data, 'day', 'version', 'resource', 'requests');
    expect(await brief('&groupBy=resource')).toEqual([
      [null, null, 'invoices', 118],
      [null, null, null, 8],
    ]);
    expect(await brief('&groupBy=version,day&version=v1')).toEqual([['2021-01-31', 'v1', null, 19]]);
    const usage = (query: string) => org.api('get', `/api-keys/${id}/usage${query}`);
    const days = async (query: string) =>
      pluck((await usage(`?${query}&groupBy=day`)).body.data, 'day', 'requests');
    expect(await days('from=2021-02-01&to=2021-02-01')).toEqual([['2021-02-01', 107]]);
    expect(await brief('&groupBy=version&version=v2')).toEqual([[null, 'v2', null, 100]]);
    expect(await brief('&pageSize=1&page=3')).toEqual([['2021-01-31', 'v1', 'invoices', 18]]);
    expect((await usage('')).body.data).toEqual([]);
    expect(await days('from=2021-01-01&to=2021-12-31')).toEqual(await days('to=2021-02-10'));
    expect(await days('to=2021-03-02')).toEqual([['2021-02-01', 107]]);
    const backwards = await usage('?from=2021-02-02&to=2021-02-01');
    expect([backwards.status, backwards.body.error.details]).toEqual([
      400,
      [{ path: 'to', code: 'custom', message: 'must not be before "from"' }],
    ]);
    for (const wrong of ['groupBy=', 'from=2021-02-30', 'from=0000-01-01'])
      expect([wrong, (await usage(`?${wrong}`)).status]).toEqual([wrong, 400]);
  });
});
