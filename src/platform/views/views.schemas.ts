import { z } from 'zod';
import { Id, Instant, Problem, shortText } from '../../http/fields.ts';
import { Pagination } from '../../http/page.ts';
import { aggregateFunctions, operators, periods } from '../../public/index.ts';

const source = z.string().min(1).max(200);
const column = source.describe('A field of the record type, `<field>.name` for its label, or `lines`');
const field = source.describe('A field of the record type, `<field>.name` for its label, or `id`');
const scalar = z.union([z.string().max(2_000), z.number(), z.boolean()]);

export const ViewFilter = z
  .strictObject({
    field,
    operator: z
      .enum(operators)
      .exclude(['all'])
      .describe('As in the public interface; `null` takes true or false'),
    value: z
      .union([scalar, z.array(scalar).min(1).max(100)])
      .describe(
        'A value of the type of the field. `eq` and `not` also take a list, meaning any or none of its values. Send numbers with more ' +
          'digits than a double can hold as text',
      ),
  })
  .meta({ id: 'ViewFilter' });
export const ViewSort = z
  .strictObject({ field, direction: z.enum(['asc', 'desc']) })
  .meta({ id: 'ViewSort' });

const summarized = source.describe('A field of the record type, or `<field>.name` for its label');
const ViewAggregate = z.strictObject({
  field: summarized,
  functions: z
    .array(z.enum(aggregateFunctions))
    .min(1)
    .max(aggregateFunctions.length)
    .describe(
      'Sums and averages of numbers; minima and maxima also of dates and times; `count_distinct` of any field',
    ),
});
const period = z.enum(periods).nullable();
const aggregates = z.array(ViewAggregate).max(20).describe('Every row also has the `count` of its records');
const describedGroups = 'One row per group; without groups one row for all records';
const summarySort = z
  .string()
  .max(220)
  .nullable()
  .describe(
    'A group or an aggregate: `<field>`, `<field>.<period>`, `count` or `<function>.<field>`; a leading `-` means descending',
  );
const limit = z.int().min(1).max(1_000).describe('Maximum number of rows');

const NewViewGroup = z.strictObject({
  field: summarized,
  period: period.default(null).describe("Of a date or time, in the time zone of the ERP account's dates"),
});
const NewViewSummary = z
  .strictObject({
    aggregates: aggregates.default([]),
    groups: z.array(NewViewGroup).max(2).default([]).describe(describedGroups),
    sort: summarySort.default(null),
    limit: limit.default(100),
  })
  .meta({ id: 'NewViewSummary' });
const ViewSummary = z
  .object({
    aggregates,
    groups: z.array(z.object({ field: summarized, period })).describe(describedGroups),
    sort: summarySort,
    limit,
  })
  .meta({ id: 'ViewSummary' });

const columns = z
  .array(column)
  .min(1)
  .max(100)
  .describe('In display order, without duplicates; every record also has `id`');
const filters = z.array(ViewFilter).max(20).describe('Combined with AND');
const sort = z.array(ViewSort).max(3).describe('Records without a value come last; ties are sorted by id');
const summary = NewViewSummary.nullable().describe(
  'What the view shows of its records in groups; mails then show these rows',
);
export const visibilities = ['private', 'team', 'organization'] as const;
const visibility = z.enum(visibilities);
const teamId = Id.nullable().describe('Only with the visibility `team`');

export const NewView = z.strictObject({
  name: shortText(120),
  recordType: z.string().min(1).max(200),
  columns,
  filters: filters.default([]),
  sort: sort.default([]),
  summary: summary.default(null),
  visibility: visibility.default('private'),
  teamId: teamId.default(null),
});
export const ViewPatch = z.strictObject({
  name: shortText(120).optional(),
  columns: columns.optional(),
  filters: filters.nullable().optional(),
  sort: sort.nullable().optional(),
  summary: summary.optional(),
  visibility: visibility.optional(),
  teamId: teamId.optional(),
});

export const View = z
  .object({
    id: Id,
    name: z.string(),
    recordType: z.string(),
    columns: z.array(z.string()),
    filters: z.array(ViewFilter),
    sort: z.array(ViewSort),
    summary: ViewSummary.nullable(),
    visibility,
    teamId: Id.nullable().describe('Null also after the team was deleted: then only the owner sees the view'),
    owner: z
      .object({ id: Id, email: z.string(), name: z.string() })
      .nullable()
      .describe('Null after the owner left: then callers with `member:update` manage the view'),
    createdAt: Instant,
    updatedAt: Instant,
  })
  .meta({ id: 'View' });

export const ViewRecords = z
  .object({
    data: z
      .array(z.record(z.string(), z.unknown()))
      .describe('`id` first, then the columns under their sources, with values as in the public interface'),
    pagination: Pagination,
    columns: z.array(
      z.object({
        source: z.string(),
        type: z
          .enum(['text', 'number', 'integer', 'boolean', 'date', 'time', 'lines'])
          .nullable()
          .describe('Null when the field does not exist at the moment'),
      }),
    ),
    problems: z
      .array(Problem)
      .describe(
        'Parts of the view that do not work at the moment. A filter that does not work matches no records. `stale`: the ERP sends no values of the field at the moment; those shown may be out of date',
      ),
    syncedAt: Instant.nullable().describe(
      'When the last sync that could read every field of the view was made',
    ),
  })
  .meta({ id: 'ViewRecords' });

export const ViewRows = z
  .object({
    data: z
      .array(z.record(z.string(), z.unknown()))
      .describe(
        'Groups under `<field>` or `<field>.<period>`, then `count`, then an object of fields for each function. Sums, averages, minima and maxima are texts with exact digits',
      ),
    total: z.int().describe('Number of groups, also of those beyond the limit'),
    problems: z
      .array(Problem)
      .describe(
        'Parts of the summary that do not work at the moment. There are no rows then, unless `stale`',
      ),
    syncedAt: Instant.nullable().describe(
      'When the last sync that could read every field of the summary was made',
    ),
  })
  .meta({ id: 'ViewRows' });

export type NewView = z.output<typeof NewView>;
export type ViewPatch = z.output<typeof ViewPatch>;
export type View = z.input<typeof View>;
