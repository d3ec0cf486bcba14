// The client against a listening service and a gateway that fails: retries, time limits, conditional requests,
// walks over data that change meanwhile, and the changes of a table that is loaded again.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { Express } from 'express';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { pull } from '../../packages/client/src/cli/pull.ts';
import {
  ApiError,
  type ChangeStore,
  type ClientOptions,
  ConnectionError,
  connect,
  createClient,
  InterruptedError,
  type UntypedResource,
} from '../../packages/client/src/index.ts';
import { createTransport } from '../../packages/client/src/transport.ts';
import { createApp } from '../../src/app.ts';
import { listen, type Server } from '../contract/http.ts';
import { bumpGeneration, invoicesEndpoint, loadInvoices, openOrganization } from '../public/fixture.ts';
import { testDatabase } from '../setup/database.ts';
import { notRun } from '../setup/not-run.ts';
import { listenLocally } from '../setup/sockets.ts';
import { until } from '../setup/until.ts';
import { useStarted } from '../setup/use-started.ts';
import { createClientProject, findPython } from './project.ts';

const database = useStarted(testDatabase);
let app: Express;
const server = useStarted(() => {
  app = createApp(database.ctx);
  return listen(app);
});

const rowsOf = (count: number, first = 1) =>
  Array.from({ length: count }, (_, index) => ({
    id: first + index,
    tranid: `INV-${first + index}`,
    status: index % 2 === 0 ? 'open' : 'paid',
    total: String(index),
  }));
const ids = (count: number, first = 1) => rowsOf(count, first).map(({ id }) => String(id));

/** Answers instead of the service while it returns true. */
type Interfere = (path: string, res: ServerResponse) => boolean;

/** A gateway in front of the service, which records what passes it. */
async function openGateway() {
  const seen: { readonly path: string; readonly status: number }[] = [];
  let interfere: Interfere = () => false;
  let change = (headers: IncomingHttpHeaders) => headers;
  const gateway = createServer(async (req, res) => {
    const path = req.url ?? '';
    res.on('close', () => seen.push({ path, status: res.statusCode }));
    if (interfere(path, res)) return;
    const answer: Awaited<ReturnType<Server['send']>> = await server.send({
      method: 'GET',
      path,
      headers: Object.fromEntries(
        Object.entries(req.headers).filter(
          (entry): entry is [string, string] =>
            typeof entry[1] === 'string' && !['host', 'connection', 'accept-encoding'].includes(entry[0]),
        ),
      ),
    });
    res.writeHead(answer.status, change(answer.headers)).end(answer.text);
  });
  const port = await listenLocally(gateway);
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    interfere: (next: Interfere) => {
      interfere = next;
    },
    /** Changes the headers of what the service answers. */
    change: (next: (headers: IncomingHttpHeaders) => IncomingHttpHeaders) => {
      change = next;
    },
    stop: () => gateway.close().closeAllConnections(),
  };
}

let gateway: Awaited<ReturnType<typeof openGateway>>;
let organization: Awaited<ReturnType<typeof openOrganization>>;
let options: ClientOptions;

beforeEach(async () => {
  gateway = await openGateway();
  organization = await openOrganization(database.ctx, app, { rows: rowsOf(30) });
  const { secret } = await organization.key();
  options = { baseUrl: gateway.url, key: secret };
});
afterEach(() => gateway.stop());

async function invoices(more: Partial<ClientOptions> = {}) {
  const { invoices: found } = await connect({ ...options, ...more });
  if (found === undefined) throw new Error('no invoices');
  return found;
}

const idsOf = async (records: AsyncIterable<{ readonly id: string }>) => {
  const found: string[] = [];
  for await (const { id } of records) found.push(id);
  return found;
};

/** What a sync does that deletes one record and creates another. */
async function syncOnce() {
  await organization.sql("update $t set generation = 2, f_status = 'void' where id = 30");
  await organization.sql(
    "insert into $t (id, generation, content_hash, f_tranid) values (31, 2, '\\x00', 'INV-31')",
  );
  await bumpGeneration(database.ctx, organization.organizationId, 31);
  await isVisible('2');
}

/** A process trusts the generation that it knows for a second. */
const isVisible = (generation: string) =>
  until(async () => (await organization.get('/v1/invoices')).headers['x-data-generation'] === generation);

