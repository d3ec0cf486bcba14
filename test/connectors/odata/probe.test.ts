// What a probe concludes from a service's answers: refusals by status 500, lines that change later than their
// records, lines that are not counted, and the notes about what runs can't prove.
import { startODataSimulator } from 'odata-simulator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, expectErpError, firstPage, json, sends, signal, useWire } from '../netsuite/wire.ts';
import { createOdataAt, describeOne, fieldNames, metadataWith, optionsOf, serving } from './service.ts';

const wire = useWire();
const types = `<EntityType Name="thing"><Key><PropertyRef Name="no"/></Key>
  <Property Name="no" Type="Edm.Int32"/><Property Name="remainingAmount" Type="Edm.Decimal"/>
  <Property Name="lastModifiedDateTime" Type="Edm.DateTimeOffset"/>
  <NavigationProperty Name="thingLines" Type="Collection(ns.line)" ContainsTarget="true"/></EntityType>
  <EntityType Name="line"><Key><PropertyRef Name="no"/></Key><Property Name="no" Type="Edm.Int32"/>
  <Property Name="SystemModifiedAt" Type="Edm.DateTimeOffset"/></EntityType>
  <EntityType Name="note"><Key><PropertyRef Name="no"/></Key><Property Name="no" Type="Edm.Int32"/></EntityType>`;
const metadata = metadataWith(
  types,
  '<EntitySet Name="things" EntityType="ns.thing"/><EntitySet Name="notes" EntityType="ns.note"/>',
);
const recordTime = '2026-01-01T12:00:00Z';
const row = (no: number, ...lineTimes: (string | null)[]) => ({
  ...{ no, remainingAmount: 0, lastModifiedDateTime: recordTime },
  thingLines: lineTimes.map((SystemModifiedAt, index) => ({ no: index, SystemModifiedAt })),
});
const refusal = { error: { code: 'Internal_ServerError', message: 'An error has occurred.' } };
const isOf = (table: string, path: string) => new URL(path, 'http://x').pathname.endsWith(`/${table}`);
const answering = (rows: object[], more: Answer = () => undefined): Answer =>
  serving(metadata, (seen, response) => {
    const other = more(seen, response);
    if (other !== undefined || response.writableEnded) return other;
    const { $filter = '', $top = '1' } = optionsOf(seen);
    return {
      value: $filter.includes('ge 2200') || $filter.includes('gt') ? [] : rows.slice(0, Number($top)),
    };
  });
const describeThings = (answer: Answer) => {
  wire.answer = answer;
  return describeOne(createOdataAt(wire.url, { dialect: 'businessCentral' }), 'things');
};
const moves = 'A change of a line that does not move the time of its record is found by the next full read.';
const uncounted =
  'That a response lacks no line of a record is not proved: the service is not asked for their number.';

describe('an entity set that the service refuses with status 500', () => {
  it('is excluded with the reason, and others are described', async () => {
    wire.answer = answering([{ no: 1 }], ({ path }, response) =>
      isOf('things', path) ? json(response, 500, refusal) : undefined,
    );
    const connector = createOdataAt(wire.url, { dialect: 'businessCentral' });
    const described = await connector.metadata(signal, ['things', 'notes']);
    const reasons = Object.fromEntries(described.map(({ name, reason }) => [name, reason]));
    expect(reasons).toEqual({
      notes: null,
      things: 'The ERP refuses to read these records: An error has occurred.',
    });
    expect(described.find(({ name }) => name === 'things')).toMatchObject({
      openWhen: null,
      modifiedField: null,
    });
  });

  it('with lines only is read without them', async () => {
    const { reason, fields, definition } = await describeThings(
      answering([row(1)], ({ path }, response) =>
        path.includes('%24expand') || path.includes('$expand') ? json(response, 500, refusal) : undefined,
      ),
    );
    expect(reason).toBeNull();
    expect(definition).toMatchObject({ paging: 'key', lines: null });
    expect(fields.find(({ name }) => name === 'lines')?.reason).toMatch(/An error has occurred/);
  });

  it.each([
    [502, {}, 'down', 'SERVER_UNAVAILABLE'],
    [503, {}, 'down', 'SERVER_UNAVAILABLE'],
    [504, {}, 'down', 'SERVER_UNAVAILABLE'],
    [500, { 'retry-after': '5' }, 'down', 'SERVER_ERROR'],
    [503, { 'retry-after': '5' }, 'throttled', 'TOO_MANY_REQUESTS'],
    [429, {}, 'throttled', 'TOO_MANY_REQUESTS'],
    [401, {}, 'credentials', 'SIGN_IN_REFUSED'],
  ])('is not one of which the service says %i %j', async (status, headers, kind, code) => {
    wire.answer = serving(metadata, sends(status, 'gateway', headers as Record<string, string>));
    const connector = createOdataAt(wire.url);
    await expectErpError(connector.metadata(signal, ['notes', 'things']), kind, code);
  });
});

