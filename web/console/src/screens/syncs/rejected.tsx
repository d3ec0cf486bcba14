// Records that could not be stored, of a sync or of one run, with the reason of each, what mends it, and a
// run that reads them again.
import { api, type Item } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { List, listQuery } from '../../parts/list.tsx';
import { Section } from '../../parts/page.tsx';
import { ActionButton } from '../../parts/record-form.tsx';
import type { Column } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { useGet } from '../../query.ts';
import { may } from '../../session.ts';
import { showRun } from './actions.tsx';
import type { SyncConfig } from './words.ts';

const correct = 'Correct the value in the ERP.';
const report = "Report it to the ERP's support; then start a full run.";
/**
 * What to do about a record that could not be stored, by the code of its rejection, where its message does
 * not say it.
 */
const fixes: Readonly<Record<string, string>> = {
  VALUE_UNREADABLE: correct,
  LINE_UNREADABLE: correct,
  VALUE_UNSTORABLE: correct,
  RECORD_UNREADABLE: 'Correct broken text in the record, or sync fewer fields.',
  CHANGED_WHILE_READ: 'Nothing: the next run reads it again.',
  DUPLICATE_ID: "Run the sync again. If it happens again, report it to the ERP's support.",
  ID_UNREADABLE: report,
  ID_NOT_INTEGER: report,
};

type Rejection = Item<'/sync-runs/{id}/rejections'> & { readonly attempts?: number };

const columns: readonly Column<Rejection>[] = [
  { title: 'Record', cell: ({ id }) => <code>{id === '' ? 'without an id' : id}</code> },
  {
    title: 'Reason',
    cell: ({ code, message }) => (
      <>
        {message}
        <span class="fine">
          {fixes[code]} <code>{code}</code>
        </span>
      </>
    ),
  },
  { title: 'Since', minor: true, cell: ({ firstSeenAt }) => <Time at={firstSeenAt} relative /> },
];
const syncColumns: typeof columns = [
  ...columns,
  { title: 'Tries', align: 'end', minor: true, cell: ({ attempts }) => attempts },
];

/** Those of the sync, or with `runId` those of one run that no later run stored. */
export function Rejections({ sync: { id }, runId }: { sync: Pick<SyncConfig, 'id'>; runId?: string }) {
  const read = useGet(runId === undefined ? '/sync-configs/{id}/rejections' : '/sync-runs/{id}/rejections', {
    path: { id: runId ?? id },
    query: listQuery(),
  });
  const total = read.data?.pagination.total ?? 0;
  return (
    <Section
      title="Rejected records"
      actions={
        total > 0 &&
        may('sync:update') && (
          <ActionButton
            label={runId === undefined ? `Read ${formatCount(total, 'record')} again` : 'Read them again'}
            run={async () =>
              showRun(
                await api.POST('/sync-configs/{id}/rejections/retry', { params: { path: { id } }, body: {} }),
              )
            }
          />
        )
      }
    >
      <div class="stack">
        <p class="muted">
          Their last good version, if there is one, stays available. Every run reads them again.
        </p>
        <List
          label="List of rejected records"
          read={read}
          columns={runId === undefined ? syncColumns : columns}
          rowKey={({ id: record, firstSeenAt }) => `${record} ${firstSeenAt}`}
          empty="No record is rejected."
          next={runId !== undefined && 'A later run stored them, or rejected them again.'}
        />
      </div>
    </Section>
  );
}
