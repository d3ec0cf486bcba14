// Each function that keeps records, fields or values from a reader, and what it does when it is switched off.
// The oracle must notice at each surface that is named.
import type { Replacement } from '../setup/replace-function.ts';

export type SwitchOff = Replacement & {
  /** What is switched off. */
  readonly what: string;
  /** Names in surfaces.ts or run-cases.ts. */
  readonly surfaces: readonly string[];
  /** Notes so long that answers have to be read in pieces. */
  readonly large?: true;
};

/** Changes nothing: what is noticed with it is noticed with any other. */
export const control: Replacement = {
  file: 'src/public/version/narrow.ts',
  replaces: 'readWhole',
  instead: '(original) => original',
};

const narrow = 'src/public/version/narrow.ts';
const rowScope = {
  what: 'the row scope',
  file: narrow,
  replaces: 'intersectScopes',
  instead: '(original) => (...given) => original(...given) && []',
};
/** What `makeShape` returns, with this of the endpoint as it is for a reader without limits. */
const wholeShape = (what: string, surface: string, changed: string): SwitchOff => ({
  what,
  surfaces: [surface],
  file: narrow,
  replaces: 'makeShape',
  instead: `(original) => (endpoint, ...given) => ({ ...original(endpoint, ...given), ${changed} })`,
});
const unchecked = (what: string, file: string, replaces: string): SwitchOff => ({
  what: `${what} of a stale field`,
  surfaces: ['stale scope fields'],
  file,
  replaces,
  instead: '() => (_endpoint, freshness) => freshness',
});
const allowed = (what: string, surfaces: readonly string[], file: string, replaces: string): SwitchOff => ({
  what,
  surfaces,
  file,
  replaces,
  instead: '() => () => true',
});
const withoutScope = 'plan.conditions.slice(plan.endpoint.scope.length)';

