import { useState } from 'preact/hooks';
import { formatCount } from '../../format.ts';
import { Confirm } from '../../parts/dialog.tsx';
import type { Endpoint } from './document.ts';
import { proposeEndpoints, RecordTypeChoice } from './record-type-choice.tsx';

type Props = {
  present: readonly string[];
  onAdd: (endpoints: readonly Endpoint[]) => void;
  onClose: () => void;
};

/** Adds proposed resources to a draft. */
export function AddResources({ present, onAdd, onClose }: Props) {
  const [chosen, setChosen] = useState<readonly string[]>([]);
  return (
    <Confirm
      title="Add resources"
      action={chosen.length === 0 ? 'Add resources' : `Add ${formatCount(chosen.length, 'resource')}`}
      busyAction="Reading the records…"
      disabled={chosen.length === 0}
      run={async () => onAdd(await proposeEndpoints(chosen))}
      onClose={onClose}
    >
      <RecordTypeChoice present={present} chosen={chosen} onChange={setChosen} />
    </Confirm>
  );
}
