// The fields of a sync: which are synced, which are missing in the ERP, and what the ERP changed.
import type { Item } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { withId } from '../../names.ts';
import { Badge } from '../../parts/badge.tsx';
import { StateBadge, type States } from '../../parts/detail.tsx';
import { List, listQuery } from '../../parts/list.tsx';
import { Section } from '../../parts/page.tsx';
import { ConfirmButton } from '../../parts/record-form.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { useGet } from '../../query.ts';
import { base } from '../../router.ts';
import { may } from '../../session.ts';
import { AcceptButton, describeUse } from './accept-fields.tsx';
import { updateSync } from './actions.tsx';
import type { SyncConfig } from './words.ts';

type Drift = Item<'/sync-configs/{id}/drift'>;

const allFields = 'Every field that can be synced, including those that the ERP adds later.';

function ChooseButtons({ sync }: { sync: SyncConfig }) {
  return (
    <>
      {sync.fields !== '*' && (
        <ConfirmButton
          label="Sync all fields…"
          action="Sync all fields"
          danger={false}
          run={() => updateSync(sync, { fields: '*' })}
        >
          <p>{allFields}</p>
        </ConfirmButton>
      )}
      <a class="button" href={`${base}/record-types/${encodeURIComponent(sync.recordType)}`}>
        Choose fields
      </a>
    </>
  );
}

const Chosen = ({ sync }: { sync: SyncConfig }) => (
  <Section title="Synced fields" actions={may('sync:update') && <ChooseButtons sync={sync} />}>
    {sync.fields === '*' ? (
      <p>{allFields}</p>
    ) : (
      <details>
        <summary>{formatCount(withId(sync.fields).size, 'field')}</summary>
        <ul class="names">
          {[...withId(sync.fields)].map((field) => (
            <li key={field}>
              <code>{field}</code>
            </li>
          ))}
        </ul>
      </details>
    )}
  </Section>
);

const reasonWords = {
  unreadable: 'The ERP does not offer it to the role of the connection',
  empty: 'It came empty in records that had a value',
} as const;

type Missing = {
  readonly field: string;
  readonly at: string;
  readonly isAccepted: boolean;
  readonly text: string;
};

const fieldColumn = {
  title: 'Field',
  cell: ({ field }: { readonly field: string }) => <code class="nowrap">{field}</code>,
};

const missingColumns: readonly Column<Missing>[] = [
  fieldColumn,
  {
    title: 'State',
    cell: ({ isAccepted }) => (isAccepted ? <Badge>Accepted</Badge> : <Badge tone="warn">Not updated</Badge>),
  },
  { title: 'Reason', cell: ({ text }) => text },
  { title: 'Since', cell: ({ at }) => <Time at={at} relative /> },
];

const MissingFields = ({ sync }: { sync: SyncConfig }) => (
  <Section title="Missing fields" actions={<AcceptButton sync={sync} />}>
    <Table
      label="List of missing fields"
      columns={missingColumns}
      rows={[
        ...sync.staleFields.map(({ field, since, message }) => ({
          field,
          at: since,
          isAccepted: false,
          text: message,
        })),
        ...sync.acceptedFields.map(({ field, at, reason }) => ({
          field,
          at,
          isAccepted: true,
          text: reasonWords[reason],
        })),
      ]}
      rowKey={({ field }) => field}
      empty={<p class="muted">The ERP has every field that published versions show.</p>}
    />
  </Section>
);

const kinds: States<Drift['kind']> = {
  added: ['good', 'Appeared'],
  vanished: ['warn', 'Disappeared'],
  retyped: ['warn', 'Changed type'],
};

function Uses({ drift: { affects, hiddenViews } }: { drift: Drift }) {
  if (affects.length + hiddenViews === 0) return <span class="muted">Nothing</span>;
  return (
    <>
      {affects.map((use) => {
        const text = describeUse(use);
        return (
          <div key={text}>{use.kind === 'view' ? <a href={`${base}/views/${use.id}`}>{text}</a> : text}</div>
        );
      })}
      {hiddenViews > 0 && <div>{formatCount(hiddenViews, 'view')} that you may not see</div>}
    </>
  );
}

const driftColumns: readonly Column<Drift>[] = [
  fieldColumn,
  {
    title: 'Change',
    cell: ({ kind, fromType, toType }) => (
      <>
        <StateBadge states={kinds} state={kind} />
        {kind === 'retyped' && (
          <span class="fine">
            {fromType} → {toType}
          </span>
        )}
      </>
    ),
  },
  { title: 'Used by', cell: (drift) => <Uses drift={drift} /> },
  {
    title: 'Detected',
    cell: ({ at, runId }) => (
      <a href={`${base}/runs/${runId}`}>
        <Time at={at} />
      </a>
    ),
  },
];

export function Fields({ sync }: { sync: SyncConfig }) {
  const drift = useGet('/sync-configs/{id}/drift', { path: { id: sync.id }, query: listQuery() });
  return (
    <>
      <Chosen sync={sync} />
      <MissingFields sync={sync} />
      <Section title="Changes in the ERP">
        <List
          label="List of changes"
          read={drift}
          columns={driftColumns}
          empty="The fields have not changed."
          next="Fields that the ERP adds, removes or changes in type are listed here for a year."
        />
      </Section>
    </>
  );
}
