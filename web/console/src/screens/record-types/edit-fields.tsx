// Changes which fields an existing sync reads. Says first what is added and what is no longer updated.

import { useState } from 'preact/hooks';
import { api } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { keep } from '../../kept.ts';
import { withId } from '../../names.ts';
import { Check } from '../../parts/form.tsx';
import { ConfirmButton } from '../../parts/record-form.tsx';
import { recordTypePath } from '../../parts/record-type.ts';
import { describeSchedule } from '../../parts/schedule.tsx';
import { invalidate } from '../../query.ts';
import { base } from '../../router.ts';
import { may } from '../../session.ts';
import { type FieldChoice, fieldsToRead, keptChoice, type Sync } from './field-choice.ts';

const maxListed = 8;

/** What happens to these fields, and what follows from it. */
const Change = ({ names, what, children }: { names: readonly string[]; what: string; children: string }) =>
  names.length > 0 && (
    <p>
      {formatCount(names.length, 'field')} {what}: {names.slice(0, maxListed).join(', ')}
      {names.length > maxListed && ` and ${names.length - maxListed} more`}. {children}
    </p>
  );

type Props = { sync: Sync; choice: FieldChoice; stored: readonly string[] };

async function saveFields(sync: Sync, choice: FieldChoice, starts: boolean): Promise<void> {
  const path = { id: sync.id };
  await api.PATCH('/sync-configs/{id}', { params: { path }, body: { fields: fieldsToRead(choice) } });
  if (starts && may('sync:create'))
    await api.POST('/sync-configs/{id}/trigger', { params: { path }, body: { mode: 'full' } });
  keep(keptChoice(sync.recordType), undefined);
  await invalidate('/sync-configs', recordTypePath);
}

export function EditFields({ sync, choice, stored }: Props) {
  const [starts, setStarts] = useState(true);
  const chosen = choice.chosen.value;
  const read = withId(stored);
  const added = [...chosen].filter((name) => !read.has(name));
  const removed = [...read].filter((name) => !chosen.has(name));
  const isChanged = added.length + removed.length > 0;
  const isAll = sync.fields === '*';
  const save = () => saveFields(sync, choice, starts && added.length > 0);
  return (
    <div class="stack">
      <h2>{sync.name}</h2>
      <p>
        {isAll
          ? 'Reads all fields that can be synced, including new ones.'
          : `Reads ${formatCount(read.size, 'field')}.`}{' '}
        {describeSchedule(sync.schedule, sync.timezone)}.
      </p>
      <p role="status">{isChanged && `${added.length} added, ${removed.length} removed: not saved yet.`}</p>
      <div class="row">
        {isChanged && (
          <ConfirmButton
            label="Save fields"
            kind="primary"
            danger={false}
            title={`Change the fields of ${sync.name}?`}
            action="Save fields"
            run={save}
          >
            <Change names={added} what="added">
              Values appear once a run has read all records.
            </Change>
            <Change names={removed} what="no longer read">
              A field that a published version or a view uses can't be removed.
            </Change>
            {isAll && (
              <p>From now on only the chosen fields are read: fields that the account adds later are not.</p>
            )}
            {added.length > 0 && (
              <Check label="Start a full run now, to fill them" checked={starts} onChange={setStarts} />
            )}
          </ConfirmButton>
        )}
        <a href={`${base}/syncs/${sync.id}`}>Schedule and runs</a>
      </div>
    </div>
  );
}
