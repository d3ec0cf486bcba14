// The editor of a draft: resources, their fields as a table or the definition as text, what is wrong with it,
// and what changes for callers.
import { useEffect, useRef } from 'preact/hooks';
import { api } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { WordBadge } from '../../parts/detail.tsx';
import { Field as Input } from '../../parts/form.tsx';
import { NewerRevision } from '../../parts/newer-revision.tsx';
import { Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { ConfirmButton } from '../../parts/record-form.tsx';
import { Time } from '../../parts/time.tsx';
import { invalidate } from '../../query.ts';
import { base, go, query } from '../../router.ts';
import { may } from '../../session.ts';
import { versionStates } from '../../states.ts';
import type { Document } from './document.ts';
import { chosenResource, EditorTabs } from './editor-tabs.tsx';
import { JsonView } from './json-view.tsx';
import { aboveVersion, formatTitle } from './new-draft.tsx';
import { ResourceView } from './resource-view.tsx';
import { type Draft, forgetChanges, useDraft, type Version } from './use-draft.ts';
import { useValidation, type Validation } from './use-validation.ts';

type Props = { draft: Draft; version: Version };

export function Editor({ version }: { version: Version }) {
  const draft = useDraft(version);
  const { endpoints, name } = draft.content;
  const validation = useValidation(version.id, endpoints);
  useSaveKey(() => void draft.save());
  return (
    <div class="wide">
      <Page
        title={formatTitle({ version: version.version, name })}
        above={[aboveVersion]}
        lead={<SavedState draft={draft} version={version} />}
        actions={<Actions draft={draft} version={version} />}
      >
        <NewerRevision
          newer={draft.newerRevision}
          mine={draft.revision}
          discard={draft.discard}
          replace={() => void draft.save({ over: true })}
        />
        <Problem error={draft.error} />
        <CheckState validation={validation} />
        <Shown draft={draft} validation={validation} version={version} />
      </Page>
    </div>
  );
}

function Actions({ draft: { isChanged, saving, save, discard }, version }: Props) {
  const review = async (): Promise<void> => {
    if (!isChanged || (await save())) go(`${base}/schemas/${version.id}/publish`);
  };
  return (
    <>
      {may('api-schema:delete') && <DeleteDraft version={version} />}
      {isChanged && (
        <button type="button" onClick={discard}>
          Discard changes
        </button>
      )}
      <button type="button" disabled={!isChanged || saving} onClick={() => void save()}>
        Save
      </button>
      <button type="button" class="primary" disabled={saving} onClick={() => void review()}>
        {isChanged ? 'Save and review' : 'Review and publish'}
      </button>
    </>
  );
}

function DeleteDraft({ version: { id, version, endpoints } }: { version: Version }) {
  const fields = endpoints.flatMap((endpoint) => endpoint.fields).length;
  const run = async (): Promise<void> => {
    await api.DELETE('/api-schema/{id}', { params: { path: { id } } });
    forgetChanges(id);
    go(`${base}/schemas`, { replace: true });
    await invalidate('/api-schema ', '/overview');
  };
  return (
    <ConfirmButton label="Delete draft" title={`Delete the draft ${version}`} run={run}>
      <p>
        Its definition ({formatCount(endpoints.length, 'resource')}, {formatCount(fields, 'field')}) is
        deleted for good. No caller is affected.
      </p>
    </ConfirmButton>
  );
}

function Shown({ draft, validation, version }: Props & { validation: Validation }) {
  const shown = query.value.get('show');
  const { endpoints } = draft.content;
  // A change in the tables takes the place of text that was typed.
  const props = {
    document: endpoints,
    change: (next: Document): void => draft.change({ endpoints: next, text: undefined }),
  };
  const index = shown === null ? chosenResource(endpoints) : -1;
  return (
    <>
      <EditorTabs {...props} index={index} placed={validation.placed} />
      {shown === 'json' ? (
        <JsonView draft={draft} />
      ) : shown === 'about' ? (
        <About draft={draft} />
      ) : (
        <ResourceView key={index} {...props} id={version.id} index={index} validation={validation} />
      )}
    </>
  );
}

const About = ({ draft: { content, change } }: { draft: Draft }) => (
  <div class="form">
    <Input
      label="Name"
      value={content.name}
      onChange={(name) => change({ name })}
      hint="Such as the callers that it serves"
    />
    <Input
      label="Notes"
      rows={6}
      value={content.notes}
      onChange={(notes) => change({ notes })}
      hint="Both are shown in its reference."
    />
  </div>
);

const SavedState = ({ draft: { isChanged, saving, revision }, version }: Props) => (
  <span aria-live="polite">
    <WordBadge state={isChanged ? ['warn', 'Unsaved'] : versionStates.draft} />{' '}
    {saving ? (
      'Saving…'
    ) : isChanged ? (
      'Changes are kept in this browser until you save them.'
    ) : (
      <>
        Revision {revision}, saved <Time at={version.updatedAt} relative />.
      </>
    )}
  </span>
);

/** Whether the definition on screen can be saved and published. */
function CheckState({ validation: { problems, result, isCurrent } }: { validation: Validation }) {
  const blocked = problems.some(({ blocks }) => blocks === 'save') ? 'saving' : 'publishing';
  const [tone, text] =
    problems.length > 0
      ? ['bad', `${formatCount(problems.length, 'problem')} to mend before ${blocked}.`]
      : isCurrent && result
        ? [
            'good',
            `Ready to publish, with ${formatCount(result.indexes.length, 'new index', 'new indexes')}.`,
          ]
        : ['', 'Checking…'];
  return (
    <p class={`schema-state ${tone}`} aria-live="polite">
      {text}
    </p>
  );
}

/** Ctrl+S or ⌘S saves, as in other editors. */
function useSaveKey(save: () => void): void {
  const latest = useRef(save);
  latest.current = save;
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== 's' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      latest.current();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}
