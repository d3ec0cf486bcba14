// One entry of the settings: a card that opens, and the button that adds another one.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Select } from '../../parts/form.tsx';

type EntryCardProps = {
  title: string;
  /** What is set, in a few words, while the card is closed. */
  about: string;
  /** Opens it: something in it is wrong, or it is new. */
  isWrong: boolean;
  onRemove: () => void;
  children: ComponentChildren;
};

export function EntryCard({ title, about, isWrong, onRemove, children }: EntryCardProps) {
  const [isOpen, setIsOpen] = useState(false);
  const isShown = isOpen || isWrong;
  return (
    <details
      class="card entry"
      open={isShown}
      onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}
    >
      <summary>
        <strong>{title}</strong> <span class="muted">{about}</span>
      </summary>
      {isShown && (
        <div class="stack">
          {children}
          <div>
            <button type="button" class="danger" onClick={onRemove} aria-label={`Remove ${title}`}>
              Remove
            </button>
          </div>
        </div>
      )}
    </details>
  );
}

type AddEntryProps = {
  label: string;
  action: string;
  /** Record types that can be added. */
  recordTypes: readonly string[];
  onAdd: (recordType: string) => void;
};

export function AddEntry({ label, action, recordTypes, onAdd }: AddEntryProps) {
  const [chosen, setChosen] = useState('');
  const recordType = recordTypes.includes(chosen) ? chosen : recordTypes[0];
  if (recordType === undefined) return null;
  return (
    <div class="row add-entry">
      <Select
        label={label}
        value={recordType}
        onChange={setChosen}
        options={recordTypes.map((one) => [one, one] as const)}
      />
      <button type="button" onClick={() => onAdd(recordType)}>
        {action}
      </button>
    </div>
  );
}
