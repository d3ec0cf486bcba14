// Creates a draft: proposed from synced record types, a copy of a version, or empty.
import { useState } from 'preact/hooks';
import { api, type Item } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { Select } from '../../parts/form.tsx';
import { expire } from '../../query.ts';
import { base, go } from '../../router.ts';
import { proposeEndpoints, RecordTypeChoice } from './record-type-choice.tsx';

type Version = Item<'/api-schema'>;

/** Opens the editor of a new draft. */
function open(id: string | undefined): void {
  if (id === undefined) return;
  expire('/api-schema ', '/overview');
  go(`${base}/schemas/${id}`);
}

export async function createFrom(recordTypes: readonly string[]): Promise<void> {
  const endpoints = recordTypes.length === 0 ? [] : await proposeEndpoints(recordTypes);
  const { data } = await api.POST('/api-schema', { body: { endpoints } });
  open(data?.id);
}

export async function copyVersion(id: string): Promise<void> {
  const { data } = await api.POST('/api-schema/{id}/new-version', { params: { path: { id } } });
  open(data?.id);
}

/** The way back up to the list. */
export const aboveVersion = { to: `${base}/schemas`, title: 'API versions' };
export const formatTitle = ({ version, name }: Pick<Version, 'version' | 'name'>): string =>
  name === '' ? version : `${version} · ${name}`;

const [proposed, empty] = ['proposed', 'empty'];

/** `versions`: those that can be copied, newest first. */
export function NewDraft({ versions, onClose }: { versions: readonly Version[]; onClose: () => void }) {
  const [way, setWay] = useState(proposed);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const isProposed = way === proposed;
  return (
    <Confirm
      title="New draft"
      action={
        isProposed && chosen.length > 0
          ? `Create a draft with ${formatCount(chosen.length, 'resource')}`
          : 'Create draft'
      }
      busyAction="Creating…"
      disabled={isProposed && chosen.length === 0}
      run={() => (isProposed ? createFrom(chosen) : way === empty ? createFrom([]) : copyVersion(way))}
      onClose={onClose}
    >
      <Select
        label="Begin with"
        value={way}
        onChange={setWay}
        options={[
          [proposed, 'A proposal from synced records'],
          ...versions.map(
            (version) => [version.id, `A copy of ${formatTitle(version)} (${version.status})`] as const,
          ),
          [empty, 'Nothing'],
        ]}
      />
      {isProposed && <RecordTypeChoice chosen={chosen} onChange={setChosen} />}
    </Confirm>
  );
}
