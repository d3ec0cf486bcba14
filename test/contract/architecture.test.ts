// The rules of the house that a compiler doesn't know: who may import whom, and where the outside world may be touched.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

type Source = { readonly file: string; readonly text: string; readonly code: string };

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.ts$/.test(entry.name))
    .map((entry) => path.posix.join(entry.parentPath, entry.name))
    // What another test generates is there or not, or half written.
    .filter((file) => !/node_modules\/|\/\.generated\//.test(file))
    .sort();

/** Comments say what they like. */
const withoutComments = (text: string): string => text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|[\s;{(,])\/\/.*$/gm, '$1');
const read = (file: string): Source => {
  const text = readFileSync(file, 'utf8');
  return { file, text, code: withoutComments(text) };
};

const src = filesBelow('src').map(read);
const everything = [...src, ...['test', 'migrations'].flatMap(filesBelow).map(read)];
const offending = (sources: readonly Source[], rule: RegExp): string[] =>
  sources.filter(({ code }) => rule.test(code)).map(({ file }) => file);
const partOf = (file: string): string => file.split('/')[1] ?? '';

const importsOf = ({ file, code }: Source): string[] =>
  [...code.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g)].map(([, target = '']) =>
    target.startsWith('.') ? path.posix.normalize(path.posix.join(path.posix.dirname(file), target)) : target,
  );

/** `all`: any file of that part. `door`: only its index.ts. A list: these files of it, for the reason beside it. */
type Access = 'all' | 'door' | readonly string[];
const mayImport: Record<string, Record<string, Access>> = {
  core: {},
  db: { core: 'all' },
  connectors: { core: 'all' },
  // The sandbox, a payment provider that is built in, has books of its own.
  gateways: { core: 'all', db: ['transaction.ts', 'queue-work.ts'] },
  // The queue's sender is the one who hands mails to the gateway.
  mail: { core: 'all', db: 'all', gateways: ['compose-mail.ts', 'mail-outcome.ts', 'mail.ts'] },
  // The warehouse turns the connectors' field types and values into columns, and knows nothing else of them.
  warehouse: { core: 'all', db: 'all', connectors: ['connector.ts'] },
  // Who someone is, and the one writer of the audit log, which says who did what.
  identity: { core: 'all', db: 'all' },
  // Texts and plain data, in a thread that knows no more.
  templates: { core: 'all' },
  // A request's credential becomes a principal before any feature sees it.
  http: { core: 'all', db: 'all', identity: 'all' },
  // What a run shows about a sync is told by mail, in the transaction that settles the run.
  sync: { core: 'all', db: 'all', warehouse: 'all', mail: 'door', connectors: ['connector.ts', 'kinds.ts'] },
  // Public keys are found by the same look-up as management keys; the warehouse's tables are what it reads.
  public: { core: 'all', db: 'all', warehouse: 'all', identity: 'all' },
  platform: {
    core: 'all',
    db: 'all',
    http: 'all',
    identity: 'all',
    public: 'door',
    mail: 'door',
    sync: 'door',
    templates: 'door',
    warehouse: ['tenant-schema.ts'], // an organization's room is made with it and measured for it
    // Records that prove control of a hostname; what answers for agents; who takes payments.
    gateways: ['dns.ts', 'model/model.ts', 'model/open-model.ts', 'payments/provider.ts', 'payments/providers.ts'],
    connectors: ['connector.ts', 'netsuite/connection.ts'], // the words of its errors, and which addresses are an account's
  },
  // What an operator asks of the process, and how it ends; no feature knows of it.
  operate: { core: 'all', http: ['health.ts', 'served.ts'] },
  // Tools for agents: over the operations' values, and over the published versions.
  mcp: { core: 'all', http: 'all', platform: 'door', public: 'door' },
  // The demo acts as a customer, an ERP and an operator at once; nothing imports it but main.
  demo: {
    core: 'all',
    db: 'all',
    identity: 'all',
    'config.ts': 'all',
    'service.ts': 'all',
    platform: ['organizations/organizations.service.ts'],
  },
  'config.ts': { core: 'all' },
  // Publications left unfinished by a stopped process are taken up at the start; pending domains are looked at again; subscriptions are
  // sent, and ended by the links of their mails; the sandbox is a provider in the same process, with its page and its clock.
  'app.ts': {
    core: 'all',
    http: 'all',
    identity: 'all',
    platform: [
      'index.ts',
      'agents/agent-work.ts',
      'api-schemas/publication.ts',
      'api-schemas/tend-indexes.ts',
      'domains/recheck.ts',
      'pay/pay-work.ts',
      'pay/write-back.ts',
      'pay/write-back-news.ts',
      'subscriptions/runner.ts',
      'subscriptions/unsubscribe.ts',
    ],
    gateways: ['payments/sandbox/deliver-events.ts', 'payments/sandbox/pay-session.ts'],
    mcp: ['server.ts'], // with its first message, since what stands behind it is large
    public: 'door',
    mail: 'door',
    sync: 'door',
  },
  // What was counted of the last calls is brought to the database after the last one, before it closes. The server is made before the
  // application, of the messages that this one wants.
  'service.ts': {
    core: 'all',
    db: 'all',
    http: ['health.ts', 'messages.ts', 'served.ts', 'server.ts'],
    operate: 'all',
    public: 'door',
    'app.ts': 'all',
    'config.ts': 'all',
  },
  // An operator's command does what no route does: it makes an organization and its first key without being anyone, seals anew what any
  // part sealed, and ends what a lost server left unfinished.
  admin: {
    core: 'all',
    db: 'all',
    gateways: ['payments/sandbox/sandbox.ts'],
    http: ['fields.ts', 'idempotency.ts', 'plain-words.ts'],
    identity: ['api-key.ts', 'audit.store.ts', 'sessions.store.ts'],
    mail: 'door',
    platform: 'all',
    sync: 'door',
    'config.ts': 'all',
    'service.ts': 'all',
  },
  'main.ts': { core: 'all', db: 'all', admin: 'door', 'config.ts': 'all', 'service.ts': 'all', demo: ['demo.ts'] },
};

