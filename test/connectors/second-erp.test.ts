// Another ERP is one folder: the connector of docs/adding-an-erp.md, which the service does not know, goes
// through real runs, from its stored connection to published rows.
import { globSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connectorKinds } from '../../src/connectors/kinds.ts';
import {
  Connection,
  ConnectionInput,
  ConnectionUpdate,
} from '../../src/platform/connections/connections.schemas.ts';
import { assertPaymentWriter } from '../../src/platform/pay/write-back/write-back.service.ts';
import { createTenantConnector } from '../../src/sync/account/connection.ts';
import type { RunRow } from '../../src/sync/queue/runs.store.ts';
import { workOnRun } from '../../src/sync/run/worker.ts';
import { enterConnection } from '../setup/erp-account.ts';
import { listenLocally } from '../setup/sockets.ts';
import { memoryErp, noSignal, type SyncFixture, syncFixture } from '../sync/fixture.ts';
import { useSync } from '../sync/site.ts';
import { CsvSecrets, CsvSettings, csvErp } from './csv/connector.ts';
import { keepAliveTimeout } from './netsuite/wire.ts';

const site = useSync({ pageSize: 10 });
const kinds = {
  ...connectorKinds,
  csv: ((ctx, settings, secrets) =>
    csvErp.create(
      ctx,
      CsvSettings.parse(settings),
      CsvSecrets.parse(secrets),
    )) satisfies (typeof connectorKinds)[string],
};

type Order = { id: string; changed: string; customer: string; total: string; paid: string };
const orders = new Map<string, Order>();
let server: Server;
let url: string;
let fixture: SyncFixture;
const token = 'open-sesame';

const put = (id: string, more: Partial<Order> = {}) =>
  orders.set(id, {
    id,
    changed: '2026-05-01T09:00:00Z',
    customer: `C, of "${id}"`,
    total: '10.50',
    paid: 'no',
    ...more,
  });
const quoted = (cell: string): string => `"${cell.replaceAll('"', '""')}"`;

const compare = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

function findOrders(query: URLSearchParams): Order[] {
  const ids: unknown = JSON.parse(query.get('ids') ?? 'null');
  const [after, upTo, since] = ['after', 'upto', 'since'].map((name) => query.get(name) ?? undefined);
  return [...orders.values()]
    .toSorted((a, b) => compare(a.id, b.id))
    .filter(({ id }) => after === undefined || compare(id, after) > 0)
    .filter(({ id }) => upTo === undefined || compare(id, upTo) <= 0)
    .filter(({ id }) => !Array.isArray(ids) || ids.includes(id))
    .filter(({ changed }) => since === undefined || Date.parse(changed) >= Date.parse(since));
}

function serveOrders(query: URLSearchParams): string {
  const rows = findOrders(query)
    .slice(0, Number(query.get('limit')))
    .map((order) => Object.values(order).map(quoted).join());
  return ['id,changed,customer,total,paid', ...rows].join('\n');
}

