// The stored list of record types, and which of them a run describes again. The ERP has record types that its
// connector does not describe unless it is asked for them by name.
import { describe, expect, it } from 'vitest';
import type { Connector, RecordTypeMetadata } from '../../src/connectors/connector.ts';
import type { RecordTypeHead } from '../../src/connectors/discovery.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { fetchAndStoreDescriptions } from '../../src/sync/account/connection.ts';
import {
  findDescription,
  findRecordType,
  listHeads,
  listReferenceFields,
  readMetadataStatus,
} from '../../src/sync/account/record-types.store.ts';
import { listAccount } from '../setup/erp-account.ts';
import { addConfig, erpError, field, memoryErp, noSignal, type SyncFixture, syncFixture } from './fixture.ts';
import { useSync } from './site.ts';

const site = useSync();

const head = (name: string, more: Partial<RecordTypeHead> = {}): RecordTypeHead => ({
  name,
  label: `Label of ${name}`,
  family: 'list',
  custom: false,
  table: null,
  source: 'catalogue',
  syncable: null,
  reason: null,
  ...more,
});
const known: RecordTypeMetadata = {
  name: 'thing',
  label: 'Thing',
  table: 'thing',
  source: 'probe',
  idType: 'integer',
  openWhen: null,
  modifiedField: null,
  linesModifiedField: null,
  shownAs: { number: null, name: 'name', date: null, amount: null },
  fields: [field('id', 'integer'), field('name')],
};
const other = (name: string, more: Partial<RecordTypeMetadata> = {}): RecordTypeMetadata => ({
  ...known,
  name,
  label: name,
  ...more,
});

type Account = {
  heads: RecordTypeHead[];
  types: RecordTypeMetadata[];
  readonly asked: (readonly string[] | null)[];
  connector: Connector;
};
/** An account whose connector knows the record type `thing` by name. */
function account(base: Connector, names: readonly string[]): Account {
  const made: Account = {
    heads: ['thing', ...names].map((name) => head(name)),
    types: [known, ...names.map((name) => other(name))],
    asked: [],
    connector: {
      ...base,
      discover: async () => made.heads,
      account: async () => ({
        hasSubsidiaries: true,
        hasCurrencies: null,
        baseCurrency: 'GBP',
        accountingBooks: null,
        utcOffsetMinutes: -480,
      }),
      metadata: async (_signal, only) => {
        made.asked.push(only ?? null);
        return made.types.filter(({ name }) => (only ?? ['thing']).includes(name));
      },
    },
  };
  return made;
}
const organization = async (): Promise<SyncFixture> => syncFixture(site.ctx, memoryErp());
const refresh = (fixture: SyncFixture, { connector }: Account) => listAccount(fixture.tenant, connector);
const readNames = async (fixture: SyncFixture) =>
  (await listHeads(fixture.tenant, null, {}, { page: 1, pageSize: 100 })).rows.map(({ name }) => name);
const age = (fixture: SyncFixture, name: string) =>
  inTransaction(fixture.tenant, (tx) =>
    tx('erp_record_types').where({ name }).update({ described_at: '2020-01-01T00:00:00Z' }),
  );

