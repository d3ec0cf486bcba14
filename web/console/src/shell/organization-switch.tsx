import { useState } from 'preact/hooks';
import { Choice } from '../parts/form.tsx';
import { useRead } from '../query.ts';
import { readOrganizations } from './organizations.ts';

type Named = { readonly id: string; readonly name: string };

/** For a person with several organizations, a list to change the one that is shown. */
export function OrganizationSwitch({
  current,
  onSwitch,
}: {
  current: Named | null;
  onSwitch: (organizationId: string) => void;
}) {
  const { data: organizations = [] } = useRead('/whoami/organizations', readOrganizations);
  const [chosen, setChosen] = useState<string>();
  const selected = chosen ?? current?.id ?? '';
  if (organizations.length <= 1) return null;
  return (
    <>
      <label for="organization">
        <span class="fine">Organization</span>
        <Choice
          id="organization"
          value={selected}
          onChange={setChosen}
          options={organizations.map(({ id, name }) => [id, name] as const)}
        />
      </label>
      {/* A button of its own: arrow keys in the list must not leave the screen. */}
      {selected !== current?.id && (
        <button type="button" class="primary" onClick={() => onSwitch(selected)}>
          Switch organization
        </button>
      )}
    </>
  );
}
