// Ends the connection, and with it all synced records if the person types the organization's slug. Only the
// connection called `netsuite` can be deleted without its records.
import { useState } from 'preact/hooks';
import { api } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { Check, Field } from '../../parts/form.tsx';
import { ConfirmButton } from '../../parts/record-form.tsx';
import { prefixOf } from '../../parts/record-type.ts';
import { expire, invalidate, useGet } from '../../query.ts';
import { go } from '../../router.ts';
import { identity, may } from '../../session.ts';
import { type Connection, listAddress } from './words.ts';

const mayKeepRecords = ({ name }: Connection): boolean => name === 'netsuite';

/** Syncs of the connection and their records; nothing where the person can't see all of them. */
function useSynced({ recordTypePrefix }: Connection) {
  const { data } = useGet(may('sync:read') ? '/sync-configs' : null, { query: { pageSize: 100 } });
  if (data === undefined || data.pagination.totalPages > 1) return undefined;
  const own = data.data.filter(({ recordType }) => prefixOf(recordType) === recordTypePrefix);
  return { syncs: own.length, records: own.reduce((sum, { records }) => sum + records, 0) };
}

type Synced = ReturnType<typeof useSynced>;
type EffectsProps = { connection: Connection; synced: Synced; purges: boolean };

/** What ends, in numbers. */
function Effects({ connection: { name, certificates }, synced, purges }: EffectsProps) {
  const stop = synced?.syncs === 1 ? 'stops' : 'stop';
  const syncs = synced ? formatCount(synced.syncs, 'sync') : 'All syncs';
  const records = synced ? formatCount(synced.records, 'synced record') : 'The synced records';
  const texts = [
    synced?.syncs !== 0 && `${syncs} of ${name} ${stop} at once, until there is a connection again.`,
    certificates.length > 0
      ? `${formatCount(certificates.length, 'certificate')} and the private keys are deleted. To connect again, upload a new one.`
      : 'The stored credentials are deleted. To connect again, enter them again.',
    'The list of record types is deleted, until it is read again.',
    synced?.records !== 0 &&
      (purges
        ? `${records} are deleted. This can't be undone.`
        : `${records} stay, and published versions keep serving them without further changes.`),
  ];
  return <ul class="bullets">{texts.map((text) => text && <li key={text}>{text}</li>)}</ul>;
}

type Purge = { readonly purges: boolean; readonly typed: string };
type QuestionProps = { connection: Connection; purge: Purge; set: (changes: Partial<Purge>) => void };

function Question({ connection, purge: { purges, typed }, set }: QuestionProps) {
  const synced = useSynced(connection);
  const keepsRecords = mayKeepRecords(connection);
  return (
    <>
      <Effects {...{ connection, synced, purges }} />
      {keepsRecords && (
        <Check
          label="Also delete all synced records"
          checked={purges}
          onChange={(next) => set({ purges: next })}
          hint="Published versions then have no data, and another account can be connected. This can't be undone."
        />
      )}
      {purges && (keepsRecords || synced?.records !== 0) && (
        <Field
          label={`Type ${identity.value?.organization?.slug} to confirm`}
          value={typed}
          onChange={(next) => set({ typed: next })}
        />
      )}
    </>
  );
}

async function deleteConnection(connection: Connection, { purges, typed }: Purge): Promise<void> {
  const slug = typed.trim();
  // This path leaves the records to published versions, which the other one refuses.
  if (mayKeepRecords(connection))
    await api.DELETE('/netsuite/connection', { params: { query: purges ? { purge: slug } : {} } });
  else {
    const params = { path: { connection: connection.name }, query: slug === '' ? {} : { purge: slug } };
    await api.DELETE('/connections/{connection}', { params });
  }
  // Without the connection, reading it fails.
  expire('/connections');
  await invalidate('/connections all', '/sync-configs', '/overview');
  go(listAddress);
}

export function DeleteConnection(connection: Connection) {
  const [purge, setPurge] = useState<Purge>({ purges: !mayKeepRecords(connection), typed: '' });
  return (
    <ConfirmButton
      label="Delete"
      kind="danger"
      title={`Delete the connection ${connection.name}?`}
      action="Delete the connection"
      run={() => deleteConnection(connection, purge)}
    >
      <Question {...{ connection, purge }} set={(changes) => setPurge({ ...purge, ...changes })} />
    </ConfirmButton>
  );
}
