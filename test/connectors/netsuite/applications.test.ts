// The applications of a payment come from links, which have no id of their own.
import { describe, expect, it } from 'vitest';
import { createConnectorAt, firstPage, getMetadata, isRequestedBy, rowsResponse, useWire } from './wire.ts';

const wire = useWire();
const recordType = getMetadata('customerPayment');
const at = '2026-01-02T03:04:05Z';

type Link = { parent_id: string; previousdoc: string; foreignamount: string };
const link = (payment: number, document: number, amount: number): Link => ({
  parent_id: String(payment),
  previousdoc: String(document),
  foreignamount: String(amount),
});

function serveLinks(payments: number, links: readonly Link[]): void {
  wire.answer = ({ query }) => {
    if (!query.includes('FROM nexttransactionlinelink'))
      return rowsResponse(
        Array.from({ length: payments }, (_unused, index) => ({
          id: String(index + 1),
          lastmodifieddate: at,
        })).filter(isRequestedBy(query)),
      );
    const requested = new Set(/l\.nextdoc IN \(([^)]*)\)/.exec(query)?.[1]?.split(', '));
    const [, parent = '-1', key = '-1'] = /l\.nextdoc = (\d+) AND l\.previousdoc > (\d+)/.exec(query) ?? [];
    const isBehind = (row: Link): boolean =>
      Number(row.parent_id) > Number(parent) ||
      (row.parent_id === parent && Number(row.previousdoc) > Number(key));
    const rest = links.filter((row) => requested.has(row.parent_id) && isBehind(row));
    return rowsResponse(
      rest.slice(0, 1000).map((row) => ({ parent_modified: at, ...row })),
      rest.length > 1000,
    );
  };
}

const read = () => createConnectorAt(wire.url).readPage({ ...firstPage, recordType, fields: ['lines'] });

describe('the applications of a payment', () => {
  it('are queried as links to the payment', async () => {
    serveLinks(2, [link(1, 70, 10), link(1, 71, 5)]);
    const page = await read();
    expect(
      page.records.map(({ id, lines }) => [
        id,
        lines?.map((each) => [each['previousdoc'], each['foreignamount']]),
      ]),
    ).toEqual([
      [
        '1',
        [
          ['70', '10'],
          ['71', '5'],
        ],
      ],
      ['2', []],
    ]);
    const query = wire.seen.find((seen) => seen.query.includes('FROM nexttransactionlinelink'))?.query;
    expect(query).toContain(
      'FROM nexttransactionlinelink l INNER JOIN transaction t ON t.id = l.nextdoc WHERE l.nextdoc IN (1, 2)',
    );
    expect(query).toContain('AND l.previousdoc IS NOT NULL ORDER BY l.nextdoc ASC, l.previousdoc ASC');
    expect(query).not.toContain('l.id');
  });

  it('include all links between the same two documents, in the same order each time', async () => {
    const links = [link(1, 70, 3), link(1, 70, 1), link(1, 70, 2), link(1, 9, 4)].toSorted(
      (a, b) => Number(a.previousdoc) - Number(b.previousdoc),
    );
    serveLinks(1, links);
    const amounts = async () => (await read()).records[0]?.lines?.map((each) => each['foreignamount']);
    const first = await amounts();
    expect(first).toEqual(['4', '1', '2', '3']);
    serveLinks(1, [...links.slice(0, 1), ...links.slice(1).toReversed()]);
    expect(await amounts()).toEqual(first);
  });

  it('are complete when a response ends between links of the same two documents', async () => {
    const links = Array.from({ length: 40 }, (_unused, payment) =>
      Array.from({ length: 90 }, (_each, index) => link(payment + 1, 500 + Math.floor(index / 7), index)),
    ).flat();
    serveLinks(40, links);
    const page = await read();
    expect(page.records.map(({ lines }) => lines?.length)).toEqual(Array.from({ length: 40 }, () => 90));
    expect(new Set(page.records[3]?.lines?.map((each) => each['foreignamount'])).size).toBe(90);
  });

  it('are an error, not a loss, when the links between two documents exceed a response', async () => {
    serveLinks(
      1,
      Array.from({ length: 1_001 }, (_unused, index) => link(1, 70, index)),
    );
    await expect(read()).rejects.toMatchObject({ kind: 'answer' });
  });
});