function isAllowed(from: string, to: string): boolean {
  const access = mayImport[partOf(from)]?.[partOf(to)];
  if (access === undefined || access === 'all') return access === 'all';
  const inside = to.split('/').slice(2).join('/');
  return access === 'door' ? inside === 'index.ts' : access.includes(inside);
}

describe('imports', () => {
  it('go only where the table lets them', () => {
    const wrong = src.flatMap((source) =>
      importsOf(source)
        .filter((target) => target.startsWith('src/') && partOf(target) !== partOf(source.file) && !isAllowed(source.file, target))
        .map((target) => `${source.file} → ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it('leave no line of the table unused', () => {
    const used = new Set(src.flatMap((source) => importsOf(source).map((target) => `${partOf(source.file)} → ${partOf(target)}`)));
    const unused = Object.entries(mayImport).flatMap(([from, targets]) =>
      Object.keys(targets)
        .map((to) => `${from} → ${to}`)
        .filter((edge) => !used.has(edge)),
    );
    expect(unused).toEqual([]);
  });

  it('reach the demo lazily, so that the service never loads it', () => {
    expect(src.filter(({ code }) => /^import [^;]*'\.\/demo\//m.test(code)).map(({ file }) => file)).toEqual([]);
  });

  it('name files with their ending', () => {
    const bare = everything.flatMap((source) =>
      importsOf(source).filter((target) => /^(src|test|migrations)\//.test(target) && !/\.(ts|json)$/.test(target)),
    );
    expect(bare).toEqual([]);
  });
});

describe('the outside world', () => {
  it('Express is met at the edge alone', () => {
    const users = src.filter((source) => importsOf(source).includes('express')).map(({ file }) => file);
    expect(users.filter((file) => !/^src\/(app\.ts|http\/|public\/index\.ts|demo\/)/.test(file))).toEqual([]);
  });

  it('the environment is read in main.ts alone', () => {
    expect(offending(src, /\bprocess\.env\b/)).toEqual(['src/main.ts']);
  });

  it('the system clock is read in core/clock.ts alone', () => {
    expect(offending(src, /new Date\(\)|Date\.now\(\)/)).toEqual(['src/core/clock.ts']);
  });

  it("nothing that serves works as the tables' owner, who sees every organization", () => {
    expect(offending(src, /'portal_owner'/)).toEqual(['src/admin/index.ts', 'src/db/connect.ts']);
  });

  it('what is sealed is stored in a column that src/admin/sealed-columns.ts names, or is not stored at all', () => {
    // A new line here is a new line there: a sealed value that a rotation of the key forgets can never be opened again.
    expect(src.flatMap(({ file, code }) => [...code.matchAll(/\.seal\(/g)].map(() => file))).toEqual([
      'src/admin/rotate-encryption-key.ts',
      'src/gateways/payments/sandbox/sandbox.ts',
      'src/identity/sign-in.ts', // in the browser, for ten minutes
      'src/mail/enqueue.ts',
      'src/mail/enqueue.ts',
      'src/platform/netsuite/netsuite.service.ts',
      'src/platform/netsuite/netsuite.service.ts',
      'src/platform/pay/accounts.ts',
    ]);
  });

  it('addresses that a customer typed are called through the guarded fetch', () => {
    // The identity provider, the models' providers and Stripe's address are the operator's, the demo's client and the sandbox call
    // their own service, and the clock watch wraps the guarded fetch.
    expect(offending(src, /(?:await |return |= )fetch\(/)).toEqual([
      'src/connectors/netsuite/clock-watch.ts',
      'src/demo/management-client.ts',
      'src/gateways/model/provider-fetch.ts',
      'src/gateways/payments/sandbox/deliver-events.ts',
      'src/gateways/payments/stripe/client.ts',
      'src/identity/access-token.ts',
    ]);
  });

  it.each([
    ['express', /^src\/(app|http\/express)\.ts$/, 2],
    ['pg', /^src\/db\/connect\.ts$/, 1],
    ['knex', /^src\/db\/connect\.ts$/, 1],
    ['zod', /^src\/(config|http\/route)\.ts$/, 2],
    ['jsonwebtoken', /^src\/(identity\/access-token|connectors\/netsuite\/auth)\.ts$/, 2],
    ['jwks-rsa', /^src\/identity\/access-token\.ts$/, 1],
    ['express-rate-limit', /^src\/http\/rate-limit\.ts$/, 1],
    ['openapi3-ts', /^src\/(http|public)\/openapi\.ts$/, 2],
    ['pino', /^src\/core\/log\.ts$/, 1],
    ['stripe', /^src\/gateways\/payments\/stripe\/(client|errors|events|open-stripe|payouts|snapshots)\.ts$/, 6],
    ['node-cron', /^src\/core\/recurring\.ts$/, 1],
    ['vitest', /^test\/contract\/architecture\.test\.ts$/, 1],
    ['supertest', /^test\/setup\/api\.ts$/, 1],
  ])('%s is imported where it does its work', (name, where, count) => {
    const users = everything.filter(
      (source) => where.test(source.file) && importsOf(source).some((target) => target === name || target.startsWith(`${name}/`)),
    );
    expect(users).toHaveLength(count);
  });
});

/** This file names what it forbids. */
const exceptThis = everything.filter(({ file }) => file !== 'test/contract/architecture.test.ts');

describe('files', () => {
  it('have at most 400 lines', () => {
    const long = src.filter(({ text }) => text.split('\n').length > 401).map(({ file }) => file);
    expect(long).toEqual([]);
  });

  it('are named for what they do', () => {
    const vague = /^(utils?|helpers?|common|misc|manager|base|impl)$/;
    expect(everything.filter(({ file }) => file.split(/[/.]/).some((part) => vague.test(part))).map(({ file }) => file)).toEqual([]);
  });

  it('are no barrels: an index is a door or a table of contents', () => {
    expect(src.filter(({ file }) => file.endsWith('/index.ts')).map(({ file }) => file)).toEqual([
      'src/admin/index.ts',
      'src/mail/index.ts',
      'src/platform/index.ts',
      'src/public/index.ts',
      'src/sync/index.ts',
      'src/templates/index.ts',
    ]);
    expect(offending(src, /export \* from/)).toEqual([]);
  });

  it('export names, and know neither any nor enum nor non-null assertion', () => {
    expect(offending(src, /export default/)).toEqual([]);
    expect(offending(exceptThis, /:\s*any\b|<any\b|\bas any\b|\bany\[\]/)).toEqual([]);
    expect(offending(everything, /^\s*(export )?(const )?enum /m)).toEqual([]);
    expect(offending(src, /[\w)\]]!(\.|;|,|\)|\[)/)).toEqual([]);
  });
});
