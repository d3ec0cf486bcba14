import { describe, expect, it } from 'vitest';
import { type ScanRequest, scannedFields } from '../../../src/connectors/connector.ts';
import { createConnectorAt, expectErpError, getMetadata, rowsResponse, signal, useWire } from './wire.ts';

const wire = useWire();
const invoice = getMetadata('invoice');
const volatile = scannedFields(invoice).map(({ name }) => name);
const at = '2026-01-02T03:04:05Z';

const scan = (
  selection: { afterId: string | null; limit: number } | { ids: readonly string[] },
  fields = volatile,
) => createConnectorAt(wire.url).scan({ recordType: invoice, fields, signal, ...selection } as ScanRequest);

describe('scan', () => {
  it('sends one query per page, by id, and without lines', async () => {
    const row = {
      id: '8',
      lastmodifieddate: at,
      foreignamountunpaid: '12.50',
      status: 'A',
      df_status: 'Invoice : Open',
      df_entity: 'Acme',
    };
    wire.answer = () => rowsResponse([row, { id: '9' }], true);
    const page = await scan({ afterId: '7', limit: 2 }, ['foreignamountunpaid', 'status', 'entity']);
    expect(page).toEqual({
      records: [
        {
          id: '8',
          modifiedAt: at,
          values: { id: '8', lastmodifieddate: at, foreignamountunpaid: '12.50', status: 'A', entity: null },
          labels: { status: 'Invoice : Open', entity: 'Acme' },
        },
        {
          id: '9',
          modifiedAt: null,
          values: { id: '9', lastmodifieddate: null, foreignamountunpaid: null, status: null, entity: null },
          labels: { status: null, entity: null },
        },
      ],
      rejected: [],
      lastId: '9',
      hasMore: true,
    });
    expect(wire.seen).toHaveLength(1);
    expect(wire.seen[0]?.path).toContain('limit=2&');
    expect(wire.seen[0]?.query).toMatch(
      / FROM transaction t WHERE t\.type = 'CustInvc' AND t\.id > 7 ORDER BY t\.id ASC$/,
    );
  });

  it('sends one query for a thousand ids, each once', async () => {
    const ids = Array.from({ length: 1000 }, (_unused, index) => String(index + 1));
    wire.answer = () => rowsResponse([{ id: '5' }, { id: '1000' }]);
    const page = await scan({ ids: [...ids, '5', '6'] });
    expect(page.records.map(({ id }) => id)).toEqual(['5', '1000']);
    expect(wire.seen).toHaveLength(1);
    expect(wire.seen[0]?.query.match(/\d+(?=[,)])/g)?.filter((id) => id === '5')).toHaveLength(1);
    await expect(scan({ ids: [...ids, '1001'] })).rejects.toBeInstanceOf(RangeError);
    expect(await scan({ ids: [] })).toEqual({ records: [], rejected: [], lastId: null, hasMore: false });
    expect(wire.seen).toHaveLength(1);
  });

  it('rejects unreadable records and returns the rest', async () => {
    wire.answer = () => rowsResponse([{ id: '1', foreignamountunpaid: 'much' }, { id: '2' }]);
    expect(await scan({ afterId: null, limit: 1000 })).toMatchObject({
      records: [{ id: '2' }],
      rejected: [{ id: '1', code: 'VALUE_UNREADABLE' }],
      lastId: '2',
    });
  });

  it.each([
    ['out of order', [{ id: '2' }, { id: '1' }]],
    ['not behind the cursor', [{ id: '0' }]],
    ['without an id', [{ status: 'A' }]],
  ])('does not trust a response %s', async (_name, rows) => {
    wire.answer = () => rowsResponse(rows);
    await expectErpError(scan({ afterId: '0', limit: 1000 }), 'answer');
  });

  it('does not trust a response with ids that were not requested', async () => {
    wire.answer = () => rowsResponse([{ id: '4' }]);
    await expectErpError(scan({ ids: ['3'] }), 'answer');
  });

  it('refuses lines and fields that are not syncable', async () => {
    for (const field of ['lines', 'daysopen'])
      await expectErpError(scan({ afterId: null, limit: 1 }, [field]), 'query', 'FIELD_NOT_SYNCABLE');
    expect(wire.seen).toHaveLength(0);
  });
});