it('finds out the tenant and the version with one request each, and asks for nothing twice', async () => {
  const resource = await invoices();
  await resource.get('1');
  await resource.get('1');
  expect(gateway.seen).toEqual([
    { path: '/api/platform/v1/whoami', status: 200 },
    { path: '/api/public', status: 200 },
    { path: '/api/public/v1/invoices/1', status: 200 },
    { path: '/api/public/v1/invoices/1', status: 304 },
  ]);
});

it('needs the tenant with a record token, and takes one', async () => {
  await expect(connect({ ...options, key: 'pst_token' })).rejects.toThrow('`tenant`');
  const tenant = organization.organizationId;
  const resource = await invoices({ key: async () => String(options.key), tenant });
  expect((await resource.get('1'))['number']).toBe('INV-1');
  expect(gateway.seen.map(({ path }) => path)).not.toContain('/api/platform/v1/whoami');
});

it('tries again after 429, 502, 503 and 504, as late as Retry-After says', async () => {
  const resource = await invoices();
  const startedMs = performance.now();
  const failures = [503, 502, 504, 429];
  gateway.interfere((path, res) => {
    const status = path.includes('/v1/invoices') ? failures.pop() : undefined;
    if (status === undefined) return false;
    res.writeHead(status, status === 429 ? { 'retry-after': '1' } : {}).end('<html>busy</html>');
    return true;
  });
  expect((await resource.get('1')).id).toBe('1');
  expect(failures).toEqual([]);
  expect(performance.now() - startedMs).toBeGreaterThan(1_000);
});

it('gives up with the error of the last attempt, and at once for errors that stay', async () => {
  const resource = await invoices({ maxRetries: 1 });
  gateway.interfere((_path, res) => res.writeHead(503).end('no') !== undefined);
  await expect(resource.get('1')).rejects.toMatchObject({ name: 'ApiError', status: 503, code: 'UNKNOWN' });
  gateway.interfere((_path, res) => res.destroy() !== undefined);
  await expect(resource.get('1')).rejects.toBeInstanceOf(ConnectionError);
  gateway.interfere((_path, res) => res.writeHead(503, { 'retry-after': '600' }).end() !== undefined);
  await expect(resource.get('1')).rejects.toBeInstanceOf(ApiError);
  gateway.interfere(() => false);
  const before = gateway.seen.length;
  const refused = resource.list({ statuss: 'open' }).page();
  await expect(refused).rejects.toMatchObject({
    ...{ status: 400, code: 'BAD_REQUEST', requestId: expect.any(String) },
    details: [{ path: 'statuss', code: 'unknown_parameter', message: expect.stringContaining('"status"') }],
  });
  await expect(resource.get('99')).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' });
  expect(gateway.seen.length).toBe(before + 2);
});

it('waits a minute where the service says so, and no longer than the signal', async () => {
  const resource = await invoices();
  const controller = new AbortController();
  gateway.interfere((_path, res) => {
    setTimeout(() => controller.abort(new Error('enough')), 100);
    return res.writeHead(503, { 'retry-after': '60' }).end() !== undefined;
  });
  await expect(resource.get('1', {}, { signal: controller.signal })).rejects.toThrow('enough');
  const unknownTenant = createClient<{ invoices: UntypedResource }>(options, 'v1', {
    invoices: { name: 'invoices' },
  });
  const signal = AbortSignal.timeout(100);
  await expect(unknownTenant.invoices.get('1', {}, { signal })).rejects.toMatchObject({
    name: 'TimeoutError',
  });
});

it('sends the key nowhere else, and shows it in no error', async () => {
  const resource = await invoices();
  gateway.interfere((_path, res) => res.writeHead(302, { location: server.url }).end() !== undefined);
  await expect(resource.get('1')).rejects.toThrow('redirects');
  gateway.interfere(() => false);
  expect((await (await invoices({ key: ` ${options.key}\n` })).get('1')).id).toBe('1');
  for (const key of [`${options.key}\nx`, '', 'psk_ü'])
    await expect(connect({ ...options, key })).rejects.toThrow(/^(The key is empty|With a record token)/);
  await expect(connect({ ...options, baseUrl: 'http://ann:secret@127.0.0.1' })).rejects.toThrow(
    /^(?!.*secret)/,
  );
});

