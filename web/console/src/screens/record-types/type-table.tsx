// The list of record types with its filters, and the choice of many of them.
import { formatCount, formatNumber } from '../../format.ts';
import { Badge } from '../../parts/badge.tsx';
import { useAction } from '../../parts/dialog.tsx';
import { Check } from '../../parts/form.tsx';
import { List, listQuery, searchFilter, selectFilter } from '../../parts/list.tsx';
import { Problem } from '../../parts/problem.tsx';
import type { Column } from '../../parts/table.tsx';
import type { Read } from '../../query.ts';
import { base } from '../../router.ts';
import { may } from '../../session.ts';
import {
  type Catalogue,
  canBeChosen,
  countRecords,
  type Filter,
  familyWords,
  filterHeads,
  type Head,
  recordCounts,
  stateOptions,
} from './catalogue.ts';
import { choose, chosen } from './chosen.ts';
import { numberText } from './estimate.tsx';

const pageSize = 50;

function State({ syncConfigId, syncable, reason }: Head) {
  if (syncConfigId !== null)
    return (
      <a href={`${base}/syncs/${syncConfigId}`}>
        <Badge tone="good">Synced</Badge>
      </a>
    );
  if (syncable !== false)
    return <span class="muted">{syncable === null ? 'Fields not read yet' : 'Not synced'}</span>;
  return (
    <>
      <Badge tone="warn">Can't be synced</Badge>{' '}
      <span class="fine rt-why" title={reason ?? undefined}>
        {reason}
      </span>
    </>
  );
}

const choice: Column<Head> = {
  title: 'Choose',
  cell: (head) => (
    <input
      type="checkbox"
      aria-label={`Choose ${head.label}`}
      checked={chosen.value.has(head.name)}
      disabled={!canBeChosen(head)}
      onChange={(event) => choose([head.name], event.currentTarget.checked)}
    />
  ),
};

const columns: readonly Column<Head>[] = [
  {
    title: 'Record type',
    cell: ({ name, label }) => (
      <>
        <a class="rt-name" href={`${base}/record-types/${encodeURIComponent(name)}`}>
          {label}
        </a>
        <code class="fine" title={name}>
          {name}
        </code>
      </>
    ),
  },
  {
    title: 'Kind',
    minor: true,
    cell: ({ family, custom }) =>
      `${familyWords[family]}${custom && !family.startsWith('custom') ? ', custom' : ''}`,
  },
  {
    title: 'Fields',
    align: 'end',
    minor: true,
    cell: ({ fieldCount, syncableFieldCount }) =>
      fieldCount === syncableFieldCount
        ? numberText(fieldCount)
        : `${numberText(syncableFieldCount)} of ${numberText(fieldCount)}`,
  },
  {
    title: 'Records',
    align: 'end',
    cell: ({ name }) => {
      const records = recordCounts.value.get(name);
      return records === null ? 'unknown' : numberText(records ?? null);
    },
  },
  { title: 'State', cell: State },
];

const filters = [
  searchFilter('Search'),
  selectFilter('State', 'state', 'All states', stateOptions),
  selectFilter('Kind', 'family', 'All kinds', Object.entries(familyWords)),
  selectFilter('Origin', 'origin', 'Standard and custom', [
    ['standard', 'Standard'],
    ['custom', 'Custom'],
  ]),
];

type ChoiceBarProps = { found: readonly Head[]; all: readonly Head[]; connection: string };

/** What is chosen of `all`, and what to do with it. */
function ChoiceBar({ found, all, connection }: ChoiceBarProps) {
  const names = found.filter(canBeChosen).map(({ name }) => name);
  const count = all.filter(({ name }) => chosen.value.has(name)).length;
  return (
    <>
      {names.length > 0 && (
        <Check
          label={
            names.length === 1
              ? 'Select the one that can be synced'
              : `Select all ${formatNumber(names.length)} that can be synced`
          }
          checked={names.every((name) => chosen.value.has(name))}
          onChange={(isChosen) => choose(names, isChosen)}
        />
      )}
      <span role="status">{count > 0 && `${formatCount(count, 'record type')} chosen`}</span>
      {count > 0 && (
        <>
          <button type="button" class="link" onClick={() => choose(chosen.value, false)}>
            Clear
          </button>
          <a class="button primary" href={`${base}/record-types?connection=${connection}&plan=1`}>
            Plan the syncs
          </a>
        </>
      )}
    </>
  );
}

function CountButton({ shown, connection }: { shown: readonly Head[]; connection: string }) {
  const names = shown.filter(({ syncable }) => syncable !== false).map(({ name }) => name);
  const { busy, error, submit } = useAction(() => countRecords(connection, names));
  return (
    <>
      <button type="button" disabled={busy || names.length === 0} onClick={submit}>
        {busy ? 'Counting…' : 'Count records'}
      </button>
      <Problem error={error} />
    </>
  );
}

export function TypeList({
  read,
  heads,
  connection,
}: {
  read: Read<Catalogue> & { reload(): Promise<void> };
  connection: string;
  heads: Catalogue['heads'];
}) {
  const asked = listQuery<Filter>('q', 'state', 'family', 'origin');
  const found = filterHeads(heads, asked);
  const totalPages = Math.max(1, Math.ceil(found.length / pageSize));
  const page = Math.min(totalPages, asked.page);
  const shown = found.slice((page - 1) * pageSize, page * pageSize);
  return (
    <div class="rt-types">
      <List
        label="Record types"
        read={{ ...read, data: { data: shown, pagination: { page, totalPages, total: found.length } } }}
        columns={may('sync:create') ? [choice, ...columns] : columns}
        rowKey={({ name }) => name}
        empty="The account has no record types that the role can see."
        filters={filters}
      >
        <div class="rt-choice">
          <span class="fine" role="status">
            {found.length < heads.length &&
              `${formatNumber(found.length)} of ${formatCount(heads.length, 'record type')}`}
          </span>
          <CountButton key={shown[0]?.name} {...{ shown, connection }} />
          {may('sync:create') && <ChoiceBar all={heads} {...{ found, connection }} />}
        </div>
      </List>
    </div>
  );
}
