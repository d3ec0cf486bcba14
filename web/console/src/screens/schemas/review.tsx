// What publishing a draft will do, and why the last attempt failed.
import { api } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { Section } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { ConfirmButton } from '../../parts/record-form.tsx';
import { invalidate, useRead } from '../../query.ts';
import { base } from '../../router.ts';
import { may } from '../../session.ts';
import { Changes, countBreaking } from './changes.tsx';
import { ProblemList } from './problem-list.tsx';
import { hasChanges, type Version } from './use-draft.ts';

async function validate(id: string) {
  const { data } = await api.POST('/api-schema/{id}/validate', { params: { path: { id } }, body: {} });
  return data;
}

export function Review({ version }: { version: Version }) {
  const { id, revision } = version;
  const { data, error, reload } = useRead(`/api-schema/validate ${id} ${revision}`, () => validate(id));
  return (
    <div class="stack">
      <Failure version={version} />
      {hasChanges(id) && (
        <p class="note warn">
          Your unsaved changes are not published. <a href={`${base}/schemas/${id}`}>Back to the editor</a>
        </p>
      )}
      <Problem error={error} retry={() => void reload()} />
      {data && <Plan version={version} result={data} />}
    </div>
  );
}

function Plan({
  version,
  result,
}: {
  version: Version;
  result: NonNullable<Awaited<ReturnType<typeof validate>>>;
}) {
  const { id, endpoints } = version;
  const { ready, problems, warnings, indexes, changes, against } = result;
  return (
    <>
      {!ready && (
        <div class="problem">
          <p>
            <strong>{formatCount(problems.length, 'problem')} to mend before publishing</strong>
          </p>
          <ProblemList id={id} document={endpoints} problems={problems} />
        </div>
      )}
      <p class="lead">
        {formatCount(endpoints.length, 'resource')} with{' '}
        {formatCount(endpoints.flatMap(({ fields }) => fields).length, 'field')}
        {against && `, ${formatCount(countBreaking(changes), 'breaking change')} since ${against}`}.
        Publishing builds {formatCount(indexes.length, 'index', 'indexes')} without blocking other work. Then
        filters, sorts, row scopes and groups are tried on the real records as callers read them: it is
        published only if each read that is tried ends within the time limit.
      </p>
      <div class="actions">
        <PublishButton version={version} isReady={ready} />
        <a class="button" href={`${base}/schemas/${id}`}>
          Back to the editor
        </a>
      </div>
      {warnings.length > 0 && (
        <Section title={formatCount(warnings.length, 'warning')}>
          <ProblemList id={id} document={endpoints} problems={warnings} />
        </Section>
      )}
      <Section title="Changes for callers">
        <Changes changes={changes} against={against} />
      </Section>
    </>
  );
}

function PublishButton({
  version: { id, version, revision, endpoints },
  isReady,
}: {
  version: Version;
  isReady: boolean;
}) {
  const run = async (): Promise<void> => {
    await api.POST('/api-schema/{id}/publish', { params: { path: { id } }, body: { revision } });
    await invalidate('/api-schema/{id}', '/api-schema ', '/overview');
  };
  if (!may('api-schema:publish'))
    return (
      <span class="note">Publishing needs the permission api-schema:publish: ask an administrator.</span>
    );
  return (
    <ConfirmButton label={`Publish ${version}`} kind="primary" danger={false} disabled={!isReady} run={run}>
      <p>
        Revision {revision} with {formatCount(endpoints.length, 'resource')} can never be changed after that,
        only deprecated and retired. API keys that are not limited to other versions can read it at once.
      </p>
    </ConfirmButton>
  );
}

function Failure({ version }: { version: Version }) {
  const { publication } = version;
  if (publication?.status !== 'failed') return null;
  const isSlow = publication.problems.some(({ path }) => path !== '');
  return (
    <div class="problem" role="alert">
      <p>
        <strong>{version.version} was not published.</strong> Nothing changed for callers.
      </p>
      <ProblemList id={version.id} document={version.endpoints} problems={publication.problems} />
      <p>
        {isSlow ? 'Change it in the editor, then publish again.' : 'Publish again, or ask your operator.'}
      </p>
    </div>
  );
}