it('ends an attempt that stays silent, and all of them with the signal', async () => {
  const resource = await invoices({ timeoutMs: 200, maxRetries: 1 });
  gateway.interfere((_path, res) => res.write(' ') !== undefined);
  await expect(resource.get('1')).rejects.toThrow('no answer within 200 ms');
  const controller = new AbortController();
  gateway.interfere(() => {
    controller.abort(new Error('enough'));
    return true;
  });
  await expect(resource.get('1', {}, { signal: controller.signal })).rejects.toThrow('enough');
});

it.each([
  ['undefined', { status: undefined }],
  ['null', { status: null }],
  ['an empty list', { status: [] }],
  ['not a number', { total_gt: Number.NaN }],
])(
  'refuses a filter that is %s, because leaving it out would widen the result',
  async (_name, parameters) => {
    const resource = await invoices();
    await expect(resource.list(parameters as never).page()).rejects.toBeInstanceOf(TypeError);
  },
);

it.each(['', '.', '..', 'changes'])('refuses the id "%s", whose address is another', async (id) => {
  await expect((await invoices()).get(id)).rejects.toBeInstanceOf(TypeError);
});

it('gives each record once when a sync commits in the middle of a walk', async () => {
  const found: string[] = [];
  for await (const { id } of (await invoices()).list({ pageSize: 10, sort: 'number' })) {
    found.push(id);
    if (found.length === 15) await syncOnce();
  }
  expect(found.toSorted((one, other) => Number(one) - Number(other))).toEqual(ids(31));
});

it('makes pages smaller when records are too large for one', async () => {
  const resource = await invoices();
  let refused = 0;
  gateway.interfere((path, res) => {
    const size = Number(new URL(path, gateway.url).searchParams.get('pageSize'));
    if (size > 0 ? size <= 12 : !path.includes('status=')) return false;
    refused += 1;
    const details = [{ path: 'pageSize', code: 'page_too_large', message: 'too large' }];
    res.writeHead(400).end(JSON.stringify({ error: { code: 'BAD_REQUEST', message: 'too large', details } }));
    return true;
  });
  const list = resource.list({ status: ['open', 'paid'] });
  expect(await idsOf(list)).toEqual(ids(30));
  expect(refused).toBe(1);
});

it('continues an export behind what it gave, and refuses to when the records have changed', async () => {
  const resource = await invoices();
  const full = await idsOf(resource.export({ sort: 'number' }));
  const cutAfter = (bytes: number): Interfere => {
    let isCut = false;
    return (path, res) => {
      if (isCut || !path.startsWith('/api/public/v1/invoices')) return false;
      isCut = true;
      void server.send({ method: 'GET', path, headers: headersOf(res) }).then((answer) => {
        res.writeHead(200, answer.headers);
        res.write(answer.text.slice(0, bytes), () => res.destroy());
      });
      return true;
    };
  };
  const headersOf = (res: ServerResponse) => ({
    authorization: String(res.req.headers['authorization']),
    'x-tenant-id': String(res.req.headers['x-tenant-id']),
    accept: 'application/x-ndjson',
  });
  gateway.interfere(cutAfter(1_000));
  expect(await idsOf(resource.export({ sort: 'number' }))).toEqual(full);
  gateway.interfere(cutAfter(1_000));
  const cut = (async () => {
    let given = 0;
    for await (const _ of resource.export({ sort: 'number' })) if (++given === 1) await syncOnce();
  })();
  await expect(cut).rejects.toBeInstanceOf(InterruptedError);
});

it('says that a list changes faster than it can be read', async () => {
  const resource = await invoices();
  let generation = 1;
  gateway.change((headers) => ({ ...headers, 'x-data-generation': String((generation += 1)) }));
  await expect(idsOf(resource.list({ pageSize: 10 }))).rejects.toBeInstanceOf(InterruptedError);
});

it('reads exports behind a proxy that removes headers', async () => {
  const resource = await invoices();
  gateway.change(({ etag: _etag, 'x-total-count': _count, ...headers }) => headers);
  expect(await idsOf(resource.export())).toEqual(ids(30));
});

