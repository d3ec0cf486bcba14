// Chooses synced record types, and proposes the resources for them.

import { useState } from 'preact/hooks';
import { api } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { Pending } from '../../parts/detail.tsx';
import { Check, Field as Input } from '../../parts/form.tsx';
import { Empty } from '../../parts/page.tsx';
import { useGet } from '../../query.ts';
import { base } from '../../router.ts';
import type { Endpoint } from './document.ts';

type Props = {
  present?: readonly string[];
  chosen: readonly string[];
  onChange: (chosen: readonly string[]) => void;
};

/** What the service proposes for them: names, filters, sorts, search, relations. Rejects with an ApiError. */
export async function proposeEndpoints(recordTypes: readonly string[]): Promise<Endpoint[]> {
  const { data } = await api.POST('/api-schema/draft-from', { body: { recordTypes: [...recordTypes] } });
  return data?.endpoints ?? [];
}

export const NothingSynced = ({ title }: { title: string }) => (
  <Empty title={title}>
    <p>A version publishes synced records.</p>
    <p>
      <a href={`${base}/record-types`}>Choose record types to sync</a>
    </p>
  </Empty>
);

/** `present`: what is published already is listed last. */
export function RecordTypeChoice({ present = [], chosen, onChange }: Props) {
  const [text, setText] = useState('');
  const { data, error, reload } = useGet('/sync-configs', { query: { pageSize: 100, sort: 'recordType' } });
  const rows = data?.data ?? [];
  const isPresent = (recordType: string): boolean => present.includes(recordType);
  const listed = rows
    .filter(({ name, recordType }) => `${name} ${recordType}`.toLowerCase().includes(text.toLowerCase()))
    .sort((a, b) => Number(isPresent(a.recordType)) - Number(isPresent(b.recordType)));
  if (data === undefined) return <Pending error={error} reload={reload} />;
  if (rows.length === 0) return <NothingSynced title="Nothing is synced yet." />;
  return (
    <fieldset class="rows">
      <legend>Synced record types</legend>
      {rows.length > 12 && <Input label="Search" type="search" value={text} onChange={setText} />}
      <div class="schema-choice-list">
        {listed.map(({ id, name, recordType, records, syncedAt }) => (
          <Check
            key={id}
            label={`${name} · ${recordType}`}
            hint={`${syncedAt === null ? 'No complete sync yet' : formatCount(records, 'record')}${isPresent(recordType) ? ' · in this version already' : ''}`}
            disabled={syncedAt === null}
            checked={chosen.includes(recordType)}
            onChange={(on) =>
              onChange(on ? [...chosen, recordType] : chosen.filter((one) => one !== recordType))
            }
          />
        ))}
      </div>
    </fieldset>
  );
}