beforeAll(async () => {
  server = createServer({ keepAliveTimeout }, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://erp');
    if (request.headers.authorization !== `Bearer ${token}`) response.writeHead(401).end();
    else if (pathname === '/clock') response.end('2026-05-01T12:00:00Z');
    else if (pathname === '/today') response.end('2026-05-01');
    else if (pathname === '/count') response.end(String(findOrders(searchParams).length));
    else response.end(serveOrders(searchParams));
  });
  url = `http://127.0.0.1:${await listenLocally(server)}`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

const connect = (token: string) =>
  enterConnection(fixture, 'shop', { kind: 'csv', settings: { url }, secrets: { token } });

beforeEach(async () => {
  orders.clear();
  for (let n = 1; n <= 25; n += 1) put(`A-${n}`);
  for (const id of ['a-1', 'Ä-1', 'ﬀ', '😀']) put(id); // UTF-16 and bytes order the last two differently
  fixture = await syncFixture(site.ctx, memoryErp(), { recordType: 'order' });
  await connect(token);
});

async function sync(mode: 'incremental' | 'full' = 'incremental'): Promise<RunRow> {
  const id = await fixture.queue(mode);
  await workOnRun(site.ctx, await fixture.claim(), noSignal, (tenant) =>
    createTenantConnector(tenant, null, kinds),
  );
  return fixture.row(id);
}
const served = async () => new Map((await fixture.rows()).map((row) => [String(row['id']), row]));

describe('another ERP', () => {
  it('is loaded page by page from its stored connection', async () => {
    expect(await sync()).toMatchObject({
      status: 'succeeded',
      mode: 'full',
      counts: { inserted: 29, rejected: 0 },
      progress: { pages: 3 },
    });
    expect([...(await served()).keys()].toSorted()).toEqual([...orders.keys()].toSorted());
    expect((await served()).get('A-7')).toMatchObject({
      f_customer: 'C, of "A-7"',
      f_total: '10.50',
      f_paid: false,
    });
  });

  it('is synced incrementally: edits, new records, deletions that it does not list, and a malformed record', async () => {
    await sync();
    put('A-7', { total: '11.00', paid: 'yes', changed: '2026-05-01T11:58:00Z' });
    put('b', { changed: '2026-05-01T11:59:00Z' });
    put('A-8', { total: 'a lot', changed: '2026-05-01T11:59:00Z' });
    orders.delete('ﬀ');
    const run = await sync();
    expect(run).toMatchObject({
      status: 'partial',
      mode: 'incremental',
      generation: '2',
      counts: { inserted: 1, updated: 1, deleted: 1, rejected: 1 },
    });
    const rows = await served();
    expect(rows.get('A-7')).toMatchObject({ f_total: '11.00', f_paid: true });
    expect(rows.get('A-8')).toMatchObject({ f_total: '10.50' });
    expect([rows.has('b'), rows.has('ﬀ'), rows.size]).toEqual([true, false, 29]);
    expect(await fixture.query(`select id, message from ${fixture.schema}.rejections`)).toEqual([
      { id: 'A-8', message: 'total is not a number' },
    ]);
    put('A-8', { total: '12', changed: '2026-05-01T11:59:30Z' });
    expect(await sync()).toMatchObject({ status: 'succeeded', counts: { updated: 1, rejected: 0 } });
  });

  it('counts ranges of ids', async () => {
    const connector = await createTenantConnector(fixture.tenant, null, kinds);
    const [order] = await connector.metadata(noSignal);
    if (order === undefined) throw new Error('no record type');
    const ids = [...orders.keys()].sort();
    const range = { afterId: ids[4] ?? null, upTo: ids[9] ?? null };
    expect(await connector.count(order, noSignal, range)).toBe(5);
  });

  it('refuses a wrong token, which pauses the configuration and shows the fix', async () => {
    await connect('guessed');
    const connector = await createTenantConnector(fixture.tenant, null, kinds);
    expect(await connector.test(noSignal)).toMatchObject({
      ok: false,
      problems: [{ code: 'TOKEN_REFUSED', fix: 'Enter a new token.' }],
    });
    expect(await sync()).toMatchObject({ status: 'failed', attempt: 1, error: { code: 'TOKEN_REFUSED' } });
    expect(await fixture.pausedReason()).toMatchObject({ code: 'TOKEN_REFUSED', fix: 'Enter a new token.' });
  });
});

it('payments cannot be written back into an ERP that accepts none', async () => {
  const open = (tenant: typeof fixture.tenant) => createTenantConnector(tenant, null, kinds);
  await expect(assertPaymentWriter(fixture.tenant, null, open)).rejects.toMatchObject({
    status: 422,
    details: [{ path: 'writeBack', code: 'not_supported' }],
  });
});

describe('the connector contract', () => {
  const text = ['connector', 'payment-writer']
    .map((name) => readFileSync(`src/connectors/${name}.ts`, 'utf8'))
    .join('\n');

  it('has no NetSuite term in it', () => {
    const words =
      /netsuite|suite(?:ql|talk|script)|oracle|builtin|lastmodifieddate|invalid_login|subsidiary|\btba\b|\bm2m\b|foreigntotal|mainline/i;
    expect(words.exec(text)?.[0]).toBeUndefined();
    expect(words.test(readFileSync('src/connectors/netsuite/types/queries.ts', 'utf8'))).toBe(true); // the terms are NetSuite's own
  });

  it('is all that syncs, the warehouse and the public interface know of an ERP', () => {
    const kinds = /netsuite|suite(?:ql|talk)|odata|business ?central|dynamics|acumatica|\bsap\b|tryton/i;
    const files = ['sync', 'warehouse', 'public'].flatMap((part) =>
      globSync(`src/${part}/**/*.ts`).filter((file) => kinds.test(readFileSync(file, 'utf8'))),
    );
    expect(files).toEqual([]);
    expect(Object.keys(connectorKinds).filter((kind) => !kinds.test(kind))).toEqual([]); // add new kinds to the pattern
  });

  it.each(Object.entries({ ConnectionInput, ConnectionUpdate, Connection }))(
    'has every kind in %s of the management interface',
    (_name, union) => {
      const kinds = union.options.map((option) => option.shape.kind.value);
      expect(kinds.toSorted()).toEqual(Object.keys(connectorKinds).sort());
    },
  );

  it('is documented with the code that runs here, word for word and method by method', () => {
    const page = readFileSync('docs/adding-an-erp.md', 'utf8');
    const code = readFileSync('test/connectors/csv/connector.ts', 'utf8');
    const blocks = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block = '']) => block);
    expect(blocks.length).toBeGreaterThan(4);
    expect(blocks.filter((block) => !code.includes(block))).toEqual([]);
    const [, members = ''] = /export type Connector = \{([\s\S]*?)\n\};/.exec(text) ?? [];
    const names = [...members.matchAll(/^ {2}(\w+)\(/gm)].map(([, name = '']) => name);
    expect(names).toHaveLength(9);
    const [payments, lines] = ['PaymentWriter', 'LineReader'].map((type) => {
      const [, optional = ''] = new RegExp(`export type ${type} = \\{([\\s\\S]*?)\\n\\};`).exec(text) ?? [];
      return [...optional.matchAll(/^ {2}(\w+)\(/gm)].map(([, name = '']) => name);
    });
    expect([payments?.length, lines?.length]).toEqual([7, 2]);
    expect(
      ['payments', 'lines', ...names, ...(payments ?? []), ...(lines ?? [])].filter(
        (name) => !page.includes(`\`${name}\``),
      ),
    ).toEqual([]);
  });
});
