import { useState } from 'preact/hooks';
import { type ApiError, toApiError } from '../api.ts';
import { Choice } from '../parts/form.tsx';
import { Icon } from '../parts/icon.tsx';
import { Problem } from '../parts/problem.tsx';
import { chooseOrganization, identity, sessionState, signOut } from '../session.ts';
import { OrganizationSwitch } from './organization-switch.tsx';

const themes = [
  ['system', 'System'],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const;

/** Who is signed in, in which organization; theme and sign-out. */
export function PersonMenu() {
  const session = sessionState.value?.session;
  const [error, setError] = useState<ApiError>();
  if (!session) return null;
  const run = (work: Promise<unknown>): void => {
    work.catch((problem: unknown) => setError(toApiError(problem)));
  };
  return (
    <details class="person">
      <summary>
        <Icon name="account" />
        <span class="person-name">
          <span class="cut">{identity.value?.organization?.name}</span>
          <span class="fine cut" title={session.user.email}>
            {session.user.email}
          </span>
        </span>
      </summary>
      <div class="person-body">
        <OrganizationSwitch
          current={identity.value?.organization ?? null}
          onSwitch={(id) => run(chooseOrganization(id))}
        />
        <label for="theme">
          <span class="fine">Theme</span>
          {/* The script of the page (web/shared/theme.js) applies and stores what is chosen. */}
          <Choice
            id="theme"
            value={document.documentElement.dataset['theme'] ?? 'system'}
            onChange={() => undefined}
            options={themes}
          />
        </label>
        <button type="button" onClick={() => run(signOut())}>
          Sign out
        </button>
        <Problem error={error} />
      </div>
    </details>
  );
}
