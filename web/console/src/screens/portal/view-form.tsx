// The form of a view: which records of one type it shows, and what of them.
import { useState } from 'preact/hooks';
import type { Answer } from '../../api.ts';
import { type FieldSpec, RecordForm, splitList } from '../../parts/record-form.tsx';
import { useRecordType } from '../../parts/record-type.ts';
import type { RowColumn } from '../../parts/rows-editor.tsx';
import { useGet } from '../../query.ts';
import { may } from '../../session.ts';
import { first100, saveObject } from './objects.tsx';

export type View = Answer<'/views/{id}'>;
type Visibility = View['visibility'];
type Filter = View['filters'][number];
type Sort = View['sort'][number];
type Aggregate = NonNullable<View['summary']>['aggregates'][number];
type Group = NonNullable<View['summary']>['groups'][number];

export const visibilityWords: Readonly<Record<Visibility, string>> = {
  private: 'Only its owner',
  team: 'A team',
  organization: 'Everyone in the organization',
};
export const operatorWords: Readonly<Record<Filter['operator'], string>> = {
  eq: 'is',
  not: 'is not',
  contains: 'contains',
  starts_with: 'starts with',
  gt: 'is more than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
  after: 'is after',
  before: 'is before',
  null: 'is empty (true or false)',
};
const functions = [
  ['sum', 'Sum'],
  ['avg', 'Average'],
  ['min', 'Minimum'],
  ['max', 'Maximum'],
  ['count_distinct', 'Distinct values'],
] as const;
const directions = ['asc', 'desc'].map((direction) => [direction, `${direction}ending`] as const);
const periods = ['', 'day', 'week', 'month', 'quarter', 'year'].map(
  (period) => [period, period === '' ? 'as it is' : `by ${period}`] as const,
);

type Row = Readonly<Record<string, string>>;
const parseJsonRows = (text: string): readonly Row[] => JSON.parse(text || '[]');

/** `a, b` means any of them where the operator takes several. */
function toFilter({ field = '', operator = 'eq', value = '' }: Row): Filter {
  const values = value.split(',').map((part) => part.trim());
  const isList = (operator === 'eq' || operator === 'not') && values.length > 1;
  const scalar = (text: string): string | boolean =>
    text === 'true' ? true : text === 'false' ? false : text;
  return {
    field,
    operator: operator as Filter['operator'],
    value: isList ? values.map(scalar) : scalar(value.trim()),
  };
}

function toSummary(groups: readonly Row[], aggregates: readonly Row[]) {
  if (groups.length === 0 && aggregates.length === 0) return null;
  const byField = new Map<string, Aggregate['functions'][number][]>();
  for (const { field = '', fn = 'sum' } of aggregates)
    byField.set(field, [...(byField.get(field) ?? []), fn as never]);
  return {
    groups: groups.map(({ field = '', period = '' }) => ({
      field,
      period: (period || null) as Group['period'],
    })),
    aggregates: [...byField].map(([field, list]) => ({ field, functions: list })),
  };
}

type Name =
  | 'name'
  | 'recordType'
  | 'columns'
  | 'filters'
  | 'sort'
  | 'groups'
  | 'aggregates'
  | 'visibility'
  | 'teamId';
type Values = Readonly<Record<Name, string>>;

const toBody = (values: Values, before: View | undefined) => {
  const { name, recordType, groups, aggregates, visibility, teamId } = values;
  const summary = toSummary(parseJsonRows(groups), parseJsonRows(aggregates));
  return {
    name,
    ...(before === undefined && { recordType }),
    columns: splitList(values.columns),
    filters: parseJsonRows(values.filters).map(toFilter),
    sort: parseJsonRows(values.sort) as Sort[],
    // How the summary is sorted and cut isn't edited here.
    summary:
      summary === null
        ? null
        : { sort: before?.summary?.sort ?? null, limit: before?.summary?.limit ?? 100, ...summary },
    visibility: visibility as Visibility,
    teamId: visibility === 'team' ? teamId : null,
  };
};

