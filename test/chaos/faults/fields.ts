// What an administrator does with custom fields under a published version: adds, renames, removes, changes
// their type, brings them back.
import { getTable } from '../books.ts';
import { customFields, type FieldTable, getIdColumn } from '../custom-fields.ts';
import type { RecordTypeName, StateFault } from '../plan-names.ts';
import type { Random } from '../random.ts';
import type { CustomField } from './control.ts';
import {
  countOnWire,
  type Ending,
  type FaultDefinition,
  type FaultStage,
  findLinesTable,
  inTurn,
  listReaders,
  noEnding,
  readMetadata,
  reads,
} from './fault.ts';

/** That of the record, or of its lines where it has some with custom fields. */
function tableFor(recordType: RecordTypeName, random: Random): FieldTable {
  const hasLineFields = findLinesTable(recordType) === 'transactionline';
  return hasLineFields && random.chance(0.4) ? 'transactionline' : getTable(recordType);
}

const buildPath = ({ table, name }: CustomField): string => `/fields/${table}/${name}`;

type Values = readonly { readonly id: string; readonly value: string }[];

async function readValues(
  { fixture }: FaultStage,
  { table, name }: CustomField & { table: FieldTable },
): Promise<Values> {
  const { rows } = await fixture.books.pool.query<{ id: string; value: string }>(
    `select ${getIdColumn(table)}::text as id, extra->>$1 as value from ledger.${table} where extra ? $1`,
    [name],
  );
  return rows;
}

/** Without a new modification time, as an import of the administrator's can be. */
async function writeValues(
  { fixture }: FaultStage,
  { table, name }: CustomField & { table: FieldTable },
  values: Values,
): Promise<void> {
  const id = getIdColumn(table);
  await fixture.books.pool.query(
    `update ledger.${table} set extra = coalesce(extra, '{}') || jsonb_build_object($1::text, given.value)
     from unnest($2::bigint[], $3::text[]) as given(id, value) where ${table}.${id} = given.id`,
    [name, values.map((row) => row.id), values.map(({ value }) => value)],
  );
}

/** The field may be named as stale while it lasts. */
const noteField = (stage: FaultStage, { table, name }: CustomField): Ending =>
  inTurn(
    ...listReaders(stage, table).map((recordType) =>
      stage.ledger.hides({ recordType, fields: [table === 'transactionline' ? `lines.${name}` : name] }),
    ),
  );

async function fieldExists(
  { fixture: { control } }: FaultStage,
  { table, name }: CustomField,
): Promise<boolean> {
  const { fields } = await control.send<{ fields: CustomField[] }>('GET', '/state');
  return fields.some((field) => field.table === table && field.name === name);
}

/** In most cases a person tells the service at once, which otherwise finds out by itself. */
const mayRefresh = (stage: FaultStage, random: Random): Ending =>
  random.chance(0.6) ? readMetadata(stage) : noEnding;

/** Nothing when another fault has removed the field meanwhile. */
async function whileItExists(
  stage: FaultStage,
  field: CustomField,
  work: () => Promise<unknown>,
): Promise<void> {
  if (await fieldExists(stage, field)) await work();
  await stage.onChange();
}

const fieldRemoved: FaultDefinition = {
  async begin(stage, recordType, random, hit) {
    const { control } = stage.fixture;
    const field = customFields[tableFor(recordType, random)];
    const values = await readValues(stage, field);
    const end = noteField(stage, field);
    await whileItExists(stage, field, () => control.send('DELETE', buildPath(field)));
    const stop = inTurn(countOnWire(stage, reads(field.table), hit), mayRefresh(stage, random));
    return inTurn(end, stop, async () => {
      if (!(await fieldExists(stage, field))) await control.send('POST', '/fields', field);
      await writeValues(stage, field, values);
      await stage.onChange();
    });
  },
};

/** Removed and created again at once, which empties it; the values follow at the end. */
const fieldReturned: FaultDefinition = {
  async begin(stage, recordType, random, hit) {
    const { control } = stage.fixture;
    const field = customFields[tableFor(recordType, random)];
    const values = await readValues(stage, field);
    const end = noteField(stage, field);
    await whileItExists(stage, field, async () => {
      await control.send('DELETE', buildPath(field));
      await control.send('POST', '/fields', field);
    });
    const stop = inTurn(countOnWire(stage, reads(field.table), hit), mayRefresh(stage, random));
    return inTurn(end, stop, async () => {
      if (await fieldExists(stage, field)) await writeValues(stage, field, values);
      await stage.onChange();
    });
  },
};

const fieldRetyped: FaultDefinition = {
  async begin(stage, recordType, random, hit) {
    const { control } = stage.fixture;
    const field = customFields[tableFor(recordType, random)];
    const end = noteField(stage, field);
    const type = random.pick(['integer', 'number', 'boolean', 'date', 'list']);
    await whileItExists(stage, field, () => control.send('PATCH', buildPath(field), { type }));
    const stop = inTurn(countOnWire(stage, reads(field.table), hit), mayRefresh(stage, random));
    return inTurn(end, stop, () =>
      whileItExists(stage, field, () => control.send('PATCH', buildPath(field), { type: field.type })),
    );
  },
};

const fieldRelabelled: FaultDefinition = {
  async begin(stage, recordType, random, hit) {
    const { control } = stage.fixture;
    const field = customFields[tableFor(recordType, random)];
    await whileItExists(stage, field, () =>
      control.send('PATCH', buildPath(field), { label: `Renamed ${random.between(1, 99)}` }),
    );
    const stop = inTurn(countOnWire(stage, reads(field.table), hit), mayRefresh(stage, random));
    return inTurn(stop, () =>
      whileItExists(stage, field, () => control.send('PATCH', buildPath(field), { label: field.label })),
    );
  },
};

/** No version shows it. */
const fieldAdded: FaultDefinition = {
  async begin(stage, recordType, random, hit) {
    const { control } = stage.fixture;
    const { table, name } = customFields[tableFor(recordType, random)];
    const field = {
      table,
      name: `${name}_${random.between(1, 99)}`,
      type: random.pick(['text', 'integer', 'boolean']),
      label: 'Added',
    };
    if (!(await fieldExists(stage, field))) await control.send('POST', '/fields', field);
    const sample = (await readValues(stage, customFields[table])).filter((_row, index) => index % 3 === 0);
    await writeValues(
      stage,
      field,
      sample.map(({ id }) => ({ id, value: field.type === 'boolean' ? 'T' : '1' })),
    );
    await stage.onChange();
    const stop = inTurn(
      countOnWire(stage, ({ question }) => question.includes(field.name), hit),
      mayRefresh(stage, random),
    );
    return inTurn(stop, () => whileItExists(stage, field, () => control.send('DELETE', buildPath(field))));
  },
};

export const fieldFaults = {
  'field-added': fieldAdded,
  'field-removed': fieldRemoved,
  'field-returned': fieldReturned,
  'field-retyped': fieldRetyped,
  'field-relabelled': fieldRelabelled,
} as const satisfies Partial<Record<StateFault, FaultDefinition>>;
