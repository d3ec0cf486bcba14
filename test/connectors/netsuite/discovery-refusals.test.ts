// Discovery where an account refuses queries or lists many record types: against a server that answers as the
// test defines.
import { beforeEach, describe, expect, it } from 'vitest';
import {
  type Answer,
  createConnectorAt,
  expectErpError,
  refuses,
  refusesQuery,
  rowsResponse,
  sends,
  signal,
  useWire,
} from './wire.ts';

const wire = useWire();

describe('a record type of an account that refuses some queries', () => {
  /** Answers to queries by a pattern, the first that matches. */
  let answers: (readonly [RegExp, Answer])[];
  const described = {
    colour: { title: 'Colour', type: 'string' },
    height: { title: 'Height', type: 'integer' },
  };
  const unexpected = refuses(500, 'UNEXPECTED_ERROR', 'An unexpected error occurred.');
  const describeThing = async () => (await createConnectorAt(wire.url).metadata(signal, ['thing']))[0];

  beforeEach(() => {
    wire.answer = ({ path, query }) => {
      if (path.endsWith('/metadata-catalog')) return { items: [{ name: 'thing' }] };
      if (path.endsWith('/thing')) return { properties: { id: { type: 'string' }, ...described } };
      return answers.find(([pattern]) => pattern.test(query))?.[1] ?? rowsResponse([]);
    };
  });

  it('is described without SELECT * where a column makes that fail', async () => {
    answers = [
      [/t\.\*/, unexpected],
      [/^SELECT t\.id FROM thing t/, () => rowsResponse([{ id: '7' }, { id: '8' }])],
      [/colour/, () => rowsResponse([{ id: '7', colour: 'red' }])],
    ];
    expect(await describeThing()).toMatchObject({
      reason: null,
      definition: { key: [{ column: 'id' }] },
      fields: [
        { name: 'id', type: 'integer' },
        { name: 'colour', type: 'text', label: 'Colour', syncable: true },
        { name: 'height' },
      ],
    });
  });

  it('cannot be synced without a key, and the reason says what to do', async () => {
    answers = [[/t\.\*/, () => rowsResponse(['A', 'B'].map((id) => ({ id, colour: 'red' })))]];
    expect(await describeThing()).toMatchObject({
      reason: expect.stringMatching(/query source/),
      fields: [{ name: 'id', syncable: false }, { syncable: false }, { syncable: false }],
    });
  });

  it('has text for values that contradict the catalogue, with a warning', async () => {
    answers = [[/./, () => rowsResponse([{ id: '7', height: '6 ft' }])]];
    const type = await describeThing();
    expect(type?.fields.find(({ name }) => name === 'height')).toMatchObject({
      type: 'text',
      syncable: true,
      warning: expect.stringMatching(/metadata catalogue calls it integer.*6 ft/),
    });
  });

  it('has a number where the first values are integers and others are not', async () => {
    const row = { id: '7', colour: 'red', size: '3' };
    answers = [
      [/SUM\(CASE WHEN t\.size <> ROUND/, () => rowsResponse([{ n: '2', n0: '1' }])],
      [/./, () => rowsResponse([row])],
    ];
    const type = await describeThing();
    expect(type?.fields.find(({ name }) => name === 'size')).toMatchObject({
      type: 'number',
      warning: expect.stringMatching(/one record/),
    });
  });

  it('rejects during an outage, and for a server error on every query', async () => {
    for (const answer of [unexpected, sends(503)]) {
      answers = [[/FROM thing/, answer]];
      await expectErpError(describeThing(), 'down');
    }
  });
});

it('an account that refuses its catalogue for a while still has a type that it listed before, read as its queries allow', async () => {
  const forbidden = refuses(403, 'INSUFFICIENT_PERMISSION', 'Permission Violation');
  let rows: Answer = () => rowsResponse([{ id: '7', colour: 'red' }]);
  wire.answer = ({ method, query }) =>
    method === 'GET' ? forbidden : /FROM thing/.test(query) ? rows : rowsResponse([]);
  const describeThing = () => createConnectorAt(wire.url).metadata(signal, ['thing']);
  expect(await describeThing()).toMatchObject([
    { name: 'thing', reason: null, fields: [{ name: 'id' }, { name: 'colour', syncable: true }] },
  ]);
  rows = forbidden;
  await expectErpError(describeThing(), 'forbidden');
});

describe('an account with 700 types in its catalogue', () => {
  it('is listed in at most twelve requests, whatever lists it refuses', async () => {
    const items = Array.from({ length: 700 }, (_unused, index) => ({ name: `customrecord_type_${index}` }));
    const refused = refusesQuery("Search error occurred: Record 'x' was not found.");
    wire.answer = ({ method }) => (method === 'GET' ? { items, links: [] } : refused);
    const heads = await createConnectorAt(wire.url).discover?.(signal);
    expect(heads?.filter(({ source }) => source === 'catalogue')).toHaveLength(700);
    expect(wire.seen.length).toBeLessThanOrEqual(12);
    expect(wire.seen.some(({ path }) => path.includes('metadata-catalog/'))).toBe(false);
  });

  it('is not listed during an outage', async () => {
    wire.answer = sends(503);
    await expectErpError(createConnectorAt(wire.url).discover?.(signal), 'down');
  });
});
