// One record type: how it is read, its fields, and its sync: created here, or with its fields changed.
import '../../styles/record-types.css';
import { useMemo } from 'preact/hooks';
import { formatCount } from '../../format.ts';
import { keep, readKept } from '../../kept.ts';
import { Badge } from '../../parts/badge.tsx';
import { Unread } from '../../parts/detail.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Working } from '../../parts/plot.tsx';
import { Problem } from '../../parts/problem.tsx';
import { prefixOf, useRecordType } from '../../parts/record-type.ts';
import { useGet } from '../../query.ts';
import { base, type ScreenProps } from '../../router.ts';
import { may } from '../../session.ts';
import { familyWords, listAddress } from './catalogue.ts';
import { CreateSync } from './create-sync.tsx';
import { EditFields } from './edit-fields.tsx';
import { createFieldChoice, keptChoice, type RecordType, type Sync, syncableNames } from './field-choice.ts';
import { FieldTable } from './field-table.tsx';

const changeWords = {
  modified: 'by modification time',
  parent: 'by the modification time of the record they belong to',
  tracked: "in the ERP's report of changes",
  full: 'by reading all records in each run',
} as const;
const deletionWords = {
  listed: "in the ERP's list of deletions, and by comparing ids",
  compared: 'by comparing ids',
} as const;

function Reading({ reading, table }: RecordType) {
  if (reading === null) return null;
  const texts = [
    table !== null && `From the table ${table}.`,
    `Changes are found ${changeWords[reading.changes]}.`,
    `Deletions are found ${deletionWords[reading.deletions]}.`,
    ...reading.notes,
  ];
  return (
    <details class="rt-reading">
      <summary>How it is read</summary>
      <ul class="bullets">{texts.map((text) => text && <li key={text}>{text}</li>)}</ul>
    </details>
  );
}

function useChoice(type: RecordType, sync: Sync | undefined) {
  return useMemo(() => {
    const proposal = new Map(
      type.fields.flatMap(({ name, proposed }) => (proposed === null ? [] : [[name, proposed] as const])),
    );
    const stored = sync?.fields === '*' ? syncableNames(type.fields) : sync?.fields;
    const kept = keptChoice(type.name);
    const choice = createFieldChoice(type.fields, {
      proposal,
      initial: readKept<string[]>(kept) ?? stored ?? proposal.keys(),
      onChange: (names) => keep(kept, [...names]),
    });
    return { proposal, choice, stored };
  }, [type.name, sync?.id, sync?.updatedAt]);
}

function Loaded({ type, sync }: { type: RecordType; sync: Sync | undefined }) {
  const { proposal, choice, stored = [] } = useChoice(type, sync);
  const isAllowed =
    sync === undefined ? may('sync:create') && type.syncConfigId === null : may('sync:update');
  const editable = type.syncable === true && isAllowed;
  const table = useMemo(
    () => (
      <FieldTable
        fields={type.fields}
        choice={choice}
        proposal={proposal}
        editable={editable}
        typeReason={type.reason}
      />
    ),
    [type.fields, choice, editable],
  );
  return (
    <div class={editable ? 'rt-choose' : ''}>
      {editable && (
        <aside class="card rt-settings" aria-label="Sync">
          {sync === undefined ? (
            <CreateSync type={type} choice={choice} />
          ) : (
            <EditFields sync={sync} choice={choice} stored={stored} />
          )}
        </aside>
      )}
      <Section title="Fields">{table}</Section>
    </div>
  );
}

const Lead = ({ family, name, custom, fieldCount, syncableFieldCount }: RecordType) => (
  <>
    {familyWords[family]} <code>{name}</code>
    {syncableFieldCount !== null &&
      `, ${syncableFieldCount} of ${formatCount(fieldCount ?? 0, 'field')} can be synced`}
    . {custom && <Badge>Custom</Badge>}
  </>
);

export function RecordTypeScreen({ params }: ScreenProps) {
  const { recordType = '' } = params;
  const above = [{ to: listAddress(prefixOf(recordType).slice(0, -1)), title: 'Record types' }];
  const read = useRecordType(recordType);
  const { data: type } = read;
  const id = type?.syncConfigId ?? null;
  const sync = useGet(id === null ? null : '/sync-configs/{id}', { path: { id: id ?? '' } });
  if (type === undefined)
    return (
      <>
        <Unread title={recordType} above={above} read={read} />
        {read.error === undefined && <Working label="Reading the fields from the ERP" />}
      </>
    );
  const link = id !== null && (
    <a class="button" href={`${base}/syncs/${id}`}>
      Show its sync
    </a>
  );
  return (
    <Page title={type.label} lead={<Lead {...type} />} above={above} actions={link}>
      <Problem error={sync.error} />
      {type.syncable === false && <p class="note warn">This record type can't be synced: {type.reason}</p>}
      <Reading {...type} />
      {(id === null || sync.data !== undefined || sync.error !== undefined) && (
        <Loaded key={type.name} type={type} sync={sync.data} />
      )}
    </Page>
  );
}
