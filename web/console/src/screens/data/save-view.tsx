// Saves what the list shows as a view. Views name the fields of the record type, and have neither searches
// nor filters on lines.
import { useState } from 'preact/hooks';
import { type Answer, api } from '../../api.ts';
import { focusFirst } from '../../parts/dialog.tsx';
import { RecordForm } from '../../parts/record-form.tsx';
import { invalidate } from '../../query.ts';
import { base } from '../../router.ts';
import { type State, toConditions } from './address.ts';
import type { Endpoint, Types } from './endpoint.ts';

type View = Answer<'/views', 'post'>;
type ViewFilter = View['filters'][number];

const findFieldSource = (endpoint: Endpoint, name: string): string | undefined =>
  name === 'id' ? name : endpoint.fields.find((field) => field.name === name)?.source;

type SaveProps = { endpoint: Endpoint; state: State; columns: readonly string[]; types: Types };

/** Views take true and false as such, and every other value also as text. */
const toViewFilters = ({ endpoint, state, types }: SaveProps): ViewFilter[] =>
  toConditions(state.filters).flatMap(({ field, operator, values }) => {
    const source = findFieldSource(endpoint, field);
    if (source === undefined) return [];
    const isTruth = operator === 'null' || types.get(field) === 'boolean';
    const typed = isTruth ? values.map((value) => value === 'true') : [...values];
    return [
      {
        field: source,
        operator: operator as ViewFilter['operator'],
        value: typed.length === 1 ? (typed[0] ?? '') : typed,
      },
    ];
  });

const fields = [
  { name: 'name', label: 'Name', required: true },
  {
    name: 'visibility',
    label: 'Who sees it',
    options: [
      ['private', 'Only I'],
      ['organization', 'Everyone in the organization'],
    ],
  },
] as const;

export function SaveView(props: SaveProps) {
  const { endpoint, state, columns } = props;
  const [made, setMade] = useState<View>();
  if (made !== undefined)
    return (
      <p role="status">
        Saved.{' '}
        <a ref={focusFirst} href={`${base}/views/${made.id}`}>
          Open {made.name}
        </a>
      </p>
    );
  const lost = [
    ...(state.q === '' ? [] : [`the search for “${state.q}”`]),
    ...state.filters
      .filter(({ field }) => findFieldSource(endpoint, field) === undefined)
      .map(({ field }) => `the filter on ${field}`),
  ];
  return (
    <RecordForm
      fields={fields}
      label="Save the view"
      save={async ({ name, visibility }) => {
        const sort = findFieldSource(endpoint, state.sort);
        const { data } = await api.POST('/views', {
          body: {
            name,
            visibility: visibility as View['visibility'],
            recordType: endpoint.recordType,
            columns: [...new Set(columns.flatMap((column) => findFieldSource(endpoint, column) ?? []))],
            filters: toViewFilters(props),
            sort: sort === undefined ? [] : [{ field: sort, direction: state.order }],
          },
        });
        await invalidate('/views');
        setMade(data);
      }}
    >
      {lost.length > 0 && (
        <p class="note warn">
          A view can't keep {lost.join(' and ')}: it will show more records than this list.
        </p>
      )}
    </RecordForm>
  );
}
