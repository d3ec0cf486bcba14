// Reads under a row scope, at every door of the public interface but the change feed: the same as the
// unscoped answer without the records of others.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { type TestDatabase, testClock, testDatabase } from '../../setup/database.ts';
import { makeKey, makeOrganization } from '../../setup/organization.ts';
import {
  bumpGeneration,
  callerOf,
  type InvoiceRow,
  idsOf,
  loadInvoices,
  publicApp,
  publishVersion,
} from '../fixture.ts';
import { rowsOf, scopedInvoices } from './fixture.ts';

const customers = ['acme', 'birch', 'corda', 'dune'] as const;
const rows: InvoiceRow[] = Array.from({ length: 240 }, (_, index) => ({
  id: index + 1,
  tranid: `${customers[(index * 7) % 5] ?? 'none'}-${index}`,
  status: ['open', 'paid', null][index % 3] ?? null,
  total: `${(index * 37) % 100}.50`,
  seq: index % 4 === 0 ? null : String(index % 11),
  paid: index % 2 === 0,
  trandate: `2026-0${1 + (index % 3)}-1${index % 10}`,
  entity: customers[(index * 7) % 5] ?? null,
  entityName: `The ${customers[(index * 7) % 5] ?? 'none'} company`,
  lines: JSON.stringify([{ item: `item of ${customers[(index * 7) % 5] ?? 'none'}`, quantity: index }]),
}));
const scopes = [['acme'], ['birch', 'dune'], ['unknown']] as const;
const queries = [
  '',
  'pageSize=100',
  'page=2&pageSize=7',
  'page=3&pageSize=10&order=asc',
  'sort=total&order=desc',
  'sort=seq&order=desc&pageSize=50',
  'sort=seq&page=2&pageSize=13',
  'status=open',
  'status=open&status=paid&sort=number',
  'status_null=true&paid=true',
  'total_gte=50&date_after=2026-02-12&sort=date',
  'number_contains=rch&sort=total',
  'id=1&id=2&id=3&id=4&id=5',
  'customer=acme',
  'customer=acme&customer=birch&pageSize=100',
  'customer_not=acme&pageSize=100',
  'customer_null=true',
  'fields=id,customer&sort=total&pageSize=9&page=2',
];

type Get = ReturnType<typeof callerOf>;
const clock = testClock();
let database: TestDatabase;
let organizationId: string;
let schema: string;
let whole: Get;
let callers: ReadonlyMap<readonly string[], Get>;
let callerWith: (scopes: Parameters<typeof makeKey>[2]) => Promise<Get>;

beforeAll(async () => {
  database = await testDatabase({ clock });
  organizationId = (await makeOrganization(database.ctx)).id;
  schema = tenantSchema(organizationId);
  await loadInvoices(database.ctx, organizationId, rows);
  await publishVersion(database.ctx, organizationId, {
    endpoints: [scopedInvoices, { ...scopedInvoices, name: 'bills' }],
  });
  const app = publicApp(database.ctx);
  callerWith = async (wanted) =>
    callerOf(app, { secret: (await makeKey(database.ctx, organizationId, wanted)).secret, organizationId });
  whole = await callerWith({});
  callers = new Map(
    await Promise.all(
      scopes.map(async (scope) => [scope, await callerWith({ rows: rowsOf(scope) })] as const),
    ),
  );
});
afterAll(() => database.close());

/** As a run publishes, a second after the last read. */
async function publish(): Promise<void> {
  await bumpGeneration(database.ctx, organizationId, rows.length);
  clock.advance(database.ctx.settings.cacheTtlMs + 1);
}

const isWithin = (scope: readonly string[], { customer }: { customer: string | null }) =>
  customer !== null && scope.includes(customer);
const foreignWords = (scope: readonly string[]) => [
  ...customers.filter((name) => !scope.includes(name)),
  'none',
];

