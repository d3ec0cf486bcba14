import { z } from 'zod';
import { maxQueryCharacters } from '../../connectors/discovery.ts';
import { Instant, longText, shortText } from '../../http/fields.ts';

const columnName = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_]{0,62}$/, 'must be the name of a column: a letter, then letters, digits and _')
  .transform((name) => name.toLowerCase());

export const QueryName = z
  .string()
  .regex(
    /^[A-Za-z][A-Za-z0-9_]{0,62}$/,
    'must be a letter, then letters, digits and _, at most 63 characters',
  );

export const ErpQueryInput = z.strictObject({
  label: shortText(200),
  query: longText(maxQueryCharacters).min(1).describe("One SELECT in the ERP's query language"),
  keyColumn: columnName.describe(
    'The column with an integer that no other row has; it becomes the field `id`',
  ),
  modifiedColumn: columnName
    .nullable()
    .default(null)
    .describe(
      "The column with the time of a row's last change, by which a sync finds changes. Null: each run reads all rows",
    ),
});
export type ErpQueryInput = z.output<typeof ErpQueryInput>;

export const NewErpQuery = ErpQueryInput.extend({
  name: QueryName.describe('The name of the record type that the query defines; it cannot change'),
});
export type NewErpQuery = z.output<typeof NewErpQuery>;

export const ErpQuery = z
  .object({
    name: z.string(),
    label: z.string(),
    query: z.string(),
    keyColumn: z.string(),
    modifiedColumn: z.string().nullable(),
    createdAt: Instant,
    updatedAt: Instant,
  })
  .meta({ id: 'ErpQuery' });
