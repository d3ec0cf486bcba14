// Values of a real record of each resource, for the examples of a new description. Texts are values that
// several records share and that name no other record, such as states: others may name a person, and a
// description is kept for good. Fields that are masked or tagged, and lines, keep made-up examples.
import type { TenantCtx } from '../../core/ctx.ts';
import { readRecordState } from '../../warehouse/record-state.ts';
import { tenantSchema } from '../../warehouse/tenant-schema.ts';
import type { Examples } from '../openapi/describe-version.ts';
import { isTooLarge } from '../read/connection/failures.ts';
import { repeatWhileReplaced } from '../read/connection/repeat-while-replaced.ts';
import { planList } from '../read/plan/plan.ts';
import { plainRanges } from '../read/plan/ranges.ts';
import { listStatement } from '../read/sql/list-sql.ts';
import type { Available } from '../version/bind.ts';
import { type CompiledEndpoint, compileSchema, type ValueField } from '../version/compile.ts';
import { readWhole } from '../version/narrow.ts';
import type { Bindings, SchemaDocument } from '../version/schema-document.ts';

type Values = Readonly<Record<string, unknown>>;

const sampledRecords = 25;

/** The first records of the list with these fields, as callers read them. */
const readSample = (ctx: TenantCtx, endpoint: CompiledEndpoint, names: readonly string[]) =>
  repeatWhileReplaced(ctx, endpoint.recordType, async () => {
    const schema = tenantSchema(ctx.organizationId);
    const state = await readRecordState(ctx.db.data, schema, endpoint.recordType);
    if (state === undefined || state.activeTable === null) return [];
    const query = new Map([
      ['fields', [['id', ...names].join()]],
      ['pageSize', [String(Math.min(sampledRecords, endpoint.maxPageSize))]],
    ]);
    const plan = planList(readWhole(endpoint), query);
    const { write, values } = listStatement(
      { schema, table: state.activeTable },
      plan,
      plainRanges(plan),
      false,
    );
    const run = ctx.db.data.query<{ records: string }>(write(), [...values]);
    const { rows } = await run.catch((error: unknown) => {
      if (isTooLarge(error)) return { rows: [] };
      throw error;
    });
    // Examples need no exact digits.
    return JSON.parse(`[${rows[0]?.records ?? ''}]`) as Values[];
  });

const countValues = (record: Values) => Object.values(record).filter((value) => value !== null).length;

type Targets = Readonly<Record<string, string>>;

/** Whether the text may be the name of another record, such as a customer; each may when none is known to be one. */
const mayNameRecord = (source: string, targets: Targets): boolean =>
  Object.keys(targets).length === 0 || Object.hasOwn(targets, source.replace(/\.name$/, ''));

async function sampleEndpoint(
  ctx: TenantCtx,
  endpoint: CompiledEndpoint,
  shown: ReadonlySet<string>,
  targets: Targets,
): Promise<Values> {
  const fields = endpoint.fields.filter(
    (field): field is ValueField => field.kind === 'value' && shown.has(field.name),
  );
  const records = await readSample(
    ctx,
    endpoint,
    fields.map(({ name }) => name),
  );
  const [fullest = {}] = records.toSorted((a, b) => countValues(b) - countValues(a));
  const isShared = (name: string) => records.filter((record) => record[name] === fullest[name]).length > 1;
  const kept = fields.filter(({ name, source, column }) => {
    if (fullest[name] == null || Array.isArray(fullest[name])) return false;
    return column.type !== 'text' || (isShared(name) && !mayNameRecord(source, targets));
  });
  return Object.fromEntries(
    ['id', ...kept.map(({ name }) => name)]
      .filter((name) => name in fullest)
      .map((name) => [name, fullest[name]]),
  );
}

/** By resource and field. Rejects with database errors, and with 503 while a table is replaced again and again. */
export async function sampleExamples(
  ctx: TenantCtx,
  document: SchemaDocument,
  bindings: Bindings,
  available: Available,
): Promise<Examples> {
  const { endpoints } = compileSchema({ ...document, bindings, id: '', version: '' });
  const examples: Record<string, Values> = {};
  for (const { name, recordType, fields } of document.endpoints) {
    const endpoint = endpoints.get(name);
    if (endpoint === undefined) continue;
    const shown = fields.filter(({ mask, tags = [] }) => mask === undefined && tags.length === 0);
    examples[name] = await sampleEndpoint(
      ctx,
      endpoint,
      new Set(shown.map((field) => field.name)),
      available[recordType]?.targets ?? {},
    );
  }
  return examples;
}