/** All records of a query as the unscoped reader gets them, in their order. */
async function allRecords(query: string): Promise<{ id: string; customer: string | null }[]> {
  const kept = query.split('&').filter((part) => part !== '' && !/^(page|pageSize|fields)=/.test(part));
  const found = [];
  for (let page = 1; ; page += 1) {
    const { body } = await whole(
      `/v1/invoices?${[...kept, `page=${page}`, 'pageSize=100'].join('&')}`,
    ).expect(200);
    found.push(...body.data);
    if (page >= body.pagination.totalPages) return found;
  }
}

describe('a list under a row scope', () => {
  it.each(queries)('is the unscoped one without foreign records: %s', async (query) => {
    const all = await allRecords(query);
    const parameters = new URLSearchParams(query);
    const [page, pageSize] = [Number(parameters.get('page') ?? 1), Number(parameters.get('pageSize') ?? 25)];
    const fields = parameters.get('fields')?.split(',');
    for (const [scope, get] of callers) {
      const answer = await get(`/v1/invoices?${query}`).expect(200);
      const wanted = all.filter((record) => isWithin(scope, record));
      const shown = wanted.slice((page - 1) * pageSize, page * pageSize);
      const picked = shown.map((record) =>
        Object.fromEntries(Object.entries(record).filter(([name]) => fields?.includes(name) ?? true)),
      );
      expect(answer.body).toEqual({
        data: picked,
        pagination: { total: wanted.length, page, pageSize, totalPages: Math.ceil(wanted.length / pageSize) },
      });
      for (const word of foreignWords(scope)) expect(answer.text).not.toContain(word);
      const head = await get(`/v1/invoices?${query}`, { 'accept-encoding': 'identity' }).expect(200);
      expect(head.headers['link'] ?? '').not.toMatch(
        /acme|birch|corda|dune/.test(query) ? /corda/ : /acme|birch|corda|dune/,
      );
    }
  });

  it.each(['application/x-ndjson', 'text/csv'])('exports the same as %s', async (accept) => {
    for (const query of queries.filter((text) => !/page/.test(text))) {
      const all = await allRecords(query);
      for (const [scope, get] of callers) {
        const answer = await get(`/v1/invoices?${query}`, { accept }).buffer(true).expect(200);
        const lines = answer.text.split('\n').filter((line) => line !== '');
        const ids =
          accept === 'text/csv'
            ? lines.slice(1).map((line) => line.split(',')[0])
            : lines.map((line) => JSON.parse(line).id);
        const wanted = all.filter((record) => isWithin(scope, record)).map(({ id }) => id);
        expect([query, ids]).toEqual([query, wanted]);
        expect(answer.headers['x-total-count']).toBe(String(wanted.length));
        for (const word of foreignWords(scope)) expect(answer.text).not.toContain(word);
      }
    }
  });

  it('reads deep pages through anchors of its own', async () => {
    const all = await allRecords('sort=total&order=desc');
    const deep = callerOf(
      publicApp({ ...database.ctx, settings: { ...database.ctx.settings, anchorEvery: 2 } }),
      {
        secret: (await makeKey(database.ctx, organizationId, { rows: rowsOf(['birch', 'dune']) })).secret,
        organizationId,
      },
    );
    const found: string[] = [];
    for (let page = 1; page <= 24; page += 1)
      found.push(
        ...idsOf(await deep(`/v1/invoices?sort=total&order=desc&pageSize=4&page=${page}`).expect(200)),
      );
    expect(found).toEqual(all.filter((record) => isWithin(['birch', 'dune'], record)).map(({ id }) => id));
  });
});