describe('the list of record types', () => {
  it('has what is known by name first, and the rest as the account lists it', async () => {
    const fixture = await organization();
    const erp = account(fixture.erp.connector, ['zebra', 'apple']);
    erp.heads.unshift(head('first', { syncable: false, reason: 'Its records are in item' }));
    await refresh(fixture, erp);
    expect(await readNames(fixture)).toEqual(['thing', 'first', 'zebra', 'apple']);
    expect(erp.asked).toEqual([null]);
    const { rows } = await listHeads(fixture.tenant, null, {}, { page: 1, pageSize: 2 });
    expect(rows).toEqual([
      {
        ...head('thing', { label: 'Thing', table: 'thing', source: 'probe', syncable: true }),
        ...{ fieldCount: 2, syncableFieldCount: 2 },
      },
      {
        ...head('first', { syncable: false, reason: 'Its records are in item' }),
        fieldCount: null,
        syncableFieldCount: null,
      },
    ]);
    expect(await readMetadataStatus(fixture.tenant, null)).toMatchObject({
      lastError: null,
      account: { baseCurrency: 'GBP', utcOffsetMinutes: -480 },
    });
  });

  it('can be searched for a sign that SQL gives a meaning', async () => {
    const fixture = await organization();
    const erp = account(fixture.erp.connector, ['zebra']);
    erp.heads.push(head('customrecord_50%'));
    await refresh(fixture, erp);
    const { rows } = await listHeads(fixture.tenant, null, { q: '%' }, { page: 1, pageSize: 9 });
    expect(rows.map(({ name }) => name)).toEqual(['customrecord_50%']);
  });

  it('keeps descriptions, and marks them as outdated, when the account is listed again', async () => {
    const fixture = await organization();
    const erp = account(fixture.erp.connector, ['zebra', 'apple']);
    await refresh(fixture, erp);
    await fetchAndStoreDescriptions(fixture.tenant, erp.connector, ['zebra'], noSignal);
    expect(await findRecordType(fixture.tenant, 'zebra')).toMatchObject({
      head: { syncable: true, fieldCount: 2 },
      isOutdated: false,
    });
    await refresh(fixture, erp);
    expect(await findRecordType(fixture.tenant, 'zebra')).toMatchObject({
      head: { syncable: true, fieldCount: 2 },
      isOutdated: true,
    });
    expect(await findRecordType(fixture.tenant, 'thing')).toMatchObject({ isOutdated: false });
    expect(await readNames(fixture)).toEqual(['thing', 'zebra', 'apple']);
  });

  it('loses what the account no longer has, except what a sync configuration reads', async () => {
    const fixture = await organization();
    const erp = account(fixture.erp.connector, ['zebra', 'apple']);
    await refresh(fixture, erp);
    await fetchAndStoreDescriptions(fixture.tenant, erp.connector, ['zebra', 'apple'], noSignal);
    await addConfig(site.ctx, fixture.organizationId, { recordType: 'apple' });
    erp.heads = [head('thing'), head('new')];
    await refresh(fixture, erp);
    expect((await readNames(fixture)).toSorted()).toEqual(['apple', 'new', 'thing']);
    erp.types = [known];
    expect(await fetchAndStoreDescriptions(fixture.tenant, erp.connector, ['apple'], noSignal)).toEqual([]);
    expect((await readNames(fixture)).toSorted()).toEqual(['new', 'thing']);
  });

  it('is empty where the account cannot be listed, and keeps the error next to the last list', async () => {
    const fixture = await organization();
    const erp = account(fixture.erp.connector, ['zebra']);
    const broken = { ...erp.connector, discover: () => Promise.reject(erpError('down', 'SERVICE_DOWN')) };
    await expect(listAccount(fixture.tenant, broken)).rejects.toThrow('SERVICE_DOWN');
    expect(await readMetadataStatus(fixture.tenant, null)).toBeUndefined();
    await refresh(fixture, erp);
    await expect(listAccount(fixture.tenant, broken)).rejects.toThrow('SERVICE_DOWN');
    expect(await readMetadataStatus(fixture.tenant, null)).toMatchObject({
      lastError: expect.stringContaining('SERVICE_DOWN'),
    });
    expect(await readNames(fixture)).toEqual(['thing', 'zebra']);
  });

  it('replaces the list as a whole when two processes refresh and describe at the same time', async () => {
    const fixture = await organization();
    const erp = account(
      fixture.erp.connector,
      Array.from({ length: 50 }, (_, n) => `type_${n}`),
    );
    const selectNames = (from: number) => erp.heads.slice(1 + from, 11 + from).map(({ name }) => name);
    await Promise.all([
      ...Array.from({ length: 4 }, () => refresh(fixture, erp)),
      ...[0, 5, 10].map((from) =>
        fetchAndStoreDescriptions(fixture.tenant, erp.connector, selectNames(from).toReversed(), noSignal),
      ),
    ]);
    expect((await readNames(fixture)).toSorted()).toEqual(erp.heads.map(({ name }) => name).toSorted());
    for (const name of selectNames(8))
      expect(await findDescription(fixture.tenant, name)).toMatchObject({ name });
  });
});