describe('the time of a record', () => {
  it('is used where no line of the first records changed later', async () => {
    const { modifiedField, reading } = await describeThings(
      answering([row(1, recordTime, null), row(2, '2026-01-01T12:00:01Z', '2025-01-01T00:00:00Z')]),
    );
    expect([modifiedField, reading?.changes, reading?.notes]).toEqual([
      'lastModifiedDateTime',
      'modified',
      [moves],
    ]);
    expect(wire.seen.map((seen) => Number(optionsOf(seen)['$top'] ?? 0)).at(-1)).toBe(100);
  });

  it.each([
    [false, 'full'],
    [true, 'tracked'],
  ])('is not used where a line changed later; changes are tracked: %s', async (tracks, changes) => {
    const rows = [row(1, recordTime), row(2, recordTime, '2026-01-01T12:00:02Z')];
    const described = await describeThings(
      answering(rows, (seen, response) => {
        if (tracks && seen.headers.prefer?.includes('track-changes') === true)
          response.setHeader('preference-applied', 'odata.track-changes');
      }),
    );
    expect(described).toMatchObject({
      modifiedField: null,
      definition: { tracksChanges: tracks },
      reading: { changes },
      openWhen: { field: 'remainingAmount', isNoneOf: ['0'], closedOn: null },
    });
    expect(described.reading?.notes).toContain(
      'The time of a record does not move when one of its lines changes, so it is not used.',
    );
    expect(described.reading?.notes).not.toContain(moves);
  });

  it('is used where the service refuses to compare it with that of lines', async () => {
    const { modifiedField } = await describeThings(
      answering([row(1, '2026-02-01T00:00:00Z')], (seen, response) =>
        optionsOf(seen)['$top'] === '100' ? json(response, 400, refusal) : undefined,
      ),
    );
    expect(modifiedField).toBe('lastModifiedDateTime');
  });
});

describe('a service that doesn’t count lines', () => {
  let service: Awaited<ReturnType<typeof startODataSimulator>>;
  beforeAll(async () => {
    service = await startODataSimulator({ profile: 'sap', generate: { PurchaseOrder: 3 } });
  });
  afterAll(() => service.stop());

  it('as the simulated one, has a note, and its lines are read', async () => {
    const { credentials, serviceRoot } = service;
    if (credentials.kind !== 'basic') throw new Error('the profile signs in by a password');
    const { username: userName, password } = credentials;
    const signIn = { method: 'basic', userName } as const;
    const connector = createOdataAt('', { serviceRoot, signIn, dialect: 'sap' }, { secrets: { password } });
    const order = await describeOne(connector, 'PurchaseOrder');
    expect(order.definition).toMatchObject({ paging: 'key', lines: { isCounted: false } });
    expect(order.reading?.notes).toEqual([moves, uncounted]);
    const page = await connector.readPage({ ...firstPage, recordType: order, fields: fieldNames(order) });
    expect(page.records).toHaveLength(3);
    expect(page.records.flatMap(({ lines }) => lines ?? []).length).toBeGreaterThan(0);
  });

  it('refuses the count of them, while others prove it without a note', async () => {
    const { definition, reading } = await describeThings(answering([row(1)]));
    expect(definition).toMatchObject({ lines: { isCounted: true } });
    expect(reading?.notes).not.toContain(uncounted);
    const without = await describeThings(
      answering([row(1)], (seen, response) =>
        optionsOf(seen)['$expand']?.includes('$count') === true ? json(response, 501, refusal) : undefined,
      ),
    );
    expect(without.definition).toMatchObject({ paging: 'key', lines: { isCounted: false } });
    expect(without.reading?.notes).toEqual([moves, uncounted]);
  });
});
