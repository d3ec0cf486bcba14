// What publishing a draft will do, which is the question and the answer at once, and why the last attempt
// failed.
import { api } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { Section } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { ActionButton } from '../../parts/record-form.tsx';
import { invalidate, useRead } from '../../query.ts';
import { base } from '../../router.ts';
import { may } from '../../session.ts';
import { listFields, WhatCallersRead } from './callers-read.tsx';
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
      {warnings.length > 0 && (
        <div class="note warn">
          <p>
            <strong>{formatCount(warnings.length, 'warning')}: decide before publishing</strong>
          </p>
          <ProblemList id={id} document={endpoints} problems={warnings} />
          <p>
            Give a field a mask in the editor, or limit the keys to other versions:{' '}
            <a href={`${base}/keys`}>API keys</a>
          </p>
        </div>
      )}
      <Section title="What API keys can read">
        <WhatCallersRead id={id} document={endpoints} />
      </Section>
      <Section title={against === null ? 'What changes for callers' : `What breaks callers of ${against}`}>
        <Changes changes={changes} against={against} />
      </Section>
      <p class="fine">
        Publishing builds {formatCount(indexes.length, 'index', 'indexes')} without blocking other work. Then
        filters, sorts, row scopes and groups are tried on the real records as callers read them: it is
        published only if each read that is tried ends within the time limit.
      </p>
      <Confirmation version={version} result={result} />
    </>
  );
}

/** What the button does, and the button: there is no other question. */
function Confirmation({ version: { id, version, revision, endpoints }, result }: Parameters<typeof Plan>[0]) {
  const { ready, changes, against } = result;
  const run = async (): Promise<void> => {
    await api.POST('/api-schema/{id}/publish', { params: { path: { id } }, body: { revision } });
    await invalidate('/api-schema/{id}', '/api-schema ', '/overview');
  };
  return (
    <section class="review-confirm" aria-label="Confirmation">
      <p>
        <strong>
          {version} opens {formatCount(endpoints.length, 'resource')} with{' '}
          {formatCount(endpoints.flatMap(listFields).length, 'field')} to API keys
          {against && `, with ${formatCount(countBreaking(changes), 'breaking change')} since ${against}`}.
        </strong>{' '}
        Keys that are not limited to other versions can read it at once, each within its own limits of
        resources and rows. Without a key no one can: nothing is open to the internet. A published version can
        never be changed, only deprecated and retired.
      </p>
      {!may('api-schema:publish') && (
        <p class="note">Publishing needs the permission api-schema:publish: ask an administrator.</p>
      )}
      <div class="actions">
        {ready && may('api-schema:publish') && (
          <ActionButton label={`Publish ${version}`} kind="primary" run={run} />
        )}
        <a class="button" href={`${base}/schemas/${id}`}>
          Back to the editor
        </a>
      </div>
    </section>
  );
}

function Failure({ version }: { version: Version }) {
  const { publication } = version;
  if (publication?.status === 'cancelled')
    return <p class="note">The publication was cancelled. Nothing changed for callers.</p>;
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