describe('a record under a row scope', () => {
  it('404 outside, exactly as one that does not exist', async () => {
    for (const [scope, get] of callers) {
      const absent = await get('/v1/invoices/99999').expect(404);
      for (const row of rows.slice(0, 20)) {
        const path = `/v1/invoices/${row.id}`;
        const within = isWithin(scope, { customer: row.entity ?? null });
        const answer = await get(path).expect(within ? 200 : 404);
        if (within) {
          expect(answer.body).toEqual((await whole(path).expect(200)).body);
          expect(answer.headers['etag']).not.toBe((await whole(path)).headers['etag']);
          continue;
        }
        const { requestId: _a, ...error } = answer.body.error;
        const { requestId: _b, ...wanted } = absent.body.error;
        expect(error).toEqual(wanted);
        expect(Object.keys(answer.headers).sort()).toEqual(Object.keys(absent.headers).sort());
        const tag = (await whole(path)).headers['etag'] ?? '';
        for (const known of [tag, '*']) await get(path, { 'if-none-match': known }).expect(404);
        await get(`${path}?fields=nothing`).expect(404);
      }
    }
  });
});

describe('what a caller can say', () => {
  it('never widens its scope', async () => {
    const get = await callerWith({ rows: rowsOf(['acme']) });
    const own = rows.filter(({ entity }) => entity === 'acme').length;
    for (const [query, total] of [
      ['customer=birch', 0],
      ['customer=acme&customer=birch&customer=corda', own],
      ['customer_not=acme', 0],
      ['customer_null=true', 0],
      ['customer_null=false', own],
      ['id=1', 1],
      ['id=2', 0],
    ] as const) {
      const answer = await get(`/v1/invoices?${query}`).expect(200);
      expect([query, answer.body.pagination.total]).toEqual([query, total]);
    }
    await get('/v1/invoices?rows=x').expect(400);
    await get('/v1/invoices?scope=*').expect(400);
  });

  it('403 for resources that the scope does not name, whether or not they exist, and 200 with "*"', async () => {
    const named = await callerWith({ rows: rowsOf(['acme']) });
    for (const path of ['/v1/bills', '/v1/bills/1', '/v1/bills/changes', '/v1/nothing']) {
      const { error } = (await named(path).expect(403)).body;
      expect(error.details[0]).toMatchObject({ path: 'resource', code: 'resource_out_of_scope' });
    }
    const others = await callerWith({ rows: { ...rowsOf(['acme']), others: true } });
    expect((await others('/v1/bills?pageSize=1').expect(200)).body.pagination.total).toBe(rows.length);
    expect((await others('/v1/invoices?pageSize=1').expect(200)).body.pagination.total).toBeLessThan(
      rows.length,
    );
    await others('/v1/nothing').expect(404);
  });

  it('403 where the scope does not apply: another record type, or a field that is not scopable in the version', async () => {
    await publishVersion(database.ctx, organizationId, {
      version: 'v2',
      endpoints: [
        {
          ...scopedInvoices,
          fields: scopedInvoices.fields.map(({ scopable: _scopable, ...field }) => field),
        },
      ],
    });
    const get = await callerWith({ rows: rowsOf(['acme']) });
    expect((await get('/v2/invoices').expect(403)).body.error.details[0].code).toBe('resource_out_of_scope');
    await get('/v1/invoices').expect(200);
    const other = await callerWith({
      rows: { resources: { invoices: { recordType: 'customer', conditions: [] } }, others: false },
    });
    await other('/v1/invoices').expect(403);
    const byId = await callerWith({
      rows: {
        resources: {
          invoices: { recordType: 'invoice', conditions: [{ field: 'id', source: 'id', in: ['5', '6'] }] },
        },
        others: false,
      },
    });
    expect(idsOf(await byId('/v2/invoices').expect(200)).sort()).toEqual(['5', '6']);
    expect(idsOf(await byId('/v1/invoices?sort=total').expect(200)).sort()).toEqual(['5', '6']);
  });

  it('two conditions must both hold', async () => {
    const { resources } = rowsOf(['acme']);
    const conditions = [
      ...(resources['invoices']?.conditions ?? []),
      { field: 'id', source: 'id', in: ['1', '2', '6'] },
    ];
    const get = await callerWith({
      rows: { resources: { invoices: { recordType: 'invoice', conditions } }, others: false },
    });
    const wanted = rows
      .filter(({ id, entity }) => entity === 'acme' && [1, 2, 6].includes(Number(id)))
      .map(({ id }) => String(id));
    expect(idsOf(await get('/v1/invoices?sort=number').expect(200)).sort()).toEqual(wanted);
  });
});

