// The requests of a key, counted by day, version, resource and subject.
import { describe, expect, it } from 'vitest';
import { pluck } from '../../setup/api.ts';
import { useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization();

const createKey = async (name = 'made'): Promise<string> =>
  (await org.api('post', '/api-keys', { name })).body.id;

describe('GET /api-keys/{id}/usage', () => {
  const row = (day: string, version: string, resource: string, counts: number[]) => {
    const [succeeded = 0, notModified = 0, refused = 0, failed = 0] = counts;
    return { day, version, resource, succeeded, not_modified: notModified, refused, failed };
  };

  it('groups and filters by the subject of tokens', async () => {
    const id = await createKey();
    await org.sql((tx) =>
      tx('api_key_usage').insert(
        [
          { ...row('2021-01-31', 'v1', 'invoices', [10]), subject: 'customer:1' },
          { ...row('2021-01-31', 'v1', 'customers', [5]), subject: 'customer:1' },
          { ...row('2021-01-31', 'v1', 'invoices', [20]), subject: 'customer:2' },
          { ...row('2021-02-01', 'v1', 'invoices', [1]), subject: 'other' },
          { ...row('2021-02-01', 'v1', 'invoices', [2]), subject: '' },
        ].map((counted) => ({ organization_id: org.id, api_key_id: id, ...counted })),
      ),
    );
    const brief = async (query: string) =>
      (await org.api('get', `/api-keys/${id}/usage?from=2021-01-01&to=2021-12-31${query}`)).body.data.map(
        (one: Record<string, unknown>) =>
          `${one['day']} ${one['resource']} ${one['subject']} ${one['requests']}`,
      );
    expect(await brief('&groupBy=subject')).toEqual([
      'null null customer:2 20',
      'null null customer:1 15',
      'null null null 2',
      'null null other 1',
    ]);
    expect(await brief('&groupBy=subject,day&subject=customer:1')).toEqual(['2021-01-31 null customer:1 15']);
    expect(await brief('&groupBy=day')).toEqual(['2021-02-01 null null 3', '2021-01-31 null null 35']);
  });

  it('counts the last seven days with the key', async () => {
    const id = await createKey('counted');
    const counted = (daysAgo: number) => ({
      ...row(
        new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10),
        'v1',
        'invoices',
        [4, 3, 2, 1],
      ),
      organization_id: org.id,
      api_key_id: id,
    });
    await org.sql((tx) => tx('api_key_usage').insert([0, 6, 8].map(counted)));
    expect((await org.api('get', `/api-keys/${id}`)).body.requestsLast7Days).toBe(20);
    const listed = (await org.api('get', '/api-keys?q=counted')).body.data;
    expect(pluck(listed, 'requestsLast7Days')).toEqual([20]);
  });

  it('groups the requests by day, version and resource within the requested days', async () => {
    const id = await createKey();
    const other = await createKey();
    // Long ago on any date: without `from` and `to` only the last days are included.
    await org.sql((tx) =>
      tx('api_key_usage').insert(
        [
          { ...row('2021-01-31', 'v1', 'invoices', [10, 5, 2, 1]), api_key_id: id },
          { ...row('2021-01-31', 'v1', '', [1]), api_key_id: id },
          { ...row('2021-02-01', 'v2', 'invoices', [100]), api_key_id: id },
          { ...row('2021-02-01', '', '', [0, 0, 7]), api_key_id: id },
          { ...row('2021-02-01', 'v1', 'invoices', [1_000_000]), api_key_id: other },
        ].map((counted) => ({ organization_id: org.id, ...counted })),
      ),
    );
    const usage = async (query: string) =>
      (await org.api('get', `/api-keys/${id}/usage?from=2021-01-01&to=2021-12-31${query}`)).body;
    expect(await usage('')).toEqual({
      data: [
        {
          day: '2021-02-01',
          version: 'v2',
          resource: 'invoices',
          subject: null,
          requests: 100,
          succeeded: 100,
          notModified: 0,
          refused: 0,
          failed: 0,
        },
        {
          day: '2021-02-01',
          version: null,
          resource: null,
          subject: null,
          requests: 7,
          succeeded: 0,
          notModified: 0,
          refused: 7,
          failed: 0,
        },
        {
          day: '2021-01-31',
          version: 'v1',
          resource: 'invoices',
          subject: null,
          requests: 18,
          succeeded: 10,
          notModified: 5,
          refused: 2,
          failed: 1,
        },
        {
          day: '2021-01-31',
          version: 'v1',
          resource: null,
          subject: null,
          requests: 1,
          succeeded: 1,
          notModified: 0,
          refused: 0,
          failed: 0,
        },
      ],
      pagination: { total: 4, page: 1, pageSize: 25, totalPages: 1 },
    });
    const brief = async (query: string) =>
      (await usage(query)).data.map(
        (one: Record<string, unknown>) =>
          `${one['day']} ${one['version']} ${one['resource']} ${one['requests']}`,
      );
    expect(await brief('&groupBy=resource')).toEqual(['null null invoices 118', 'null null null 8']);
    expect(await brief('&groupBy=version,day&version=v1')).toEqual(['2021-01-31 v1 null 19']);
    const days = async (query: string) =>
      (await org.api('get', `/api-keys/${id}/usage?${query}&groupBy=day`)).body.data.map(
        (one: Record<string, unknown>) => `${one['day']} null null ${one['requests']}`,
      );
    const later = await org.api('get', `/api-keys/${id}/usage?from=2021-02-01&to=2021-02-01&groupBy=day`);
    expect(pluck(later.body.data, 'requests')).toEqual([107]);
    expect(await brief('&groupBy=version&version=v2')).toEqual(['null v2 null 100']);
    expect(await brief('&pageSize=1&page=3')).toEqual(['2021-01-31 v1 invoices 18']);
    expect((await org.api('get', `/api-keys/${id}/usage`)).body.data).toEqual([]);
    expect(await brief('&groupBy=day')).toEqual(await days('to=2021-02-10'));
    expect(await days('to=2021-03-02')).toEqual(['2021-02-01 null null 107']);
    const backwards = await org.api('get', `/api-keys/${id}/usage?from=2021-02-02&to=2021-02-01`);
    expect([backwards.status, backwards.body.error.details]).toEqual([
      400,
      [{ path: 'to', code: 'custom', message: 'must not be before "from"' }],
    ]);
    for (const wrong of ['groupBy=', 'from=2021-02-30', 'from=0000-01-01'])
      expect([wrong, (await org.api('get', `/api-keys/${id}/usage?${wrong}`)).status]).toEqual([wrong, 400]);
  });
});
