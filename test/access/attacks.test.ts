// What a reader of some records tries in order to see others. Forged tokens: test/public/serve/tokens.
import { beforeAll, describe, expect, it } from 'vitest';
import { testDatabase } from '../setup/database.ts';
import { until } from '../setup/until.ts';
import { useStarted } from '../setup/use-started.ts';
import { createFixture, type Fixture } from './fixture.ts';
import type { EndpointModel, FieldModel, Layer } from './model.ts';
import { createOracle, type Oracle, type Reader } from './oracle.ts';
import { plainQuery } from './queries.ts';
import { createRandom } from './random.ts';
import { putRandom, type RecordKind } from './records.ts';
import { runFixture } from './run-cases.ts';
import { unlimited } from './scopes.ts';
import { startService } from './service.ts';

const database = useStarted(testDatabase);
const service = useStarted(() => startService(database, { settings: { anchorEvery: 5 } }));
let fixture: Fixture;
let oracle: Oracle;
let endpoint: EndpointModel;
let owner: FieldModel;
let list: string;

beforeAll(async () => {
  fixture = await createFixture(service, createRandom(3), { records: 60 });
  oracle = await createOracle(fixture);
  const [first] = fixture.versions[0]?.endpoints ?? [];
  if (first === undefined) throw new Error('no resource');
  endpoint = first;
  owner = getOwner(first);
  list = `v1/${first.name}`;
});

function getOwner({ fields }: EndpointModel): FieldModel {
  const found = fields.find(({ source }) => source === 'owner');
  if (found === undefined) throw new Error('no owner');
  return found;
}

const customers = (): readonly string[] => fixture.pools.customers.map(({ key }) => key);
const ofCustomers = (...keys: readonly string[]): Layer => ({
  ...unlimited,
  rows: {
    resources: {
      [endpoint.name]: {
        recordType: endpoint.recordType,
        conditions: [{ field: owner.name, source: 'owner', in: keys }],
      },
    },
    others: false,
  },
});
const createReader = async (layer: Layer): Promise<Reader> => ({
  access: { layers: [layer], unmasked: true },
  secret: (await fixture.key(layer, true)).secret,
});

type Page = { data: Record<string, string>[]; pagination: { total: number } };
const readPage = async (reader: Reader, query = ''): Promise<Page> => {
  const { status, text } = await oracle.get(reader, `${list}?pageSize=20${query}`);
  expect(status, text).toBe(200);
  return JSON.parse(text) as Page;
};
/** The customers of all records of the list. */
const readOwners = async (reader: Reader, query = ''): Promise<Set<string>> => {
  const { text } = await oracle.get(reader, `${list}?${query}`, { accept: 'application/x-ndjson' });
  return new Set(
    text
      .split('\n')
      .filter(Boolean)
      .map((line) => String((JSON.parse(line) as Record<string, string>)[owner.name])),
  );
};

/** A part of `npm test -- --project access`. */
it('random readers read what an unlimited one reads, filtered', async () => {
  await runFixture(fixture, { readers: 4, rounds: 2, queriesPerRound: 4 });
  await oracle.refresh();
});

describe('two scopes at one address', () => {
  it('share no cached body, plan, total or anchor, also at the same moment', async () => {
    const [a = '', b = ''] = customers();
    const readers = [await createReader(ofCustomers(a)), await createReader(ofCustomers(b))];
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) => readPage(readers[n % 2] as Reader, n % 4 < 2 ? '' : '&page=2')),
    );
    for (const [n, { data, pagination }] of answers.entries()) {
      expect(new Set(data.map((record) => record[owner.name]))).toEqual(
        data.length === 0 ? new Set() : new Set([n % 2 === 0 ? a : b]),
      );
      expect(pagination.total).toBe(answers[n % 2]?.pagination.total);
    }
  });

  it('exchange no positions in the change feed, except for the same reach', async () => {
    const [a = '', b = ''] = customers();
    const readNextToken = async (reader: Reader): Promise<string> =>
      (JSON.parse((await oracle.get(reader, `${list}/changes?limit=1`)).text) as { next: string }).next;
    const [ofA, ofB, sameAsA] = [
      await createReader(ofCustomers(a)),
      await createReader(ofCustomers(b)),
      await createReader(ofCustomers(a, a)),
    ];
    const tokens = {
      whole: await readNextToken(oracle.whole),
      a: await readNextToken(ofA),
      b: await readNextToken(ofB),
    };
    const readStatus = async (reader: Reader, since: string): Promise<number> =>
      (await oracle.get(reader, `${list}/changes?since=${since}`)).status;
    expect(
      await Promise.all([
        readStatus(ofA, tokens.b),
        readStatus(ofA, tokens.whole),
        readStatus(oracle.whole, tokens.a),
      ]),
    ).toEqual([410, 410, 410]);
    expect(await Promise.all([readStatus(ofA, tokens.a), readStatus(sameAsA, tokens.a)])).toEqual([200, 200]);
  });
});

