import { api } from '../../api.ts';
import { PublicationProgress } from '../../parts/publication-progress.tsx';
import { ActionButton } from '../../parts/record-form.tsx';
import { invalidate } from '../../query.ts';
import { may } from '../../session.ts';
import { type Access, accessPath } from './data.ts';

/** How far the preparation is, or why it failed. */
export function Preparation({ access: { status, publication } }: { access: Access }) {
  const cancel = async (): Promise<void> => {
    await api.POST('/portal/access/cancel-preparation');
    await invalidate(accessPath);
  };
  if (status === 'preparing')
    return (
      <div class="card stack" aria-live="polite">
        <PublicationProgress publication={publication} />
        {may('portal:update') && (
          <div>
            <ActionButton label="Cancel" about="the preparation" run={cancel} />
          </div>
        )}
      </div>
    );
  if (status !== 'failed') return null;
  return (
    <div class="problem" role="alert">
      <p>
        <strong>The portal could not be made ready.</strong>
      </p>
      <ul class="bullets">
        {publication?.problems.slice(0, 10).map(({ path, message }) => (
          <li key={`${path} ${message}`}>{message}</li>
        ))}
      </ul>
    </div>
  );
}
