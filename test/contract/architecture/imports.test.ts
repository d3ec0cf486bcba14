// Which part of the source may import which, and that no imports form a circle.
import { describe, expect, it } from 'vitest';
import { demo, everything, isInRepository, packages, programs, type Source, src, tools } from './sources.ts';

/** The folder or file of `src` that a file belongs to. */
const roomOf = (file: string): string => file.split('/')[1] ?? '';

/**
 * `all`: any file of that folder. `door`: only its index.ts. A list: these files only, for the reason given
 * in the comment.
 */
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
  warehouse: { core: 'all', db: 'all', connectors: ['connector.ts', 'discovery.ts', 'source-records.ts'] },
  // Authentication, and the only writer of the audit log.
  identity: { core: 'all', db: 'all' },
  // Renders plain data into text in a worker thread that has access to nothing else.
  templates: { core: 'all' },
  // A request's credential becomes a principal before any feature sees it. The sandbox's payment page shows
  // and pays its sessions.
  http: { core: 'all', db: 'all', identity: 'all', gateways: ['payments/sandbox/pay-session.ts'] },
  // Alerts about a sync are queued as mail in the transaction that finishes the run.
  sync: {
    core: 'all',
    db: 'all',
    warehouse: 'all',
    mail: 'door',
    connectors: ['connector.ts', 'discovery.ts', 'kinds.ts', 'source-records.ts'],
  },
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
    // Creates an organization's schema and measures its size; what waits for a server of the warehouse.
    warehouse: ['tenant-schema.ts', 'tables-pending.ts'],
    // DNS records that prove control of a hostname; language models for agents; payment providers.
    gateways: [
      'dns.ts',
      'model/model.ts',
      'model/create-model.ts',
      'payments/provider.ts',
      'payments/providers.ts',
    ],
    // The contract, with its error messages, and the hostnames of an account.
    connectors: ['connector.ts', 'discovery.ts', 'payment-writer.ts', 'source-records.ts', 'netsuite/connection.ts'],
  },
  // Health, metrics and shutdown of the process; no feature depends on it.
  operate: { core: 'all', http: ['health.ts', 'served.ts'] },
  // Tools for agents, built on the route values and on the published versions.
  mcp: { core: 'all', http: 'all', platform: 'door', public: 'door' },
  'config.ts': { core: 'all' },
  // Publications and deletions left unfinished by a stopped process are resumed; ended secrets of API keys
  // are reported; pending domains are checked again; subscriptions are sent, and ended through the links of
  // their mails; the sandbox is a provider in the same process, with its clock.
  'app.ts': {
    core: 'all',
    http: 'all',
    identity: 'all',
    platform: [
      'index.ts',
      'conversations/agent-work.ts',
      'api-keys/report-secret-ends.ts',
      'api-schemas/publication.ts',
      'api-schemas/maintain-indexes.ts',
      'api-schemas/upgrade-warehouses.ts',
      'domains/recheck.ts',
      'organizations/finish-deletions.ts',
      'pay/provider/worker.ts',
      'pay/write-back/worker.ts',
      'pay/write-back/alerts.ts',
      'subscriptions/runner.ts',
      'subscriptions/unsubscribe.ts',
    ],
    gateways: ['payments/sandbox/deliver-events.ts'],
    mcp: ['server.ts'], // loaded with the first message, since its dependencies are large
    public: 'door',
    mail: 'door',
    sync: 'door',
  },
  // Usage counters are flushed to the database after the last request, before it closes. The server is
  // created before the application, with the message classes that the application wants. Warehouses of an
  // older version are upgraded before the first request.
  'service.ts': {
    core: 'all',
    db: 'all',
    http: ['driver/message-classes.ts', 'health.ts', 'served.ts', 'server/server.ts', 'server/shutdown.ts'],
    operate: 'all',
    platform: ['api-schemas/upgrade-warehouses.ts'],
    public: 'door',
    'app.ts': 'all',
    'config.ts': 'all',
    'open-database.ts': 'all',
  },
  'open-database.ts': { db: 'all', 'config.ts': 'all' },
  // Moves the whole service between two databases.
  move: { core: 'all', db: 'all', warehouse: ['tenant-schema.ts'] },
  // Operator commands do what no route does: they create an organization and its first key without a caller,
  // re-encrypt what any part has encrypted, and finish what a lost server left unfinished.
  admin: {
    core: 'all',
    db: 'all',
    gateways: ['payments/sandbox/sandbox.ts'],
    http: ['fields.ts', 'idempotency.store.ts', 'route/validation-messages.ts'],
    identity: ['api-key.ts', 'audit.store.ts', 'record-token.store.ts', 'sessions.store.ts'],
    mail: 'door',
    move: 'all',
    platform: 'all',
    public: ['version/mask-secret.ts'],
    sync: 'door',
    // Whether an earlier version made an organization's tables; whether a node responds.
    warehouse: ['tenant-schema.ts', 'tables-pending.ts'],
    'config.ts': 'all',
    'open-database.ts': 'all',
    'service.ts': 'all',
  },
  'run-command.ts': { core: 'all', db: ['unusable-database.ts'], 'config.ts': 'all' },
  'main.ts': {
    core: 'all',
    admin: 'door',
    'config.ts': 'all',
    'open-database.ts': 'all',
    'run-command.ts': 'all',
    'service.ts': 'all',
  },
};