it('fields that name records of a type are found in the headers and lines of all described record types', async () => {
  const fixture = await organization();
  const to = (name: string, target: string) => ({ ...field(name, 'reference'), target });
  const erp = account(fixture.erp.connector, ['order', 'note']);
  const lines = field('lines', 'lines', [to('thing', 'thing'), to('apple', 'apple'), field('memo')]);
  erp.types = [
    known,
    other('order', { fields: [to('about', 'thing'), lines] }),
    other('note', { fields: [to('about', 'apple')] }),
  ];
  await refresh(fixture, erp);
  expect(await listReferenceFields(fixture.tenant, 'thing')).toEqual([]);
  await fetchAndStoreDescriptions(fixture.tenant, erp.connector, ['order', 'note'], noSignal);
  expect(await listReferenceFields(fixture.tenant, 'thing')).toEqual([
    { recordType: 'order', field: 'about', lineField: null },
    { recordType: 'order', field: 'lines', lineField: 'thing' },
  ]);
});

describe('a run', () => {
  /** An organization that syncs `thing`, from an account that also has other record types. */
  async function synced(): Promise<{ fixture: SyncFixture; erp: Account; run(): Promise<string> }> {
    const memory = memoryErp();
    const erp = account(memory.connector, ['zebra']);
    const fixture = await syncFixture(site.ctx, Object.assign(memory, { connector: erp.connector }));
    memory.put(1);
    erp.types = [{ ...known, fields: memory.fields }, other('zebra')];
    return { fixture, erp, run: async () => (await fixture.sync()).status };
  }

  it('describes its own record type alone when it was never described, and not again', async () => {
    const { fixture, erp, run } = await synced();
    expect(await run()).toBe('succeeded');
    expect(await run()).toBe('succeeded');
    expect(erp.asked).toEqual([['thing']]);
    expect(await readMetadataStatus(fixture.tenant, null)).toBeUndefined();
  });

  it('describes its own record type alone when the description is old, or older than the list', async () => {
    const { fixture, erp, run } = await synced();
    await refresh(fixture, erp);
    await fetchAndStoreDescriptions(fixture.tenant, erp.connector, ['zebra'], noSignal);
    erp.asked.length = 0;
    expect([await run(), erp.asked]).toEqual(['succeeded', []]);
    await age(fixture, 'thing');
    await age(fixture, 'zebra');
    expect([await run(), erp.asked]).toEqual(['succeeded', [['thing']]]);
    expect([await run(), erp.asked]).toEqual(['succeeded', [['thing']]]);
    await inTransaction(fixture.tenant, (tx) =>
      tx('erp_connections').update({ listed_at: tx.raw("clock_timestamp() + interval '1 second'") }),
    );
    expect([await run(), erp.asked]).toEqual(['succeeded', [['thing'], ['thing']]]);
    expect((await findRecordType(fixture.tenant, 'zebra'))?.describedAt).toEqual(
      new Date('2020-01-01T00:00:00Z'),
    );
  });

  it('uses the stored description while the ERP refuses to describe it', async () => {
    const { fixture, erp, run } = await synced();
    expect(await run()).toBe('succeeded');
    await age(fixture, 'thing');
    const { metadata } = erp.connector;
    Object.assign(erp.connector, { metadata: () => Promise.reject(erpError('query', 'INVALID_PARAMETER')) });
    expect(await run()).toBe('succeeded');
    Object.assign(erp.connector, { metadata });
    expect([await run(), erp.asked]).toEqual(['succeeded', [['thing'], ['thing']]]);
  });

  it('fails with a name when the account no longer has the record type', async () => {
    const { fixture, erp } = await synced();
    await fixture.sync();
    await age(fixture, 'thing');
    erp.types = [];
    await fixture.expectFailure('full', 'RECORD_TYPE_UNAVAILABLE');
  });
});