describe('parameters', () => {
  it('add no records to the scope, however often they are repeated', async () => {
    const [a = '', b = '', c = ''] = customers();
    const reader = await createReader(ofCustomers(a, b));
    const filter = endpoint.filters.find(
      ({ field, operator }) => field === owner.name && operator === 'eq',
    )?.parameter;
    const queries = [
      '',
      ...(filter === undefined ? [] : [`${filter}=${a}&${filter}=${c}`, `${filter}=${c}`]),
    ];
    for (const query of queries)
      for (const seen of await readOwners(reader, query)) expect([a, b]).toContain(seen);
    const foreign = (
      await oracle.wholeRecords({ version: 'v1', endpoints: [] }, endpoint, plainQuery)
    ).filter((record) => record[owner.name] === c);
    const ids = foreign.slice(0, 5).map(({ id }) => `id=${id}`);
    expect((await readPage(reader, `&${ids.join('&')}`)).pagination.total).toBe(0);
  });
});

describe('a record that a sync moves to another customer', () => {
  it('is read with its values of one side of the border, and never by the wrong one', async () => {
    const [a = '', b = ''] = customers();
    const reader = await createReader(ofCustomers(a));
    let isOver = false;
    const seen: string[] = [];
    const watch = async (): Promise<void> => {
      while (!isOver) for (const one of await readOwners(reader)) seen.push(one);
    };
    const watching = [watch(), watch()];
    const moveTo = (customer: string) => (kind: RecordKind) => {
      for (const id of kind.erp.records.keys()) {
        putRandom(fixture.random, fixture.pools, kind, id, 0, []);
        kind.erp.shift(id, { owner: customer });
      }
    };
    for (const customer of [a, b, a]) await fixture.change(moveTo(customer));
    isOver = true;
    await Promise.all(watching);
    await fixture.change();
    await fixture.change();
    expect(new Set(seen)).toEqual(new Set([a]));
    await oracle.refresh();
  });
});

describe('a token', () => {
  it('reads no more than its key does, within a second after the key was limited', async () => {
    const [a = ''] = customers();
    const key = await fixture.key(unlimited, false);
    const token = {
      access: { layers: [], unmasked: false },
      secret: await fixture.token(key, ofCustomers(...customers()), false),
    };
    const isLimited = async (): Promise<boolean> => [...(await readOwners(token))].every((one) => one === a);
    expect(await isLimited()).toBe(false);
    await fixture.narrow(key, ofCustomers(a), false);
    await until(async () => ((await isLimited()) ? true : undefined), 2_000);
  });

  it('opens nothing of the management interface, as an API key or as an OAuth token', async () => {
    const token = await fixture.token(await fixture.key(unlimited, false), unlimited, false);
    for (const path of ['/whoami', '/api-keys', '/views', '/api-schema', '/syncs'])
      for (const secret of [token, token.slice('pst_'.length)]) {
        const { status } = await service.call({
          path: `/api/platform/v1${path}`,
          headers: { authorization: `Bearer ${secret}` },
        });
        expect([path, status]).toEqual([path, 401]);
      }
  });
});

describe('a limited key', () => {
  it('reads records by the public interface and /mcp alone', async () => {
    const { secret } = await createReader(ofCustomers(customers()[0] ?? ''));
    const headers = { authorization: `Bearer ${secret}` };
    const readStatus = async (path: string): Promise<number> =>
      (await service.call({ path: `/api/platform/v1${path}`, headers })).status;
    const id = crypto.randomUUID();
    const paths = [
      '/views',
      `/views/${id}/records`,
      '/api-keys',
      '/sync-configs',
      `/sync-runs/${id}/rejections`,
      '/api-schema',
      '/subscriptions',
    ];
    for (const path of paths)
      expect([path, [403, 404].includes(await readStatus(path))]).toEqual([path, true]);
    expect(await readStatus('/whoami')).toBe(200);
  });
});