describe('caches', () => {
  it('are shared by keys of equal scope alone: entity tags, bodies, totals and plans', async () => {
    const app = publicApp(database.ctx);
    const keyed = async (scope: readonly string[]) =>
      callerOf(app, {
        secret: (await makeKey(database.ctx, organizationId, { rows: rowsOf(scope) })).secret,
        organizationId,
      });
    const readers = [await keyed(['acme']), await keyed(['birch']), await keyed(['birch', 'acme'])];
    const twin = await keyed(['acme']);
    for (const path of [
      '/v1/invoices',
      '/v1/invoices?status=open',
      '/v1/invoices?sort=total&page=2&pageSize=5',
    ]) {
      const answers = [];
      for (const get of [...readers, ...readers, twin]) answers.push(await get(path).expect(200));
      const tags = answers.map(({ headers }) => headers['etag'] ?? '');
      expect(new Set(tags.slice(0, 3)).size).toBe(3);
      expect(tags.slice(3)).toEqual([...tags.slice(0, 3), tags[0]]);
      expect(answers[3]?.text).toBe(answers[0]?.text);
      for (const [index, get] of readers.entries()) {
        await get(path, { 'if-none-match': tags[index] ?? '' }).expect(304);
        await get(path, { 'if-none-match': tags[(index + 1) % 3] ?? '' }).expect(200);
        await get(path, { 'if-none-match': tags[index] ?? '', accept: 'application/x-ndjson' }).expect(
          /page/.test(path) ? 400 : 200,
        );
      }
    }
  });
});

describe('withheld records', () => {
  it('are not read under a row scope, in lists, records, totals and exports, and are otherwise', async () => {
    const own = rows.filter(({ entity }) => entity === 'acme');
    const [hidden] = own;
    const id = String(hidden?.id);
    const get = await callerWith({ rows: rowsOf(['acme']) });
    const filtered = () => whole('/v1/invoices?customer=acme&pageSize=100').expect(200);
    expect(idsOf(await get('/v1/invoices?pageSize=100').expect(200))).toContain(id);
    await database.ctx.db.data.query(
      `insert into ${schema}.withheld_records (record_type, id) values ('invoice', $1), ('other', $2)`,
      [id, String(own[1]?.id)],
    );
    await publish();
    const { data, pagination } = (await get('/v1/invoices?pageSize=100').expect(200)).body;
    expect([data.length, pagination.total]).toEqual([own.length - 1, own.length - 1]);
    await get(`/v1/invoices/${id}`).expect(404);
    const csv = await get('/v1/invoices', { accept: 'text/csv' }).buffer(true).expect(200);
    expect(csv.headers['x-total-count']).toBe(String(own.length - 1));
    expect(csv.text).not.toContain(hidden?.tranid);
    expect((await filtered()).body.pagination.total).toBe(own.length);
    await whole(`/v1/invoices/${id}`).expect(200);
    await database.ctx.db.data.query(`delete from ${schema}.withheld_records`);
    await publish();
    expect((await get('/v1/invoices').expect(200)).body.pagination.total).toBe(own.length);
  });
});