const rows: readonly SwitchOff[] = [
  {
    ...rowScope,
    surfaces: [
      ...['list', 'record', 'export as JSON lines', 'export as CSV', 'change feed', 'summary', 'expand'],
      ...['describe of /mcp', 'query of /mcp', 'get of /mcp', 'aggregate of /mcp', 'expand of /mcp'],
      ...['aggregate', 'discovery', 'HEAD', 'change stream', 'webhooks', 'link to a view'],
    ],
  },
  { ...rowScope, what: 'the row scope of answers in pieces', surfaces: ['list', 'change feed'], large: true },
  {
    what: 'the exclusion of withheld records',
    surfaces: [
      ...['list', 'record', 'export as JSON lines', 'export as CSV', 'change feed', 'summary', 'expand'],
      ...['query of /mcp', 'aggregate of /mcp', 'expand of /mcp', 'aggregate'],
    ],
    file: 'src/public/read/sql/conditions.ts',
    replaces: 'planConditions',
    instead:
      '(original) => (plan, schema) => original({ ...plan, endpoint: { ...plan.endpoint, scope: [] } }, schema)',
  },
  {
    what: 'the selection that is sorted and counted',
    surfaces: ['list'],
    file: 'src/public/read/sql/list-sql.ts',
    replaces: 'matchedSql',
    instead: `(original) => (ref, plan, texts) =>
      original(ref, plan, texts.map((text, at) => (at < plan.endpoint.scope.length ? '(' + text + ' or true)' : text)))`,
  },
  {
    what: 'the anchors of deep pages',
    surfaces: ['pages'],
    file: 'src/public/read/result/list.ts',
    replaces: 'anchorsStatement',
    instead: `(original) => (ref, plan, every) => original(ref, { ...plan, conditions: ${withoutScope} }, every)`,
  },
  {
    what: 'the row scope of a compressed list',
    surfaces: ['gzip'],
    file: 'src/public/serve/serve.ts',
    replaces: 'serveList',
    instead: `(original) => (service, read) => {
      const { req } = read.exchange;
      if (req.headers['accept-encoding'] !== 'gzip') return original(service, read);
      return original(service, { ...read, endpoint: { ...read.endpoint, scope: [], reach: '' } });
    }`,
  },
  {
    what: 'the existence of a record with bad parameters',
    surfaces: ['record'],
    file: 'src/public/serve/serve.ts',
    replaces: 'readSingleRecord',
    instead: `(original) => (reader, plan) =>
      original(reader, plan.fields.length > 0 ? plan : { ...plan, endpoint: { ...plan.endpoint, scope: [] } })`,
  },
  {
    what: 'the total of an export',
    surfaces: ['export as JSON lines'],
    file: 'src/public/export/snapshot.ts',
    replaces: 'selectsAll',
    instead: `(original) => (plan) => original({ ...plan, conditions: ${withoutScope} })`,
  },
  {
    what: 'the records of the change feed',
    surfaces: ['change feed'],
    file: 'src/public/changes/change-sql.ts',
    replaces: 'scopedSources',
    instead: "(original) => (written) => ({ ...original(written), shown: 'true' })",
  },
  {
    what: 'the deletions of the change feed, and what left the scope',
    surfaces: ['change feed'],
    file: 'src/public/changes/change-sql.ts',
    replaces: 'scopedSources',
    instead: `() => (written) => ({
      ...wholeSources(written),
      shown: written.scope.map((part) => part.text(written.bind)).join(' and '),
    })`,
  },
  {
    what: 'the position in the change feed',
    surfaces: ['change feed'],
    file: 'src/public/changes/change-feed.ts',
    replaces: 'assertSameContent',
    instead:
      '(original) => (cursor, read) => original({ ...cursor, reachMark: toReachMark(read.endpoint) }, read)',
  },
  {
    what: 'the row scope of events',
    surfaces: ['change stream'],
    file: 'src/public/changes/change-stream.ts',
    replaces: 'findChangesAfter',
    instead:
      '(original) => (read, ...given) => original({ ...read, endpoint: { ...read.endpoint, scope: [] } }, ...given)',
  },
  {
    what: 'whether events have anything to report',
    surfaces: ['change stream'],
    file: 'src/public/changes/change-stream.ts',
    replaces: 'findChangesAfter',
    instead: '(original) => async (...given) => ({ ...(await original(...given)), hasChanges: true })',
  },
  {
    what: 'the position of an event',
    surfaces: ['change stream'],
    file: 'src/public/changes/change-stream.ts',
    replaces: 'cursorAt',
    instead:
      "(original) => (endpoint, state) => ({ ...original(endpoint, state), position: { generation: '0', kind: 'upsert', id: '0' } })",
  },
  {
    what: 'the row scope of what is counted for messages',
    surfaces: ['webhooks'],
    file: 'src/public/changes/follow.ts',
    replaces: 'countsStatement',
    instead:
      '(original) => (table, plan) => original(table, { ...plan, endpoint: { ...plan.endpoint, scope: [] } })',
  },
  {
    what: 'the row scope of the changes in messages',
    surfaces: ['webhooks'],
    file: 'src/public/changes/follow.ts',
    replaces: 'readChanges',
    instead:
      '(original) => (reader, plan, from) => original(reader, { ...plan, endpoint: { ...plan.endpoint, scope: [] } }, from)',
  },
  {
    what: 'what the key of an endpoint reads',
    surfaces: ['webhooks'],
    file: 'src/platform/webhooks/compose.ts',
    replaces: 'toReads',
    instead:
      '() => () => ({ layers: [{ versions: [], resources: [], rows: null, fields: null }], unmasked: true })',
  },
  {
    what: 'the number of records',
    surfaces: ['describe of /mcp', 'discovery'],
    file: 'src/public/read/result/count-records.ts',
    replaces: 'countRecords',
    instead: '(original) => (reader, endpoint) => original(reader, { ...endpoint, scope: [] })',
  },
  {
    what: 'a summary as JSON lines',
    surfaces: ['summary'],
    file: 'src/public/serve/serve-summary.ts',
    replaces: 'copySummaryStatement',
    instead: `(original) => (table, { list: plan, ...summary }) =>
      original(table, { ...summary, list: { ...plan, conditions: ${withoutScope} } })`,
  },
];

