// Three server processes on one database, started at the same time on an empty one: changes by one are
// effective in all within a second, and what must happen once happens once.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { base } from '../setup/api.ts';
import { type MailServer, startMailServer } from '../setup/smtp.ts';
import { until } from '../setup/until.ts';
import { type ServingProcess, useOpsDatabase } from './server-process.ts';
import {
  ask,
  type Company,
  connectCompany,
  makeCompany,
  publish,
  type Reply,
  sync,
  useErpSite,
} from './site.ts';

/** How long a change may take to become effective in another process. */
const agreedMs = 1_000;

const site = useErpSite();
const database = useOpsDatabase(null);
let mails: MailServer;
let servers: ServingProcess[];
let urls: string[];
let company: Company;
let configs: Map<string, string>;
let version: string;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const everywhere = <T>(work: (url: string, index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(urls.map(work));
const url = (n: number): string => urls[n % urls.length] ?? '';
/** Suppresses notifications: terminates the listening connections, which reconnect two seconds later. */
const silence = () =>
  database.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'portal-service listening' and datname = current_database()",
  );

beforeAll(async () => {
  mails = await startMailServer();
  const environment = {
    ...site.environment,
    SMTP_URL: mails.url,
    CONTROL_POOL_SIZE: '4',
    DATA_POOL_SIZE: '4',
  };
  servers = await Promise.all([0, 1, 2].map(() => database.start(environment)));
  urls = servers.map((server) => server.url);
  company = await makeCompany(database.address);
  configs = await connectCompany(company, url(0), site);
  await Promise.all([...configs.values()].map((id, n) => sync(company, url(n), id)));
  version = await publish(company, url(1));
  // Due from the next minute on; checked last. The other tests only use customers, which are synced by no
  // schedule.
  const schedule = { schedule: '* * * * *' };
  expect(
    (await company.call(url(0), 'patch', `/sync-configs/${configs.get('invoice')}`, schedule)).status,
  ).toBe(200);
});
afterAll(async () => {
  await company?.close();
  await mails?.close();
});

describe('three processes', () => {
  it('started at once on an empty database: one migrates, and a later version does not prevent a start', async () => {
    const applied = await database.query<{ name: string }>('select name from knex_migrations');
    expect(applied.length).toBeGreaterThan(15);
    expect(new Set(applied.map(({ name }) => name)).size).toBe(applied.length);
    // One that looks for an owner after the company was made prints its link.
    const signIn = /\nTo sign in as .*\n\S+\n*/g;
    expect(servers.map((server) => server.output().stderr.replace(signIn, ''))).toEqual(['', '', '']);
    // A later version has migrated the database: this one still starts, so that a rolling deployment or
    // rollback works.
    await database.query(
      "insert into knex_migrations (name, batch, migration_time) values ('9999_later.ts', 99, now())",
    );
    const another = await database.start(site.environment);
    expect((await company.call(another.url, 'get', '/whoami')).status).toBe(200);
    expect(await another.stop()).toBe(0);
  });

  it('share one rate limit of 60 requests a minute', async () => {
    const { secret } = await company.newKey();
    const headers = { authorization: `Bearer ${secret}` };
    const answers = await Promise.all(
      Array.from({ length: 90 }, (_unused, n) => ask(`${url(n)}${base}/whoami`, 'get', undefined, headers)),
    );
    const counts = [200, 429].map((status) => answers.filter((answer) => answer.status === status).length);
    expect(counts).toEqual([60, 30]);
    for (const answer of answers)
      if (answer.status === 429) expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('reject a revoked key after a second, with or without notifications', async () => {
    await silence();
    const { id, secret } = await company.newKey();
    const read = (at: string) =>
      ask(`${at}/api/public/${version}/customer`, 'get', undefined, {
        authorization: `Bearer ${secret}`,
        'x-tenant-id': company.id,
      });
    expect((await everywhere(read)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await company.call(url(0), 'delete', `/api-keys/${id}`)).status).toBe(204);
    await pause(agreedMs);
    expect((await everywhere(read)).map(({ status }) => status)).toEqual([401, 401, 401]);
  });

  it('end a session in all processes at once', async () => {
    const session = await company.newSession();
    const [first] = await everywhere((at) => ask(`${at}${base}/whoami`, 'get', undefined, session.headers));
    expect(first?.status).toBe(200);
    expect(
      (
        await ask(`${url(0)}${base}/whoami/sessions/${session.id}`, 'delete', undefined, {
          ...session.headers,
          origin: url(0),
        })
      ).status,
    ).toBe(204);
    const after = await everywhere((at) => ask(`${at}${base}/whoami`, 'get', undefined, session.headers));
    expect(after.map(({ status }) => status)).toEqual([401, 401, 401]);
  });

  it('return the new generation with the same entity tag within a second of a publish, with or without notifications', async () => {
    const read = (at: string): Promise<Reply> => company.read(at, `/${version}/customer?pageSize=5`);
    const before = await everywhere(read);
    expect(new Set(before.map(({ headers }) => headers.get('etag'))).size).toBe(1);
    await silence();
    await site.change(
      "update ledger.customer set phone = '0161 496 0000' where id = (select min(id) from ledger.customer)",
    );
    const run = await sync(company, url(2), configs.get('customer'), { mode: 'full' });
    expect(run).toMatchObject({ status: 'succeeded', counts: { updated: 1 } });
    await pause(agreedMs);
    const after = await everywhere(read);
    expect(
      new Set(
        after.map(
          ({ headers, text }) => `${headers.get('x-data-generation')} ${headers.get('etag')} ${text}`,
        ),
      ).size,
    ).toBe(1);
    expect(after[0]?.headers.get('x-data-generation')).toBe(run.generation);
    expect(after[0]?.headers.get('etag')).not.toBe(before[0]?.headers.get('etag'));
  });

  it('a change feed can be paged across processes', async () => {
    const seen: string[] = [];
    let next = '';
    for (let page = 0; ; page += 1) {
      const { status, body } = await company.read(
        url(page),
        `/${version}/customer/changes?limit=7${next === '' ? '' : `&since=${next}`}`,
      );
      expect(status).toBe(200);
      seen.push(...body.data.map(({ id }: { id: string }) => id));
      next = encodeURIComponent(body.next);
      if (!body.hasMore) break;
    }
    const { body } = await company.read(url(0), `/${version}/customer?pageSize=1000`);
    expect(seen).toHaveLength(body.pagination.total);
    expect(seen.toSorted()).toEqual(body.data.map(({ id }: { id: string }) => id).toSorted());
  });

  it('execute a POST with an Idempotency-Key once, whichever processes it reaches', async () => {
    const headers = {
      authorization: `Bearer ${(await company.newKey()).secret}`,
      'idempotency-key': 'over-three',
    };
    const make = (at: string) => ask(`${at}${base}/teams`, 'post', { name: 'Once' }, headers);
    const made = [...(await everywhere(make)), ...(await everywhere(make))];
    expect(made.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201, 201]);
    expect(new Set(made.map(({ body }) => body.id)).size).toBe(1);
    expect(made.filter(({ headers: got }) => got.get('idempotency-replayed') === null)).toHaveLength(1);
  });

  it('send each mail once', async () => {
    const roles = await company.call(url(0), 'get', `/organizations/${company.id}/roles`);
    const roleId = roles.body.data.find(({ name }: { name: string }) => name === 'viewer').id;
    const people = Array.from({ length: 12 }, (_unused, n) => `person-${n}@example.test`);
    const invited = await Promise.all(
      people.map((email, n) =>
        company.call(url(n), 'post', `/organizations/${company.id}/invitations`, { email, roleId }),
      ),
    );
    expect(invited.map(({ status }) => status)).toEqual(people.map(() => 201));
    const left = "select from outgoing_mails where status <> 'sent'";
    await until(async () => (await database.query(left)).length === 0);
    expect(mails.delivered.flatMap(({ to }) => to).toSorted()).toEqual(people.toSorted());
  });

  it('create one run per due minute, and one slot of a subscription', async () => {
    const view = await company.call(url(0), 'post', '/views', {
      name: 'All',
      recordType: 'customer',
      columns: ['entityid'],
    });
    const order = { viewId: view.body.id, schedule: '* * * * *', recipients: ['ada@example.test'] };
    expect((await company.call(url(1), 'post', '/subscriptions', order)).status).toBe(201);
    const slots = "select scheduled_for as at, status from sync_runs where trigger = 'schedule' order by 1";
    const sent = () => mails.delivered.filter(({ to }) => to.includes('ada@example.test')).length;
    // The next minute may be sixty seconds away, and the machine busy.
    await until(async () => sent() > 0, 150_000);
    const runs = await until(async () => {
      const found = await database.query<{ at: Date; status: string }>(slots);
      return found.length > 0 && found.every(({ status }) => status === 'succeeded') ? found : undefined;
    });
    expect(new Set(runs.map(({ at }) => at.getTime())).size).toBe(runs.length);
    // Each slot has one mail; for a minute that starts in the meantime it suffices that no two slots share
    // one.
    const written = () =>
      mails.delivered.filter(({ to }) => to.includes('ada@example.test')).map(({ mail }) => mail.messageId);
    const opened = await until(async () => {
      const found = await database.query<{ slot: string; status: string; mail: string }>(
        'select s.slot::text, s.status, d.message_id as mail from subscription_slots s join subscription_deliveries d on d.slot_id = s.id',
      );
      return found.length > 0 &&
        found.every(({ status, mail }) => status === 'done' && written().includes(mail))
        ? found
        : undefined;
    });
    expect(new Set(opened.map(({ slot }) => slot)).size).toBe(opened.length);
    const ids = written();
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('continue when one of them is killed', async () => {
    await servers[0]?.kill();
    for (const at of urls.slice(1)) expect((await company.read(at, `/${version}/invoice`)).status).toBe(200);
    expect(await sync(company, url(1), configs.get('customer'), { mode: 'full' })).toMatchObject({
      status: 'succeeded',
    });
  });
});
