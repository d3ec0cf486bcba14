// Record lists with a filter, several records at once, and the catalog as OpenAPI.
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { toErrorDetail, useShop } from './test-account.ts';

const [T, U] = ['2011-07-01 10:00:00', '2011-08-15 23:30:00'];
const shop = useShop(
  { timeZone: 'America/Los_Angeles' },
  {
    customer: [
      `1,Ärger & Co,F,F,1,France,${T},${T}`,
      `2,100% Wool,T,F,1,,${T},${U}`,
      `3,"Third ""3""",F,T,1,,${U},${U}`,
    ],
    transaction: [
      `101,I1,CustInvc,2011-07-01,1,1,1,T,30.10,${T},${T}`,
      `102,I2,CustInvc,2011-07-02,1,1,1,T,50,${T},${U}`,
      `103,C1,CustCred,2011-07-03,2,1,1,T,-9.5,${T},${T}`,
    ],
    transactionline: [],
  },
);

const ids = async (type: string, q: string): Promise<string[]> => {
  const answer = await shop.get(`record/v1/${type}?q=${encodeURIComponent(q)}`);
  if (answer.status !== 200) throw new Error(toErrorDetail(answer).join(' '));
  return answer.body.items.map(({ id }) => id ?? '').toSorted();
};

describe('q', () => {
  it.each([
    ['customer', 'isPerson IS true', ['2']],
    ['customer', 'isPerson IS_NOT true', ['1', '3']],
    ['customer', 'entityId START_WITH "ärger &"', ['1']],
    ['customer', 'entityId CONTAIN %', ['2']],
    ['customer', 'entityId END_WITH wool', ['2']],
    ['customer', 'entityId ENDWITH "\\"3\\""', ['3']],
    ['customer', 'entityId IS "100% wool"', ['2']],
    ['customer', 'entityId CONTAIN_NOT o', ['3']],
    ['customer', 'email EMPTY', ['1', '2', '3']],
    ['customer', 'email EMPTY_NOT', []],
    ['customer', 'id ANY_OF [1, 3]', ['1', '3']],
    ['customer', 'id ANY_OF_NOT [1, 3]', ['2']],
    ['customer', 'id BETWEEN [2, 9]', ['2', '3']],
    ['customer', 'id EQUAL 1 OR id EQUAL 2 AND isPerson IS false', ['1']],
    ['customer', '(id EQUAL 1 OR id EQUAL 2) AND isPerson IS true', ['2']],
    ['customer', 'lastModifiedDate AFTER 7/1/2011', ['2', '3']],
    ['customer', 'lastModifiedDate ON 8/15/2011', ['2', '3']],
    ['customer', 'lastModifiedDate ON_OR_AFTER "8/15/11 3:30 PM"', ['2', '3']],
    ['customer', 'lastModifiedDate ON_OR_AFTER "8/15/2011 03:31 PM"', []],
    ['invoice', 'tranDate BEFORE 7/2/2011', ['101']],
    ['invoice', 'tranDate ON_OR_BEFORE_NOT 7/1/2011', ['102']],
    ['invoice', 'total GREATER_OR_EQUAL 30.10 AND total LESS 50', ['101']],
    ['invoice', 'entity ANY_OF [1]', ['101', '102']],
    ['invoice', 'status ANY_OF [B]', ['101', '102']],
    ['invoice', 'status IS A', []],
    ['creditMemo', 'total GREATER 9', ['103']],
  ])('%s: %s', async (type, q, expected) => {
    expect(await ids(type, q)).toEqual(expected);
  });

  it('is kept in the links between pages', async () => {
    const first = await shop.get('record/v1/customer?limit=1&q=id%20GREATER%201');
    expect(first.body).toMatchObject({ count: 1, hasMore: true, totalResults: 2 });
    const next = new URL(first.body.links.find(({ rel }) => rel === 'next')?.href ?? '');
    const second = await shop.get(`record/v1/customer${next.search}`);
    expect([first, second].map(({ body }) => body.items[0]?.['id']).toSorted()).toEqual(['2', '3']);
    expect(second.body.hasMore).toBe(false);
  });

  it.each([
    [
      'unicorn EMPTY',
      "Unknown field name 'unicorn' in the search query. The field does not exist on this record type.",
      'NONEXISTENT_FIELD',
    ],
    [
      'lastModifiedDate AFTER 2011-07-01',
      'Parse of date/time "2011-07-01" failed with date format "M/D/YYYY" in time zone America/Los_Angeles',
      'INVALID_PARAMETER',
    ],
    ['lastModifiedDate AFTER 2/30/2011', 'Parse of date/time', 'INVALID_PARAMETER'],
    [
      'entityId GREATER 5',
      'The operator GREATER cannot be used with the field entityId.',
      'INVALID_PARAMETER',
    ],
    ['id EQUAL five', 'five is not a number.', 'INVALID_PARAMETER'],
    ['isPerson IS maybe', 'maybe is not true or false.', 'INVALID_PARAMETER'],
    ['(id EQUAL 1', 'The query ends too early.', 'INVALID_PARAMETER'],
    ['id EQUAL 1 id', 'Unexpected id.', 'INVALID_PARAMETER'],
    ['id EQUAL "1', 'A value is not closed.', 'INVALID_PARAMETER'],
    ['', 'The query ends too early.', 'INVALID_PARAMETER'],
  ])('400 for %s', async (q, detail, code) => {
    const answer = await shop.get(`record/v1/customer?q=${encodeURIComponent(q)}`);
    expect(toErrorDetail(answer)).toEqual([400, expect.stringContaining(detail), code]);
    expect(answer.body['o:errorDetails'][0]?.['o:errorQueryParam']).toBe('q');
  });
});

it('expandRecords returns whole records by id and leaves out absent ones', async () => {
  const { body } = await shop.get('record/v1/customer?expandRecords=true&ids=2,424242,1');
  expect(body).toMatchObject({
    count: 2,
    hasMore: false,
    items: [
      { id: '2', entityId: '100% Wool' },
      { id: '1', entityId: 'Ärger & Co' },
    ],
  });
  expect(await shop.read('record/v1/customer?expandRecords=true&ids=eid:none')).toMatchObject({
    count: 0,
  });
});

it('the catalog as OpenAPI is a valid document for every type', async () => {
  const validator = new Validator();
  for (const { name } of (await shop.read('record/v1/metadata-catalog')).items) {
    const answer = await shop.get(`record/v1/metadata-catalog/${name}`, {
      accept: 'application/swagger+json',
    });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/swagger+json']);
    expect(await validator.validate(structuredClone(answer.body)), name).toMatchObject({ valid: true });
    expect(answer.body).toMatchObject({
      openapi: '3.0.1',
      components: { schemas: { [name ?? '']: { type: 'object' } } },
    });
  }
});