/**
 * The rooms of the public interface, and which others each imports. `engine.ts` and `index.ts` put them
 * together.
 */
const publicRooms: Record<string, readonly string[]> = {
  load: [],
  version: [],
  read: ['version'],
  openapi: ['read', 'version'],
  http: ['read', 'version'],
  changes: ['http', 'read', 'version'],
  draft: ['read', 'version'],
  export: ['http', 'load', 'read', 'version'],
  proof: ['read', 'version'],
  records: ['export', 'read', 'version'],
  tools: ['read', 'version'],
  'engine.ts': ['draft', 'export', 'load', 'read', 'records', 'tools', 'version'],
  serve: ['changes', 'engine.ts', 'export', 'http', 'load', 'openapi', 'read', 'version'],
  'index.ts': [
    'draft',
    'engine.ts',
    'http',
    'openapi',
    'proof',
    'read',
    'records',
    'serve',
    'tools',
    'version',
  ],
};

function isAllowed(from: string, to: string): boolean {
  const access = mayImport[roomOf(from)]?.[roomOf(to)];
  if (access === undefined || access === 'all') return access === 'all';
  const inside = to.split('/').slice(2).join('/');
  return access === 'door' ? inside === 'index.ts' : access.includes(inside);
}

const targetsOf = ({ imports }: Source): string[] => imports.map(({ target }) => target);
/** Each import of a file of this repository from outside of the importing part, as `file → file`. */
const crossings = (sources: readonly Source[], partOf: (file: string) => string): [string, string][] =>
  sources.flatMap((source) =>
    targetsOf(source)
      .filter((target) => isInRepository(target) && partOf(target) !== partOf(source.file))
      .map((target): [string, string] => [source.file, target]),
  );
const written = (edges: readonly (readonly [string, string])[]): string[] =>
  edges.map(([from, to]) => `${from} → ${to}`);