const keys: readonly SwitchOff[] = [
  {
    what: 'the cache of plans',
    surfaces: ['list'],
    file: 'src/public/read/plan/plan-cache.ts',
    replaces: 'planKey',
    instead: "(original) => (endpoint, ...given) => original({ ...endpoint, reach: '' }, ...given)",
  },
  {
    what: 'the cache of plans with related records',
    surfaces: ['expand'],
    file: 'src/public/read/plan/plan-cache.ts',
    replaces: 'relatedAccessKey',
    instead: "() => () => ''",
  },
  {
    what: 'the cache of totals',
    surfaces: ['list'],
    file: 'src/public/read/plan/plan.ts',
    replaces: 'toFilterKey',
    instead: `(original) => (endpoint, plan) =>
      original(endpoint, { ...plan, conditions: plan.conditions.slice(endpoint.scope.length) })`,
  },
  {
    what: 'the total of a search',
    surfaces: ['list'],
    file: 'src/public/read/plan/plan.ts',
    replaces: 'toFilterKey',
    instead: '(original) => (endpoint, plan) => original(endpoint, { ...plan, anyOf: [] })',
  },
  {
    what: 'the cache of summaries',
    surfaces: ['summary'],
    file: 'src/public/read/plan/summary-plan.ts',
    replaces: 'normalize',
    instead: "(original) => (plan) => original({ ...plan, list: { ...plan.list, filterKey: '' } })",
  },
  {
    what: 'entity tags',
    surfaces: ['entity tags'],
    file: 'src/public/http/exchange.ts',
    replaces: 'toIdentity',
    instead: `(original) => ({ endpoint, ...read }, ...given) =>
      original({ ...read, scopeKey: '', endpoint: { ...endpoint, key: endpoint.contentKey, reach: '' } }, ...given)`,
  },
  {
    what: 'the entity tag of a list with related records',
    surfaces: ['expand'],
    file: 'src/public/read/plan/expand.ts',
    replaces: 'expansionsKey',
    instead: '() => (expansions) => expansions.map(({ relation }) => [relation.name])',
  },
  {
    what: 'the description',
    surfaces: ['description'],
    file: 'src/public/serve/serve-description.ts',
    replaces: 'partFor',
    instead: '() => () => null',
  },
  {
    what: 'who reads examples from records',
    surfaces: ['description'],
    file: 'src/public/serve/serve-description.ts',
    replaces: 'readsExamples',
    instead: '() => () => true',
  },
  {
    what: 'the entity tag of the description',
    surfaces: ['description'],
    file: 'src/public/serve/serve-description.ts',
    replaces: 'partFor',
    instead: "(original) => (...given) => ({ of: (text) => text, ...original(...given), name: '' })",
  },
];

const fields: readonly SwitchOff[] = [
  allowed('allow-lists of fields', ['list'], narrow, 'allowsField'),
  {
    what: 'masks',
    surfaces: ['list'],
    file: narrow,
    replaces: 'maskFields',
    instead: '(original) => (shown) => original(shown, true)',
  },
  {
    what: 'masks of exports',
    surfaces: ['export as CSV'],
    file: 'src/public/export/export-sql.ts',
    replaces: 'maskedColumn',
    instead: '() => () => undefined',
  },
  {
    what: 'filters and sorts by masked fields',
    surfaces: ['list'],
    file: 'src/public/read/plan/plan.ts',
    replaces: 'assertListUnmasked',
    instead: '() => () => undefined',
  },
  {
    what: 'or by masked fields',
    surfaces: ['list'],
    file: 'src/public/read/plan/filters.ts',
    replaces: 'maskedParameters',
    instead:
      "(original) => (endpoint, query) => original(endpoint, new Map([...query].filter(([name]) => name !== 'or')))",
  },
  wholeShape('the default sort by a masked or hidden field', 'list', 'defaultSort: endpoint.defaultSort'),
  wholeShape('the suggestion of filters', 'errors', 'filters: endpoint.filters'),
  wholeShape('the suggestion of sorts', 'errors', 'sorts: endpoint.sorts'),
  wholeShape('a summary by a masked field', 'summary', 'summary: endpoint.summary'),
  wholeShape('a relation by a masked field', 'expand', 'relations: endpoint.relations'),
  wholeShape('the fields that q searches', 'list', 'search: endpoint.search'),
  wholeShape(
    'sorts by several fields of which one is masked or hidden',
    'list',
    'sortSets: endpoint.sortSets',
  ),
  {
    what: 'filters by masked fields of lines',
    surfaces: ['describe of /mcp'],
    file: narrow,
    replaces: 'lineNames',
    instead:
      '(original) => (fields, isMasked) => [...original(fields, isMasked), ...(isMasked ? [] : original(fields, true))]',
  },
  {
    what: 'the resource, fields and masks of a related record',
    surfaces: ['expand'],
    file: narrow,
    replaces: 'relatedTo',
    instead: '() => () => ({ target }) => readWhole(target())',
  },
];