it('keeps its place in pages of an endpoint with a maximum of its own', async () => {
  const [endpoint] = [{ ...invoicesEndpoint, maxPageSize: 10 }];
  await organization.publish({ version: 'v2', endpoints: [endpoint] });
  const resource = await invoices();
  gateway.interfere((path, res) => {
    const { searchParams } = new URL(path, gateway.url);
    if (Number(searchParams.get('page')) < 2 || Number(searchParams.get('pageSize')) <= 5) return false;
    const details = [{ path: 'pageSize', code: 'page_too_large', message: 'too large' }];
    res.writeHead(400).end(JSON.stringify({ error: { code: 'BAD_REQUEST', message: 'too large', details } }));
    return true;
  });
  expect(await idsOf(resource.list())).toEqual(ids(30));
});

/** A copy that a program keeps by the recipe, and where it stored its position. */
function createCopy() {
  const records = new Map<string, unknown>();
  let position: string | undefined;
  const store: ChangeStore = {
    load: async () => position,
    save: async (next) => {
      position = next;
    },
  };
  return { records, store, lose: () => (position = undefined) };
}

async function follow(copy: ReturnType<typeof createCopy>, stopAfter = Number.POSITIVE_INFINITY) {
  let count = 0;
  for await (const change of (await invoices()).changes({ store: copy.store })) {
    if (change.op === 'reset') copy.records.clear();
    else if (change.op === 'delete') copy.records.delete(change.id);
    else copy.records.set(change.id, change.record);
    count += 1;
    if (count === stopAfter) break;
  }
  return count;
}

const readList = async () => {
  const found = new Map<string, unknown>();
  for await (const record of (await invoices()).list()) found.set(record.id, record);
  return found;
};

it('keeps a copy that equals the list: after a stop, a sync, and a table that was loaded again', async () => {
  const copy = createCopy();
  expect(await follow(copy, 7)).toBe(7);
  expect(await follow(copy)).toBe(31);
  expect(copy.records).toEqual(await readList());
  expect(await follow(copy)).toBe(0);
  await syncOnce();
  expect(await follow(copy)).toBe(2);
  expect(copy.records).toEqual(await readList());
  await loadInvoices(database.ctx, organization.organizationId, rowsOf(20, 12));
  await isVisible('3');
  expect(await follow(copy, 3)).toBe(3);
  expect(await follow(copy)).toBe(21);
  expect([...copy.records.keys()]).toEqual(ids(20, 12));
  expect(copy.records).toEqual(await readList());
  copy.lose();
  expect(await follow(copy)).toBe(21);
  expect(copy.records).toEqual(await readList());
});

it('does the same in Python', async (context) => {
  const python = await findPython();
  if (typeof python === 'string') return context.skip(notRun(python));
  const project = await createClientProject();
  try {
    const client = { folder: project.folder, version: 'v1', integers: 'text', lang: 'python' } as const;
    await pull(createTransport(options), { ...client, out: 'portal' }, () => undefined);
    await project.write({ 'follow.py': followInPython });
    const followed = async (): Promise<{ ops: string[]; ids: string[] }> => {
      const env = { PORTAL_URL: gateway.url, PORTAL_KEY: String(options.key) };
      const { stdout, stderr } = await project.run('python3', ['follow.py'], env);
      expect(stderr).toBe('');
      return JSON.parse(stdout);
    };
    const upserts = (count: number) => Array.from({ length: count }, () => 'upsert');
    expect(await followed()).toEqual({ ops: ['reset', ...upserts(30)], ids: ids(30) });
    expect(await followed()).toEqual({ ops: [], ids: ids(30) });
    await syncOnce();
    expect(await followed()).toEqual({ ops: upserts(2), ids: ids(31) });
    await loadInvoices(database.ctx, organization.organizationId, rowsOf(20, 12));
    await isVisible('3');
    expect(await followed()).toEqual({ ops: ['reset', ...upserts(20)], ids: ids(20, 12) });
  } finally {
    await project.remove();
  }
});

/** Keeps its copy in a file. */
const followInPython = `import json
import os

from portal import v1

copy = json.load(open("copy.json")) if os.path.exists("copy.json") else {}
invoices = v1.connect(os.environ["PORTAL_URL"], os.environ["PORTAL_KEY"]).invoices
ops = []
for change in invoices.changes(store=v1.FileStore("position")):
    ops.append(change["op"])
    if change["op"] == "reset":
        copy = {}
    elif change["op"] == "delete":
        copy.pop(change["id"], None)
    else:
        copy[change["id"]] = change["record"]["number"]
json.dump(copy, open("copy.json", "w"))
print(json.dumps({"ops": ops, "ids": list(copy)}))
`;
