// Buttons that start runs, links to runs, and what they share.
import { api, type paths } from '../../api.ts';
import { ActionButton } from '../../parts/record-form.tsx';
import { expire, invalidate } from '../../query.ts';
import { base, go } from '../../router.ts';
import { runStates } from '../../states.ts';
import type { Run, SyncConfig } from './words.ts';

/** Shows the run that an operation has started. */
export function showRun({ data }: { readonly data?: Pick<Run, 'id'> | undefined }): void {
  expire('/sync-configs', '/sync-runs');
  if (data !== undefined) go(`${base}/runs/${data.id}`);
}

type TriggerProps = {
  sync: { readonly id: string };
  label: string;
  mode?: SyncConfig['mode'];
  kind?: '' | 'primary';
};

/** Starts a run, and leads to it. */
export const TriggerButton = ({ sync: { id }, label, mode, kind = '' }: TriggerProps) => (
  <ActionButton
    label={label}
    kind={kind}
    run={async () =>
      showRun(
        await api.POST('/sync-configs/{id}/trigger', {
          params: { path: { id } },
          body: { ...(mode && { mode }) },
        }),
      )
    }
  />
);

export const RunLink = ({ run }: { run: SyncConfig['lastRun'] }) =>
  run === null ? (
    <span class="muted">None yet</span>
  ) : (
    <a href={`${base}/runs/${run.id}`}>{runStates[run.status][1]}</a>
  );

type Changes = NonNullable<
  paths['/sync-configs/{id}']['patch']['requestBody']
>['content']['application/json'];

export async function updateSync({ id }: { readonly id: string }, body: Changes): Promise<void> {
  await api.PATCH('/sync-configs/{id}', { params: { path: { id } }, body });
  await invalidate('/sync-configs');
}
