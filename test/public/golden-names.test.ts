// Versions published before parameters such as `q`, `or`, `expand` and `sum` existed may have fields and ids
// of these names: they mean there what they always meant. The stored answers were made before the parameters
// existed; do not regenerate the file.
import { describe, expect, it } from 'vitest';
import { useStarted } from '../setup/use-started.ts';
import { openSite } from './fixture.ts';
import { answersText, readKept } from './golden-answers.ts';

const endpoint = {
  name: 'summary',
  recordType: 'invoice',
  description: 'Every name is one that a later version may use otherwise',
  fields: [
    { name: 'q', source: 'tranid' },
    { name: 'or', source: 'status' },
    { name: 'sum', source: 'total' },
    { name: 'count', source: 'seq' },
    { name: 'min', source: 'paid' },
    { name: 'by', source: 'trandate' },
    { name: 'max', source: 'lastmodified' },
    { name: 'expand', source: 'entity' },
    { name: 'avg', source: 'entity.name' },
    { name: 'summary', source: 'lines', fields: [{ name: 'count_distinct', source: 'item' }] },
  ],
  filters: [
    { field: 'q', operators: ['eq', 'contains'] },
    { field: 'or', operators: ['eq', 'not'] },
    { field: 'sum', operators: ['eq', 'gt'] },
    { field: 'count', operators: ['eq', 'lte'] },
    { field: 'min', operators: ['eq'] },
    { field: 'by', operators: ['eq', 'after'] },
    { field: 'max', operators: ['after'] },
    { field: 'expand', operators: ['eq'] },
    { field: 'avg', operators: ['contains'] },
  ],
  sorts: ['sum', 'by', 'count'],
  defaultSort: { field: 'by', order: 'desc' },
};
const rows = [
  {
    id: 'summary',
    tranid: 'INV-001',
    status: '(a:eq:b)',
    total: '10.50',
    seq: '1',
    paid: false,
    trandate: '2026-01-31',
    entity: 'customer',
  },
  {
    id: 'a',
    tranid: 'INV-002',
    status: 'Open',
    total: '3',
    seq: '2',
    paid: true,
    trandate: '2026-02-28',
    entity: 'a',
    entityName: 'Ada',
  },
  {
    id: 'changed',
    tranid: 'x',
    lastmodified: '2026-01-31T10:20:30Z',
    lines: JSON.stringify([{ item: 'i' }]),
  },
];
const addresses = [
  '/v1/summary',
  '/v1/summary/summary',
  '/v1/summary/summary?fields=sum,by',
  '/v1/summary/summary?expand=a',
  '/v1/summary/summary?sum=sum&by=by',
  '/v1/summary?q=INV-001',
  '/v1/summary?q=IN',
  '/v1/summary?q_contains=nv-0',
  '/v1/summary?or=(a:eq:b)',
  '/v1/summary?or=Open&or=(a:eq:b)',
  '/v1/summary?sum_gt=3&count=1&min=false',
  '/v1/summary?sum=sum',
  '/v1/summary?by=2026-02-28&expand=a&avg_contains=ada',
  '/v1/summary?max_after=2026-01-01',
  '/v1/summary?sort=-sum',
  '/v1/summary?sort=sum,by',
  '/v1/summary?sort=-by&order=desc',
  '/v1/summary?avg=sum&max=sum',
  '/v1/summary?summary.count_distinct=i',
  '/v1/summary/changes?limit=1&expand=a',
];

const kept = readKept('names');

const site = useStarted(() => openSite({ rows, idType: 'text', versions: [{ endpoints: [endpoint] }] }));

describe('a version whose fields have the names of later parameters', () => {
  it('returns the stored responses', async () => {
    expect(await answersText(site.get, addresses, false)).toBe(kept);
  });

  it('returns its lists as exports', async () => {
    const { text } = await site.get('/v1/summary?fields=q,or,sum,by&sort=sum', { accept: 'text/csv' });
    expect(text).toBe(
      'id,q,or,sum,by\r\na,INV-002,Open,3,2026-02-28\r\nsummary,INV-001,(a:eq:b),10.50,2026-01-31\r\nchanged,x,,,\r\n',
    );
  });
});
