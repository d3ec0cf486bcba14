// Architecture rules that a compiler doesn't check: which folder may import which, and where the outside world may be accessed.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

type Source = { readonly file: string; readonly text: string; readonly code: string };

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.ts$/.test(entry.name))
    .map((entry) => path.posix.join(entry.parentPath, entry.name))
    // Files that another test generates may be absent or half written.
    .filter((file) => !/node_modules\/|\/\.generated\//.test(file))
    .sort();

/** The rules don't apply to comments. */
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

/** `all`: any file of that folder. `door`: only its index.ts. A list: these files only, for the reason given in the comment. */
type Access = 'all' | 'door' | readonly string[];
const mayImport: Record<string, Record<string, Access>> = {
  core: {},
  db: { core: 'all' },
  connectors: { core: 'all' },
  // The sandbox, the built-in payment provider, has its own tables.
  gateways: { core: 'all', db: ['transaction.ts', 'queue-worker.ts'] },
  // The mail queue hands mails to the gateway.
  mail: { core: 'all', db: 'all', gateways: ['compose-mail.ts', 'mail-outcome.ts', 'mail.ts'] },
  // The warehouse turns the connectors' field types and values into columns, and uses nothing else of them.
  warehouse: { core: 'all', db: 'all', connectors: ['connector.ts'] },
  // Authentication, and the only writer of the audit log.
  identity: { core: 'all', db: 'all' },
  // Renders plain data into text in a worker thread that has access to nothing else.
  templates: { core: 'all' },
  // A request's credential becomes a principal before any feature sees it.
  http: { core: 'all', db: 'all', identity: 'all' },
  // Alerts about a sync are queued as mail in the transaction that finishes the run.
  sync: { core: 'all', db: 'all', warehouse: 'all', mail: 'door', connectors: ['connector.ts', 'kinds.ts'] },
  // API keys are looked up as on the management interface; it reads the warehouse's tables.
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
    warehouse: ['tenant-schema.ts'], // creates an organization's schema and measures its size
    // DNS records that prove control of a hostname; language models for agents; payment providers.
    gateways: ['dns.ts', 'model/model.ts', 'model/create-model.ts', 'payments/provider.ts', 'payments/providers.ts'],
    connectors: ['connector.ts', 'netsuite/connection.ts'], // its error messages, and the hostnames of an account
  },
  // Health, metrics and shutdown of the process; no feature depends on it.
  operate: { core: 'all', http: ['health.ts', 'served.ts'] },
  // Tools for agents, built on the route values and on the published versions.
  mcp: { core: 'all', http: 'all', platform: 'door', public: 'door' },
  // The demo acts as a customer, an ERP and an operator at once; only main imports it.
  demo: {
    core: 'all',
    db: 'all',
    identity: 'all',
    'config.ts': 'all',
    'service.ts': 'all',
    platform: ['organizations/organizations.service.ts'],
  },
  'config.ts': { core: 'all' },
  // Publications left unfinished by a stopped process are resumed at start-up; pending domains are checked again; subscriptions are sent,
  // and ended through the links of their mails; the sandbox is a provider in the same process, with its page and its clock.
  'app.ts': {
    core: 'all',
    http: 'all',
    identity: 'all',
    platform: [
      'index.ts',
      'agents/agent-work.ts',
      'api-schemas/publication.ts',
      'api-schemas/maintain-indexes.ts',
      'domains/recheck.ts',
      'pay/pay-work.ts',
      'pay/write-back.ts',
      'pay/write-back-alerts.ts',
      'subscriptions/runner.ts',
      'subscriptions/unsubscribe.ts',
    ],
    gateways: ['payments/sandbox/deliver-events.ts', 'payments/sandbox/pay-session.ts'],
    mcp: ['server.ts'], // loaded with the first message, since its dependencies are large
    public: 'door',
    mail: 'door',
    sync: 'door',
  },
  // Usage counters are flushed to the database after the last request, before it closes. The server is created before the application, with
  // the message classes that the application wants.
  'service.ts': {
    core: 'all',
    db: 'all',
    http: ['health.ts', 'message-classes.ts', 'served.ts', 'server.ts'],
    operate: 'all',
    public: 'door',
    'app.ts': 'all',
    'config.ts': 'all',
  },
  // Operator commands do what no route does: they create an organization and its first key without a caller, re-encrypt what any part has
  // encrypted, and finish what a lost server left unfinished.
  admin: {
    core: 'all',
    db: 'all',
    gateways: ['payments/sandbox/sandbox.ts'],
    http: ['fields.ts', 'idempotency.ts', 'validation-messages.ts'],
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
  it('follow the table', () => {
    const wrong = src.flatMap((source) =>
      importsOf(source)
        .filter((target) => target.startsWith('src/') && partOf(target) !== partOf(source.file) && !isAllowed(source.file, target))
        .map((target) => `${source.file} → ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it('use every line of the table', () => {
    const used = new Set(src.flatMap((source) => importsOf(source).map((target) => `${partOf(source.file)} → ${partOf(target)}`)));
    const unused = Object.entries(mayImport).flatMap(([from, targets]) =>
      Object.keys(targets)
        .map((to) => `${from} → ${to}`)
        .filter((edge) => !used.has(edge)),
    );
    expect(unused).toEqual([]);
  });

  it('load the demo lazily, so that the service never loads it', () => {
    expect(src.filter(({ code }) => /^import [^;]*'\.\/demo\//m.test(code)).map(({ file }) => file)).toEqual([]);
  });

  it('name files with their extension', () => {
    const bare = everything.flatMap((source) =>
      importsOf(source).filter((target) => /^(src|test|migrations)\//.test(target) && !/\.(ts|json)$/.test(target)),
    );
    expect(bare).toEqual([]);
  });
});

describe('the outside world', () => {
  it('Express is imported by the HTTP layer only', () => {
    const users = src.filter((source) => importsOf(source).includes('express')).map(({ file }) => file);
    expect(users.filter((file) => !/^src\/(app\.ts|http\/|public\/index\.ts|demo\/)/.test(file))).toEqual([]);
  });

  it('the environment is read in main.ts only', () => {
    expect(offending(src, /\bprocess\.env\b/)).toEqual(['src/main.ts']);
  });

  it('the system clock is read in core/clock.ts only', () => {
    expect(offending(src, /new Date\(\)|Date\.now\(\)/)).toEqual(['src/core/clock.ts']);
  });

  it("nothing that serves requests connects as the tables' owner, who sees every organization", () => {
    expect(offending(src, /'portal_owner'/)).toEqual(['src/admin/index.ts', 'src/db/connect.ts']);
  });

  it('encrypted values are stored in a column listed in src/admin/encrypted-columns.ts, or not stored at all', () => {
    // A new line here needs a new entry there: a value that key rotation skips can never be decrypted again.
    expect(src.flatMap(({ file, code }) => [...code.matchAll(/\.encrypt\(/g)].map(() => file))).toEqual([
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

  it('URLs that a customer entered are called through the guarded fetch', () => {
    // The identity provider, the models' providers and Stripe's address are the operator's, the demo's client and the sandbox call
    // their own service, and the clock watch wraps the guarded fetch.
    expect(offending(src, /(?:await |return |= )fetch\(/)).toEqual([
      'src/connectors/netsuite/clock-skew.ts',
      'demo/management-client.ts',
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
    ['stripe', /^src\/gateways\/payments\/stripe\/(client|errors|events|payouts|snapshots|stripe-provider)\.ts$/, 6],
    ['node-cron', /^src\/core\/recurring\.ts$/, 1],
    ['vitest', /^test\/contract\/architecture\.test\.ts$/, 1],
    ['supertest', /^test\/setup\/api\.ts$/, 1],
  ])('%s is imported where it is used', (name, where, count) => {
    const users = everything.filter(
      (source) => where.test(source.file) && importsOf(source).some((target) => target === name || target.startsWith(`${name}/`)),
    );
    expect(users).toHaveLength(count);
  });
});

/** Without this file, which contains what it forbids. */
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

  it('are no barrels: an index is a public entry point or a table of contents', () => {
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

  it('use named exports, and no any, enum or non-null assertion', () => {
    expect(offending(src, /export default/)).toEqual([]);
    expect(offending(exceptThis, /:\s*any\b|<any\b|\bas any\b|\bany\[\]/)).toEqual([]);
    expect(offending(everything, /^\s*(export )?(const )?enum /m)).toEqual([]);
    expect(offending(src, /[\w)\]]!(\.|;|,|\)|\[)/)).toEqual([]);
  });
});