const describe = 'src/public/tools/describe.ts';
const scopes: readonly SwitchOff[] = [
  allowed('the 403 for a version', ['errors', 'list'], 'src/public/version/scopes.ts', 'allowsVersion'),
  allowed(
    'the 403 for a resource, whether or not it exists,',
    ['errors'],
    'src/public/version/scopes.ts',
    'allowsResource',
  ),
  allowed('the resources of a description', ['description'], narrow, 'allowsResource'),
  allowed('the listing of versions', ['describe of /mcp'], describe, 'allowsVersion'),
  allowed(
    'the listing of the resources of all versions, for allow-lists of resources',
    ['describe of /mcp'],
    describe,
    'allowsResource',
  ),
  {
    what: 'the listing of the resources of all versions, for row scopes',
    surfaces: ['describe of /mcp'],
    file: describe,
    replaces: 'findScoped',
    instead:
      '(original) => (sources, tenant, reads, version) => original(sources, tenant, { ...reads, layers: [] }, version)',
  },
  {
    what: 'the listing of the resources of a version',
    surfaces: ['describe of /mcp'],
    file: describe,
    replaces: 'listResources',
    instead: `(original) => (tenant, { reads, ...access }, ...given) =>
      original(tenant, { ...access, reads: { ...reads, layers: [] } }, ...given)`,
  },
  allowed(
    'the versions that discovery lists',
    ['discovery'],
    'src/public/serve/serve-discovery.ts',
    'allowsVersion',
  ),
];

const stale: readonly SwitchOff[] = [
  unchecked('every read', 'src/public/read/result/stale-fields.ts', 'assertScopeFresh'),
  unchecked('the cached state', 'src/public/http/exchange.ts', 'assertScopeFresh'),
  unchecked('a list', 'src/public/read/result/list.ts', 'assertScopesFresh'),
  unchecked('a record', 'src/public/read/result/rows.ts', 'assertScopesFresh'),
  unchecked('an export', 'src/public/export/serve-export.ts', 'assertScopeFresh'),
  unchecked('a file of a view', 'src/public/records/records-file.ts', 'assertScopeFresh'),
  unchecked('a summary', 'src/public/read/result/summary.ts', 'assertScopeFresh'),
  {
    what: 'related records of a stale field',
    surfaces: ['stale scope fields'],
    file: 'src/public/read/result/stale-fields.ts',
    replaces: 'assertScopesFresh',
    instead: '(original) => (plan, states) => original({ ...plan, expansions: [] }, states)',
  },
];

const ofLinks = {
  surfaces: ['link to a view'],
  file: 'src/platform/view-links/open-link.ts',
  replaces: 'toRights',
};
const links: readonly SwitchOff[] = [
  { ...ofLinks, what: 'the rows of a link', instead: '() => () => allRows({ unmasked: false })' },
  {
    ...ofLinks,
    what: 'the masks of a link',
    instead: '(original) => (link) => ({ ...original(link), unmasked: true })',
  },
];

export const switchOffs: readonly SwitchOff[] = [...links, ...rows, ...keys, ...fields, ...scopes, ...stale];