describe('imports', () => {
  it('follow the table', () => {
    const between = crossings(src, (file) => file.split('/').slice(0, 2).join('/')).filter(([, to]) =>
      to.startsWith('src/'),
    );
    expect(written(between.filter(([from, to]) => !isAllowed(from, to)))).toEqual([]);
  });

  it('use every line of the table', () => {
    const used = new Set(
      src.flatMap((source) =>
        targetsOf(source).map((target) => `${roomOf(source.file)} → ${roomOf(target)}`),
      ),
    );
    const unused = Object.entries(mayImport).flatMap(([from, targets]) =>
      Object.keys(targets)
        .map((to) => `${from} → ${to}`)
        .filter((edge) => !used.has(edge)),
    );
    expect(unused).toEqual([]);
  });

  it('of packages and of the service stay among themselves', () => {
    const outside = crossings([...src, ...packages], (file) =>
      file.startsWith('src/') ? 'src' : file.split('/').slice(0, 2).join('/'),
    );
    expect(written(outside)).toEqual([]);
  });

  it('of the demo are what it needs of the service, and packages', () => {
    // The demo acts as a customer, an ERP and an operator at once.
    const allowed =
      /^(packages\/|src\/(config|open-database|run-command|service)\.ts$|src\/(core|db|identity)\/|src\/platform\/organizations\/organizations\.service\.ts$)/;
    expect(
      written(crossings(demo, (file) => file.split('/')[0] ?? '').filter(([, to]) => !allowed.test(to))),
    ).toEqual([]);
  });

  it('of programs are no tests, tools or browser code', () => {
    const edges = crossings(programs, (file) => file.split('/')[0] ?? '');
    expect(written(edges.filter(([, to]) => /^(test|bench|scripts|db|web)\//.test(to)))).toEqual([]);
  });

  it('name files with their extension', () => {
    const bare = everything.flatMap((source) =>
      targetsOf(source).filter((target) => isInRepository(target) && !/\.\w+$/.test(target)),
    );
    expect(bare).toEqual([]);
  });
});

/** The circles of a graph: its strongly connected components (Tarjan's algorithm) with more than one node. */
function circlesOf(graph: ReadonlyMap<string, Iterable<string>>): string[][] {
  const circles: string[][] = [];
  const path: string[] = [];
  const numbers = new Map<string, number>();
  const finished = new Set<string>();
  const visit = (node: string): number => {
    const own = numbers.size;
    numbers.set(node, own);
    path.push(node);
    let lowest = own;
    for (const next of graph.get(node) ?? [])
      if (graph.has(next) && !finished.has(next)) lowest = Math.min(lowest, numbers.get(next) ?? visit(next));
    if (lowest < own) return lowest;
    const component = path.splice(path.indexOf(node));
    for (const member of component) finished.add(member);
    if (component.length > 1) circles.push(component.sort());
    return lowest;
  };
  for (const node of graph.keys()) if (!numbers.has(node)) visit(node);
  return circles;
}

/** The graph of the groups of files; a file without a group counts in none. */
function graphOf(
  sources: readonly Source[],
  groupOf: (file: string) => string | undefined,
): Map<string, Set<string>> {
  const graph = new Map<string, Set<string>>();
  for (const source of sources) {
    const group = groupOf(source.file);
    if (group === undefined) continue;
    const targets = graph.get(group) ?? new Set();
    graph.set(group, targets);
    for (const target of targetsOf(source).map(groupOf))
      if (target !== undefined && target !== group) targets.add(target);
  }
  return graph;
}

/** Imports of types count: one file of a circle can only be understood with all others. */
describe('circles', () => {
  it('are found, also long ones and several', () => {
    const graph = {
      a: ['b'],
      b: ['c', 'x'],
      c: ['a'],
      x: ['y', 'a-package'],
      y: ['z'],
      z: ['y'],
      alone: ['a'],
    };
    expect(circlesOf(new Map(Object.entries(graph)))).toEqual([
      ['y', 'z'],
      ['a', 'b', 'c'],
    ]);
  });

  it('do not exist between files, except for a grammar', () => {
    // SuiteQL is a recursive language: a query contains expressions, which contain queries.
    const grammar = ['call', 'expression', 'from', 'query'].map(
      (name) => `packages/netsuite-simulator/src/suiteql/${name}.ts`,
    );
    expect(circlesOf(graphOf([...programs, ...tools], (file) => file))).toEqual([grammar]);
  });

  it('do not exist between folders of the service', () => {
    expect(circlesOf(graphOf(src, (file) => (file.startsWith('src/') ? roomOf(file) : undefined)))).toEqual(
      [],
    );
  });

  it('do not exist between rooms of the public interface, which import each other as in the table', () => {
    const graph = graphOf(src, (file) => /^src\/public\/([^/]+)/.exec(file)?.[1]);
    expect(Object.fromEntries([...graph].map(([room, targets]) => [room, [...targets].sort()]))).toEqual(
      publicRooms,
    );
    expect(circlesOf(graph)).toEqual([]);
  });

  it('do not exist between groups of the management interface', () => {
    const groupOf = (file: string): string | undefined => /^src\/platform\/([^/]+)\//.exec(file)?.[1];
    expect(circlesOf(graphOf(src, groupOf))).toEqual([]);
  });
});

/**
 * Large folders are divided into rooms, here in an order in which each imports earlier ones only: all that it
 * imports is listed. A file next to the rooms is a room of its own.
 */
const rooms: Record<string, Record<string, readonly string[]>> = {
  'src/http': {
    // The insides of Express and Node.js.
    driver: [],
    // An operation as a value: define, parse, authorize, invoke.
    route: [],
    'fields.ts': [],
    'health.ts': [],
    'loggable-path.ts': [],
    'pending-headers.ts': [],
    'rate-limit.ts': [],
    'served.ts': [],
    'topic-notifications.ts': [],
    'errors.ts': ['pending-headers.ts'],
    'page.ts': ['fields.ts'],
    'download.ts': ['route'],
    'idempotency.store.ts': ['route'],
    'idempotency.ts': ['idempotency.store.ts', 'route'],
    'request-log.ts': ['driver', 'loggable-path.ts', 'pending-headers.ts', 'route', 'served.ts'],
    'cookies.ts': [],
    'caller-address.ts': [],
    'own-host.ts': [],
    'failure-limit.ts': ['caller-address.ts', 'rate-limit.ts'],
    'authenticate.ts': ['caller-address.ts', 'cookies.ts', 'errors.ts', 'failure-limit.ts'],
    'request-limits.ts': ['authenticate.ts', 'rate-limit.ts'],
    'event-stream.ts': [
      'authenticate.ts',
      'errors.ts',
      'request-limits.ts',
      'route',
      'topic-notifications.ts',
    ],
    // The Node.js server below the application.
    server: ['driver', 'errors.ts'],
    // HTML.
    pages: ['cookies.ts', 'errors.ts', 'failure-limit.ts'],
    'sign-in.ts': [
      'authenticate.ts',
      'caller-address.ts',
      'cookies.ts',
      'errors.ts',
      'failure-limit.ts',
      'own-host.ts',
      'pages',
      'route',
    ],
    // The readers of routes: OpenAPI, Express, MCP.
    openapi: ['errors.ts', 'fields.ts', 'page.ts', 'route'],
    'router.ts': [
      'authenticate.ts',
      'download.ts',
      'event-stream.ts',
      'failure-limit.ts',
      'idempotency.ts',
      'pages',
      'request-limits.ts',
      'route',
      'served.ts',
    ],
    'mcp.ts': ['authenticate.ts', 'failure-limit.ts', 'request-limits.ts', 'route', 'router.ts'],
  },
  'src/platform/pay': {
    // What is stored of payments and of the configuration.
    ledger: [],
    // Payments to the ERP.
    'write-back': ['ledger'],
    'pay.schemas.ts': ['ledger'],
    // What the provider reports: accounts, tasks, events and payouts.
    provider: ['ledger', 'pay.schemas.ts', 'write-back'],
    // What may be paid, and the page on which it is paid.
    checkout: ['ledger', 'pay.schemas.ts', 'provider'],
    'config.service.ts': ['ledger', 'pay.schemas.ts', 'provider', 'write-back'],
    'payments.service.ts': ['ledger', 'pay.schemas.ts', 'provider', 'write-back'],
    'pay.routes.ts': [
      'checkout',
      'config.service.ts',
      'ledger',
      'pay.schemas.ts',
      'payments.service.ts',
      'provider',
    ],
  },
};

describe.each(Object.entries(rooms))('the rooms of %s', (folder, table) => {
  it('import what the table lists, and nothing else', () => {
    const graph = graphOf(src, (file) =>
      file.startsWith(`${folder}/`) ? file.slice(folder.length + 1).split('/')[0] : undefined,
    );
    expect(Object.fromEntries([...graph].map(([room, targets]) => [room, [...targets].sort()]))).toEqual(
      table,
    );
  });

  it('import earlier ones only', () => {
    const order = Object.keys(table);
    const later = order.flatMap((room, at) =>
      (table[room] ?? []).filter((target) => order.indexOf(target) >= at).map((to) => [room, to]),
    );
    expect(later).toEqual([]);
  });
});
