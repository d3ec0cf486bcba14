// One line of the service for each way by which records leave it, and the same line without the scope of the
// reader. Each patch must turn the oracle red at its surface. A patch that no longer applies fails, so a change
// of these lines is a change of this list.

export type Patch = {
  /** The surface that must notice. */
  readonly surface: string;
  /** Under src. */
  readonly file: string;
  /** Occurs exactly once. */
  readonly find: string;
  readonly replace: string;
};

/** `surface`: a name in surfaces.ts or run-cases.ts. */
export type SurfacePatch = Patch & {
  /** What is switched off. */
  readonly what: string;
  /** Notes so long that answers have to be read in pieces. */
  readonly large?: true;
};

/** Changes nothing: what is noticed with it is noticed with any patch. */
export const controlPatch: Patch = {
  surface: '',
  file: 'public/serve/serve.ts',
  find: 'service.loadPlan(read.endpoint, ',
  replace: 'service.loadPlan(read.endpoint, ',
};

const withoutScope = (endpoint: string): string => `{ ...${endpoint}, scope: [] }`;
const planWithoutScope = '{ ...plan, conditions: plan.conditions.slice(plan.endpoint.scope.length) }';

export const surfacePatches: readonly SurfacePatch[] = [
  {
    what: 'the rows of a list',
    surface: 'list',
    file: 'public/serve/serve.ts',
    find: 'service.loadPlan(read.endpoint, ',
    replace: `service.loadPlan(${withoutScope('read.endpoint')}, `,
  },
  {
    what: 'the total of a list',
    surface: 'list',
    file: 'public/read/sql.ts',
    find: 'whereSql(texts)}`;',
    replace: 'whereSql(texts.slice(plan.endpoint.scope.length))}`;',
  },
  {
    what: 'the selection that is sorted and counted',
    surface: 'list',
    file: 'public/read/sql.ts',
    find: 'matchedSql(ref, plan, texts)',
    replace:
      "matchedSql(ref, plan, texts.map((text, at) => (at < plan.endpoint.scope.length ? '(' + text + ' or true)' : text)))",
  },
  {
    what: 'the anchors of deep pages',
    surface: 'pages',
    file: 'public/read/sql.ts',
    find: 'whereSql([...texts, ...bounds])}) as a',
    replace:
      "whereSql([...texts.map((text, at) => (at < endpoint.scope.length ? '(' + text + ' or true)' : text)), ...bounds])}) as a",
  },
  {
    what: 'the rows of a list of many bytes',
    surface: 'list',
    file: 'public/read/sql.ts',
    find: "'large list',\n    ref,\n    plan,",
    replace: `'large list', ref, ${planWithoutScope},`,
    large: true,
  },
  {
    what: 'the cache of plans',
    surface: 'list',
    file: 'public/read/plan-cache.ts',
    find: '{endpoint.reach}$',
    replace: "{''}$",
  },
  {
    what: 'the cache of totals',
    surface: 'list',
    file: 'public/read/plan.ts',
    find: 'toFilterKey(endpoint, { conditions,',
    replace: 'toFilterKey(endpoint, { conditions: plan.conditions,',
  },
  {
    what: 'a record by its id',
    surface: 'record',
    file: 'public/serve/serve.ts',
    find: 'return planRecord(read.endpoint, ',
    replace: `return planRecord(${withoutScope('read.endpoint')}, `,
  },
  {
    what: 'the existence of a record with bad parameters',
    surface: 'record',
    file: 'public/serve/serve.ts',
    find: '{ endpoint: read.endpoint, id, fields: []',
    replace: `{ endpoint: ${withoutScope('read.endpoint')}, id, fields: []`,
  },
  {
    what: 'an export as JSON lines',
    surface: 'export as JSON lines',
    file: 'public/export/export-sql.ts',
    find: 'const texts = planConditions(plan, schema)',
    replace: `const texts = planConditions(${planWithoutScope}, schema)`,
  },
  {
    what: 'an export as CSV',
    surface: 'export as CSV',
    file: 'public/export/export-sql.ts',
    find: 'const texts = planConditions(plan, schema)',
    replace: `const texts = planConditions(${planWithoutScope}, schema)`,
  },
  {
    what: 'the total of an export',
    surface: 'export as JSON lines',
    file: 'public/export/snapshot.ts',
    find: 'if (selectsAll(plan)) return',
    replace: 'if (plan.conditions.length === plan.endpoint.scope.length && plan.anyOf.length === 0) return',
  },
  {
    what: 'the records of the change feed',
    surface: 'change feed',
    file: 'public/changes/change-sql.ts',
    find: '{shown} order by t.generation',
    replace: "{'true'} order by t.generation",
  },
  {
    what: 'the deletions of the change feed',
    surface: 'change feed',
    file: 'public/changes/change-sql.ts',
    find: "conditions.slice(0, columns.length).join(' and ')",
    replace: "'true'",
  },
  {
    what: 'records that left the scope, in the change feed',
    surface: 'change feed',
    file: 'public/changes/change-sql.ts',
    find: 'scope.length === 0 ? wholeSources(written) : scopedSources(written)',
    replace:
      "{ ...wholeSources(written), shown: scope.length === 0 ? 'true' : scope.map((part) => part.text(bind)).join(' and ') }",
  },
  {
    what: 'entity tags',
    surface: 'entity tags',
    file: 'public/http/exchange.ts',
    find: `  reader.organizationId,
  scopeKey,
  endpoint.key,
  ...(endpoint.reach === '' ? [] : [endpoint.reach]),`,
    replace: '  reader.organizationId, endpoint.contentKey,',
  },
  {
    what: 'the description',
    surface: 'description',
    file: 'public/serve/serve-description.ts',
    find: 'if (!access.layers.some(isRestricted) && readable.every(',
    replace: 'if (!access.layers.some(isRestricted) || !readable.every(',
  },
  {
    what: 'the entity tag of the description',
    surface: 'description',
    file: 'public/serve/serve-description.ts',
    find: "part?.name ?? scopeKey, 'description'",
    replace: "'description'",
  },
  {
    what: 'the number of records of describe',
    surface: 'describe of /mcp',
    file: 'public/read/count-records.ts',
    find: 'if (endpoint.scope.length > 0) return readListPage',
    replace: 'if (endpoint.scope.length > 99) return readListPage',
  },
  {
    what: 'the tool query',
    surface: 'query of /mcp',
    file: 'public/tools/record-tools.ts',
    find: 'const plan = planList(endpoint, listQuery(endpoint, input));',
    replace: `const plan = planList(${withoutScope('endpoint')}, listQuery(endpoint, input));`,
  },
  {
    what: 'the tool get',
    surface: 'get of /mcp',
    file: 'public/tools/record-tools.ts',
    find: 'const plan = planRecord(endpoint, ',
    replace: `const plan = planRecord(${withoutScope('endpoint')}, `,
  },
  {
    what: 'aggregates',
    surface: 'aggregate',
    file: 'public/read/aggregate.ts',
    find: 'list: planList(endpoint, ',
    replace: `list: planList(${withoutScope('endpoint')}, `,
  },
  {
    what: 'allow-lists of fields',
    surface: 'list',
    file: 'public/version/narrow.ts',
    find: 'endpoint.fields.filter(({ name }) => allowsField(access, endpoint.name, name))',
    replace: "endpoint.fields.filter(({ name }) => name !== '' || allowsField(access, endpoint.name, name))",
  },
  {
    what: 'masks',
    surface: 'list',
    file: 'public/version/narrow.ts',
    find: 'unmasked ? field : { ...field, mask: field.declared }',
    replace: 'unmasked || true ? field : { ...field, mask: field.declared }',
  },
  {
    what: 'masks of exports',
    surface: 'export as CSV',
    file: 'public/export/export-sql.ts',
    find: 'if (masked !== undefined) return',
    replace: "if (masked === 'never') return",
  },
  {
    what: 'filters and sorts by masked fields',
    surface: 'list',
    file: 'public/read/plan.ts',
    find: '  assertListUnmasked(endpoint, query);\n',
    replace: '',
  },
  {
    what: 'the default sort by a masked or hidden field',
    surface: 'list',
    file: 'public/version/narrow.ts',
    find: 'defaultSort: hasDefault ? defaultSort : idOrder',
    replace: 'defaultSort: hasDefault || true ? defaultSort : idOrder',
  },
  {
    what: 'a record in pieces',
    surface: 'record',
    file: 'public/read/rows.ts',
    find: `row.bytes === null) return { freshness, related, record: row.record };
    const large = await readPieces(limited, recordType, (table) => largeRecordStatement(table, plan), options);`,
    replace: `row.bytes === -1) return { freshness, related, record: row.record };
    const unlimited = { ...plan, endpoint: ${withoutScope('endpoint')} };
    const large = await readPieces(limited, recordType, (table) => largeRecordStatement(table, unlimited), options);`,
  },
  {
    what: 'changes of many bytes',
    surface: 'change feed',
    file: 'public/changes/change-sql.ts',
    find: "pageStatement('large changes', ref, plan, (",
    replace: `pageStatement('large changes', ref, { ...plan, endpoint: ${withoutScope('plan.endpoint')} }, (`,
    large: true,
  },
  ...[
    'list',
    'record',
    'export as JSON lines',
    'export as CSV',
    'change feed',
    'query of /mcp',
    'aggregate',
    'summary',
    'aggregate of /mcp',
    'expand',
    'expand of /mcp',
  ].map((surface) => ({
    what: 'the exclusion of withheld records',
    surface,
    file: 'public/read/conditions.ts',
    find: 'if (endpoint.scope.length === 0) return parts;',
    replace: 'if (endpoint.scope.length >= 0) return parts;',
  })),
  {
    what: 'the position in the change feed',
    surface: 'change feed',
    file: 'public/changes/change-feed.ts',
    find: 'if (reachMark !== toReachMark(endpoint))',
    replace: 'if (reachMark === null)',
  },
  {
    what: 'the answer to HEAD',
    surface: 'HEAD',
    file: 'public/serve/serve.ts',
    find: 'service.loadPlan(read.endpoint, ',
    replace: `service.loadPlan(req.method === 'HEAD' ? { ...read.endpoint, scope: [], reach: '' } : read.endpoint, `,
  },
  {
    what: 'a compressed list',
    surface: 'gzip',
    file: 'public/serve/serve.ts',
    find: 'service.loadPlan(read.endpoint, ',
    replace: `service.loadPlan(req.headers['accept-encoding'] === 'gzip' ? { ...read.endpoint, scope: [], reach: '' } : read.endpoint, `,
  },
  {
    what: 'the suggestion of filters',
    surface: 'errors',
    file: 'public/version/narrow.ts',
    find: 'filters: new Map([...endpoint.filters].filter(([, { field }]) => names.has(field)))',
    replace: 'filters: endpoint.filters',
  },
  {
    what: 'the suggestion of sorts',
    surface: 'errors',
    file: 'public/version/narrow.ts',
    find: 'new Map([...endpoint.sorts].filter(([name]) => names.has(name)))',
    replace: 'endpoint.sorts',
  },
  {
    what: 'the 403 for a version',
    surface: 'errors',
    file: 'public/version/scopes.ts',
    find: 'if (!allowsVersion(access, version))',
    replace: "if (version === '' && !allowsVersion(access, version))",
  },
  {
    what: 'the 403 for a version',
    surface: 'list',
    file: 'public/version/scopes.ts',
    find: 'if (!allowsVersion(access, version))',
    replace: "if (version === '' && !allowsVersion(access, version))",
  },
  {
    what: 'the 403 for a resource, whether or not it exists,',
    surface: 'errors',
    file: 'public/version/scopes.ts',
    find: 'resource !== null && !allowsResource(access, resource)',
    replace: "resource === '' && !allowsResource(access, resource)",
  },
  {
    what: 'the resources of a description',
    surface: 'description',
    file: 'public/version/narrow.ts',
    find: 'if (!allowsResource(access, endpoint.name)) return undefined;',
    replace: '',
  },
  {
    what: 'the listing of versions',
    surface: 'describe of /mcp',
    file: 'public/tools/describe.ts',
    find: '.filter(({ version }) => allowsVersion(reads, version))',
    replace: ".filter(({ version }) => version !== '' || allowsVersion(reads, version))",
  },
  {
    what: 'the listing of the resources of all versions, for allow-lists of resources',
    surface: 'describe of /mcp',
    file: 'public/tools/describe.ts',
    find: 'all.filter((resource) => allowsResource(reads, resource))',
    replace: "all.filter((resource) => resource !== '' || allowsResource(reads, resource))",
  },
  {
    what: 'the listing of the resources of all versions, for row scopes',
    surface: 'describe of /mcp',
    file: 'public/tools/describe.ts',
    find: 'const resources = isScoped',
    replace: 'const resources = isScoped && reads.layers.length > 9',
  },
  {
    what: 'the listing of the resources of a version',
    surface: 'describe of /mcp',
    file: 'public/tools/describe.ts',
    find: '.filter((endpoint) => readable.has(endpoint.name))',
    replace: '',
  },
  {
    what: 'every read of a stale field',
    surface: 'stale scope fields',
    file: 'public/read/stale-fields.ts',
    find: 'if (named.some(isMissing)) throw scopeFieldStale();',
    replace: '',
  },
  {
    what: 'cached answers of a stale field, by the cached state,',
    surface: 'stale scope fields',
    file: 'public/http/exchange.ts',
    find: 'if (cached !== undefined) return assertScopeFresh(endpoint, cached);',
    replace: 'if (cached !== undefined) return cached;',
  },
  {
    what: 'a list of a stale field',
    surface: 'stale scope fields',
    file: 'public/read/list.ts',
    find: 'assertScopesFresh(plan, page);',
    replace: '',
  },
  {
    what: 'a record of a stale field',
    surface: 'stale scope fields',
    file: 'public/read/rows.ts',
    find: 'assertScopesFresh(plan, read);',
    replace: '',
  },
  {
    what: 'an export of a stale field',
    surface: 'stale scope fields',
    file: 'public/export/serve-export.ts',
    find: 'assertScopeFresh(read.endpoint, snapshot.freshness);',
    replace: '',
  },
  {
    what: 'an aggregate of a stale field',
    surface: 'stale scope fields',
    file: 'public/read/aggregate.ts',
    find: 'assertScopeFresh(endpoint, freshness);',
    replace: '',
  },
];
