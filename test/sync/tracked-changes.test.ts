// A report of changes that leads in a circle.
import { expect, it } from 'vitest';
import type { PageRequest, RecordPage } from '../../src/connectors/connector.ts';
import { useSync } from './site.ts';

const site = useSync();

it.each(['changed', 'removed'] as const)(
  'that names %s records without an end is given up for all records',
  async (kind) => {
    const fixture = await site.withRecords(5);
    const { connector } = fixture.erp;
    const { readPage } = connector;
    const ids = Array.from({ length: 1_000 }, (_, index) => String(index + 1_000));
    let parts = 0;
    Object.assign(connector, {
      readPage: async (request: PageRequest): Promise<RecordPage> => {
        const page = await readPage(request);
        return request.tracksChanges === true && !page.hasMore ? { ...page, changeToken: 'start' } : page;
      },
      changeTracking: {
        list: async () => {
          parts += 1;
          return { changed: [], removed: [], [kind]: ids, token: String(parts % 2), hasMore: parts < 500 };
        },
      },
    });
    await fixture.expectSuccess('full', { inserted: 5 });
    await fixture.expectSuccess('incremental', {}, { mode: 'full', attempt: 2 });
    expect(parts).toBeLessThan(100);
  },
);