describe('a record that a sync moves between customers', () => {
  it('is read by the one or the other, in answers that each show one moment', async () => {
    const readers = [
      await callerWith({ rows: rowsOf(['acme']) }),
      await callerWith({ rows: rowsOf(['birch']) }),
    ];
    const moving = rows
      .filter(({ entity }) => entity === 'acme' || entity === 'birch')
      .map(({ id }) => Number(id));
    const { rows: states } = await database.ctx.db.data.query<{ active_table: string }>(
      `select active_table from ${schema}.record_state`,
    );
    const move = `with moved as (update ${schema}.${states[0]?.active_table} set f_entity = case f_entity when 'acme' then 'birch' else 'acme' end where id = any($1))
      update ${schema}.record_state set generation = generation + 1`;
    let isRead = false;
    const moveOn = async (): Promise<void> => {
      for (let time = 0; !isRead; time += 1) {
        await database.ctx.db.data.query(move, [moving.filter((id) => (id + time) % 3 === 0)]);
        clock.advance(database.ctx.settings.cacheTtlMs + 1);
      }
    };
    const read = async (get: Get, name: string): Promise<void> => {
      for (let round = 0; round < 15; round += 1) {
        const { data, pagination } = (await get('/v1/invoices?pageSize=100&sort=number').expect(200)).body;
        expect([...new Set(data.map(({ customer }: { customer: string }) => customer))]).toEqual([name]);
        expect(pagination.total).toBe(data.length);
        const csv = await get('/v1/invoices?fields=customer', { accept: 'text/csv' })
          .buffer(true)
          .expect(200);
        const lines = csv.text.split('\r\n').slice(1, -1);
        expect(lines.every((line) => line.endsWith(`,${name}`))).toBe(true);
        expect(csv.headers['x-total-count']).toBe(String(lines.length));
      }
    };
    const reading = Promise.all(
      readers.map((get, index) => read(get, index === 0 ? 'acme' : 'birch')),
    ).finally(() => {
      isRead = true;
    });
    await Promise.all([moveOn(), reading]);
    await database.ctx.db.data.query(
      `update ${schema}.${states[0]?.active_table} as t set f_entity = r.entity from unnest($1::bigint[], $2::text[]) as r(id, entity) where t.id = r.id`,
      [rows.map(({ id }) => id), rows.map(({ entity }) => entity)],
    );
    await publish();
  });
});

describe('503 scope_field_stale', () => {
  const setFields = (fields: object) =>
    database.ctx.db.data.query(
      `update ${schema}.record_state set stale_fields = coalesce($1::jsonb -> 'stale', '{}'), accepted_fields = coalesce($1::jsonb -> 'accepted', '{}')`,
      [JSON.stringify(fields)],
    );
  const missing = {
    since: '2026-02-26T08:00:00Z',
    syncedAt: null,
    reason: 'empty',
    message: 'It came empty',
  };
  const paths = [
    '/v1/invoices',
    '/v1/invoices?page=2',
    '/v1/invoices/1',
    '/v1/invoices/2',
    '/v1/invoices/99999',
  ];

  it.each([
    ['stale', { stale: { entity: missing } }],
    ['accepted as missing', { accepted: { entity: { ...missing, at: missing.since } } }],
  ])(
    'while a field that the scope names is %s, also in place of 304, cached bodies and 404',
    async (_what, fields) => {
      const get = await callerWith({ rows: rowsOf(['acme']) });
      const tags = new Map<string, string>();
      for (const path of paths) tags.set(path, (await get(path)).headers['etag'] ?? '');
      await setFields(fields);
      clock.advance(database.ctx.settings.cacheTtlMs + 1);
      await get('/v1/invoices', { accept: 'text/csv' }).expect(503);
      for (const path of paths) {
        for (const headers of [{}, { 'if-none-match': tags.get(path) ?? '' }]) {
          const { error } = (await get(path, headers).expect(503)).body;
          expect(error.details[0].code).toBe('scope_field_stale');
        }
        await whole(path).expect(path.endsWith('99999') ? 404 : 200);
      }
      await setFields({});
      clock.advance(database.ctx.settings.cacheTtlMs + 1);
      await get('/v1/invoices').expect(200);
    },
  );

  it('not while another field or only the label of this one is', async () => {
    const get = await callerWith({ rows: rowsOf(['acme']) });
    for (const fields of [
      { stale: { total: missing } },
      { stale: { entity: { ...missing, labelOnly: true } } },
    ]) {
      await setFields(fields);
      clock.advance(database.ctx.settings.cacheTtlMs + 1);
      await get('/v1/invoices').expect(200);
    }
    await setFields({});
  });
});
