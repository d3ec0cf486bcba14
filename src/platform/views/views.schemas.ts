import { z } from 'zod';
import { Id, Instant, Problem, shortText } from '../../http/fields.ts';
import { Pagination } from '../../http/page.ts';
import { operators } from '../../public/index.ts';

const source = z.string().min(1).max(200);
const column = source.describe('A field of the record type, `<field>.name` for its label, or `lines`');
const field = source.describe('A field of the record type, `<field>.name` for its label, or `id`');
const scalar = z.union([z.string().max(2_000), z.number(), z.boolean()]);

export const ViewFilter = z
  .strictObject({
    field,
    operator: z.enum(operators).describe('As in the public interface; `null` takes true or false'),
    value: z
      .union([scalar, z.array(scalar).min(1).max(100)])
      .describe(
        'What fits the field. `eq` and `not` also take a list, for one of them and for none of them. Numbers with many digits go as text',
      ),
  })
  .meta({ id: 'ViewFilter' });
export const ViewSort = z.strictObject({ field, direction: z.enum(['asc', 'desc']) }).meta({ id: 'ViewSort' });

const columns = z.array(column).min(1).max(100).describe('In their order, each once; `id` is in every record beside them');
const filters = z.array(ViewFilter).max(20).describe('All of them must hold');
const sort = z.array(ViewSort).max(3).describe('Records without a value come last; the id decides at the end');
export const visibilities = ['private', 'team', 'organization'] as const;
const visibility = z.enum(visibilities);
const teamId = Id.nullable().describe('Goes with the visibility `team` alone');

export const NewView = z.strictObject({
  name: shortText(120),
  recordType: z.string().min(1).max(200),
  columns,
  filters: filters.default([]),
  sort: sort.default([]),
  visibility: visibility.default('private'),
  teamId: teamId.default(null),
});
export const ViewChange = z.strictObject({
  name: shortText(120).optional(),
  columns: columns.optional(),
  filters: filters.nullable().optional(),
  sort: sort.nullable().optional(),
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
    visibility,
    teamId: Id.nullable().describe('Null also once the team is deleted: then only the owner sees the view'),
    owner: z
      .object({ id: Id, email: z.string(), name: z.string() })
      .nullable()
      .describe('Null once the owner left: then whoever may change members looks after the view'),
    createdAt: Instant,
    updatedAt: Instant,
  })
  .meta({ id: 'View' });

export const ViewRecords = z
  .object({
    data: z
      .array(z.record(z.string(), z.unknown()))
      .describe('`id` first, then the columns under their sources, as the public interface writes them'),
    pagination: Pagination,
    columns: z.array(
      z.object({
        source: z.string(),
        type: z
          .enum(['text', 'number', 'integer', 'boolean', 'date', 'time', 'lines'])
          .nullable()
          .describe('Null where there is no such field at the moment'),
      }),
    ),
    problems: z.array(Problem).describe('What of the view does not work now. With a filter that does not, there are no records'),
    syncedAt: Instant.nullable().describe('How fresh the records are'),
  })
  .meta({ id: 'ViewRecords' });

export type ViewInput = z.output<typeof NewView>;
export type ViewChanges = z.output<typeof ViewChange>;
export type ViewShown = z.input<typeof View>;
