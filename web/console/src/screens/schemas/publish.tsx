// Publishes a draft: what will happen, how far it is, and the proof that its reads are fast on the real
// records.

import { useEffect } from 'preact/hooks';
import { api } from '../../api.ts';
import { Unread } from '../../parts/detail.tsx';
import { Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { PublicationProgress } from '../../parts/publication-progress.tsx';
import { ActionButton } from '../../parts/record-form.tsx';
import { invalidate, useGet } from '../../query.ts';
import { base, type ScreenProps } from '../../router.ts';
import { may } from '../../session.ts';
import { aboveVersion } from './new-draft.tsx';
import { Proof, useReport } from './proof.tsx';
import { Review } from './review.tsx';
import type { Version } from './use-draft.ts';

export function Publish({ params: { id = '' } }: ScreenProps) {
  const read = useGet('/api-schema/{id}', { path: { id } });
  const { data } = read;
  if (data === undefined) return <Unread read={read} title="Publication" above={[aboveVersion]} />;
  const isDraft = data.status === 'draft';
  const State = !isDraft ? Proof : data.publication?.status === 'running' ? Running : Review;
  return (
    <Page
      title={`${isDraft ? 'Publish' : 'Publication of'} ${data.version}`}
      above={[aboveVersion, { to: `${base}/schemas/${id}`, title: data.version }]}
    >
      <State version={data} />
    </Page>
  );
}

function Running({ version }: { version: Version }) {
  const { data, error } = useReport(version.id, true);
  const hasEnded = data !== undefined && data.status !== 'running';
  useEffect(() => {
    if (hasEnded) void invalidate('/api-schema', '/overview');
  }, [hasEnded]);
  return (
    <div class="stack">
      <p class="lead">It goes on when you leave this page. Other work isn't blocked meanwhile.</p>
      <div aria-live="polite">
        <PublicationProgress publication={data ?? version.publication} />
      </div>
      <Problem error={error} />
      <div class="actions">
        <CancelButton version={version} />
      </div>
    </div>
  );
}

/** The draft can be edited again at once. */
function CancelButton({ version: { id } }: { version: Version }) {
  const run = async (): Promise<void> => {
    await api.POST('/api-schema/{id}/cancel-publication', { params: { path: { id } } });
    await invalidate('/api-schema', '/overview');
  };
  return may('api-schema:publish') && <ActionButton label="Cancel" about="the publication" run={run} />;
}

/** A draft that is being published can't be changed. */
export function Publishing({ version: shown }: { version: Version }) {
  const { id, version, publication } = shown;
  useGet('/api-schema/{id}', { path: { id } }, { everyMs: 15_000 });
  return (
    <Page
      title={version}
      above={[aboveVersion]}
      lead="The draft can't be changed while it is being published."
      actions={
        <>
          <CancelButton version={shown} />
          <a class="button" href={`${base}/schemas/${id}/publish`}>
            Follow the publication
          </a>
        </>
      }
    >
      <PublicationProgress publication={publication} />
    </Page>
  );
}