const toValues = ({
  name,
  recordType,
  columns,
  filters,
  sort,
  summary,
  visibility,
  teamId,
}: View): Values => ({
  name,
  recordType,
  columns: columns.join('\n'),
  filters: JSON.stringify(
    filters.map(({ field, operator, value }) => ({ field, operator, value: [value].flat().join(', ') })),
  ),
  sort: JSON.stringify(sort),
  groups: JSON.stringify(summary?.groups.map(({ field, period }) => ({ field, period: period ?? '' })) ?? []),
  aggregates: JSON.stringify(
    summary?.aggregates.flatMap(({ field, functions: list }) => list.map((fn) => ({ field, fn }))) ?? [],
  ),
  visibility,
  teamId: teamId ?? '',
});

type Spec = FieldSpec<Name>;

/** What the view shows: columns, filters, order. */
function contentFields(known: readonly string[]): Spec[] {
  const field = { name: 'field', label: 'Field', known };
  const operator = { name: 'operator', label: 'Operator', options: Object.entries(operatorWords) };
  const hint = (
    <>
      One field a line, in the order of display: such as tranid, or entity.name for the label of a reference.
      {known.length > 0 && (
        <details>
          <summary>Fields of the record type</summary>
          {known.join(', ')}
        </details>
      )}
    </>
  );
  const createListSpec = (
    name: Name,
    label: string,
    item: string,
    ...columns: readonly RowColumn[]
  ): Spec => ({
    name,
    label,
    list: { item, columns },
  });
  return [
    { name: 'columns', label: 'Columns', required: true, rows: 5, hint },
    createListSpec('filters', 'Filters', 'filter', field, operator, { name: 'value', label: 'Value' }),
    createListSpec('sort', 'Order', 'sort', field, {
      name: 'direction',
      label: 'Direction',
      options: directions,
    }),
    createListSpec('groups', 'Summary: groups', 'group', field, {
      name: 'period',
      label: 'Period',
      options: periods,
    }),
    createListSpec(
      'aggregates',
      'Summary: totals',
      'total',
      { name: 'fn', label: 'Function', options: functions },
      field,
    ),
  ];
}

/** Who sees the view. */
const accessFields = (teams: readonly (readonly [id: string, name: string])[]): Spec[] => [
  {
    name: 'visibility',
    label: 'Who sees it',
    options: Object.entries(visibilityWords).filter(([value]) => value !== 'team' || teams.length > 0),
  },
  { name: 'teamId', label: 'Team', options: teams, when: ({ visibility }) => visibility === 'team' },
];

/** Creates a view, or changes `view`. */
export function ViewForm({ view, close }: { view?: View; close: () => void }) {
  const syncs = useGet(view === undefined && may('sync:read') ? '/sync-configs' : null, first100());
  const teams = useGet(may('team:read') ? '/teams' : null, first100());
  const recordTypes = (syncs.data?.data ?? []).map((sync) => sync.recordType);
  const [typed, setTyped] = useState(view?.recordType ?? '');
  const isKnown = view !== undefined || recordTypes.includes(typed);
  const described = useRecordType(isKnown ? typed : null);
  const fields = (described.data?.fields ?? []).filter(({ syncable }) => syncable);
  const known = fields.flatMap(({ name, type }) =>
    type === 'reference' || type === 'list' || type === 'multiselect' ? [`${name}.name`, name] : [name],
  );
  const specs: readonly Spec[] = [
    { name: 'name', label: 'Name', required: true },
    {
      name: 'recordType',
      label: 'Record type',
      required: true,
      known: recordTypes,
      hint: 'One that a sync reads, such as invoice.',
      when: () => view === undefined,
    },
    ...contentFields(known),
    ...accessFields((teams.data?.data ?? []).map(({ id, name }) => [id, name] as const)),
  ];
  return (
    <RecordForm
      label={view === undefined ? 'Create view' : 'Save view'}
      fields={specs}
      initial={view === undefined ? {} : toValues(view)}
      save={(values) => saveObject('/views', view?.id, toBody(values, view), close)}
      onChange={({ recordType }) => view === undefined && setTyped(recordType)}
    />
  );
}
