// How long checking a customer's document holds the event loop: the largest documents that a request may
// contain, made so that each rule costs the most. Processor time of the main thread, the median of seven.
// Usage: npm run bench -- documents
import { checkQueryText } from '../src/connectors/netsuite/customer-query/query-text.ts';
import { createSuggestions } from '../src/core/text/nearest-name.ts';
import { parseArguments } from '../src/http/route/parse.ts';
import { ValidateInput } from '../src/platform/api-schemas/api-schemas.schemas.ts';
import { hasForbiddenLink } from '../src/platform/portal/markdown-links.ts';
import { BulkSyncConfigs } from '../src/platform/syncs/bulk.schemas.ts';
import { NewView } from '../src/platform/views/views.schemas.ts';
import {
  type Available,
  bindDocument,
  compareVersions,
  SchemaDocument,
  validateDocument,
} from '../src/public/index.ts';
import { bindQuery } from '../src/public/records/record-query.ts';

const times = (count: number) => Array.from({ length: count }, (_, index) => index);
const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};
function measure(name: string, work: () => unknown): void {
  const runs = times(7).map(() => {
    const before = cpuMs();
    try {
      work();
    } catch {
      // A refusal is what is measured.
    }
    return cpuMs() - before;
  });
  const [fastest = 0, , , median = 0] = runs.sort((a, b) => a - b);
  process.stdout.write(
    `${name.padEnd(64)} ${median.toFixed(0).padStart(5)} ms (fastest ${fastest.toFixed(0)})\n`,
  );
}

/** Names that differ in their last characters only: comparing them takes longest. */
const longName = (index: number): string =>
  `custbody_of_a_long_name_that_all_fields_of_this_account_begin_with_${String(index).padStart(6, '0')}`;
const columns = times(1_500).map((index) => ({
  ...{
    column: `c_${index}`,
    field: longName(index),
    part: 'value' as const,
    type: 'text' as const,
    state: 'live' as const,
    lineFields: null,
  },
}));
const available = {
  invoice: { label: 'Invoice', idType: 'integer', hasData: true, columns },
} as unknown as Available;
const endpoint = (index: number, fields: object[], filters: object[] = []) => ({
  ...{ name: `e${index}`, recordType: 'invoice', fields, filters },
});
const filtersOf = (nameOf: (index: number) => string) =>
  times(500).map((index) => ({ field: nameOf(index), operators: ['eq'] }));
const known = times(500).map((index) => ({ name: `f${index}`, source: longName(index + 900) }));
const unknown = times(500).map((index) => ({
  name: `f${index}`,
  source: `x${longName(index).slice(1, -3)}xyz`,
}));
const document = (count: number, one: (index: number) => object) =>
  SchemaDocument.parse({ endpoints: times(count).map(one) });

const valid = document(14, (index) =>
  endpoint(
    index,
    known,
    filtersOf((each) => `f${499 - each}`),
  ),
);
const unknownSources = document(14, (index) => endpoint(index, unknown));
const unknownFilters = document(14, (index) =>
  endpoint(
    index,
    known,
    filtersOf((each) => longName(each)),
  ),
);
measure('API schema: 14 valid endpoints of 500 fields and filters', () => validateDocument(valid, available));
measure('API schema: 7,000 unknown sources', () => validateDocument(unknownSources, available));
measure('API schema: 7,000 unknown filters', () => validateDocument(unknownFilters, available));
const bound = { ...valid, bindings: bindDocument(valid, available) };
const renamed = {
  ...bound,
  endpoints: valid.endpoints.map((one) => ({
    ...one,
    fields: one.fields.map((field) => ({ ...field, name: `g${field.name}` })),
  })),
};
measure('API schema: binding it', () => bindDocument(valid, available));
measure('API schema: comparing two versions without a common field', () => compareVersions(bound, renamed));

const many = Object.fromEntries(times(49_000).map((index) => [`k${index}`, 1]));
const bodies = {
  '49,000 unknown names': { endpoints: [many] },
  '49,500 values of another type': {
    endpoints: times(99).map(() => ({ name: 1, fields: times(500).map(() => 1) })),
  },
  '9,900 values of none of several types': {
    endpoints: times(99).map(() => ({ groups: times(100).map(() => ({ a: 1, b: 2, c: 3 })) })),
  },
};
for (const [name, body] of Object.entries(bodies))
  measure(`Body: ${name}`, () => parseArguments(ValidateInput, body));
measure('View: 49,000 unknown names', () => parseArguments(NewView, many));
const view = { recordType: 'invoice', columns: unknown.slice(0, 100), filters: [], sort: [] };
measure('View: 100 unknown sources', () =>
  bindQuery(
    view,
    { type: available['invoice'] as Available[string], masks: new Map(), rows: 'all' },
    { page: 1, pageSize: 1 },
  ),
);
measure('Bulk sync configurations: 1,000 record types', () =>
  parseArguments(BulkSyncConfigs, { recordTypes: times(1_000).map(longName) }),
);
const types = times(5_000).map(longName);
measure('Bulk sync configurations: suggestions for 1,000 unknown names', () => {
  const suggest = createSuggestions();
  for (const index of times(1_000)) suggest(`x${longName(index).slice(1)}`, () => types);
});
measure('Query: 10,000 characters of columns', () =>
  checkQueryText(
    `SELECT ${times(3_000)
      .map(() => 'a')
      .join()}`,
  ),
);
measure('Query: 10,000 characters of parentheses and texts', () =>
  checkQueryText(`SELECT id, ${"('a''b'),".repeat(1_100)}`),
);
const markdown = ['](  ', '[a', '> ', '<a:', '\\', '[a]: '].map((part) => part.repeat(20_000 / part.length));
measure('Portal page: 48 texts of 20,000 characters', () =>
  times(8).map(() => markdown.map(hasForbiddenLink)),
);
