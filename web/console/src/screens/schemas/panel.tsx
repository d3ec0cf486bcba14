// Beside the table: a record as callers will see it, what is wrong, and what changes for callers.
import { formatCount } from '../../format.ts';
import { Problem } from '../../parts/problem.tsx';
import { query, setQuery } from '../../router.ts';
import { Changes, countBreaking } from './changes.tsx';
import type { Document, Field } from './document.ts';
import { ProblemList } from './problem-list.tsx';
import type { TableProps } from './row-cells.tsx';
import { recordAs, type Sources } from './sources.ts';
import type { Validation } from './use-validation.ts';

export function Panel({
  id,
  document,
  endpoint,
  sources,
  validation,
}: TableProps & { id: string; validation: Validation }) {
  const shown = query.value.get('panel') ?? 'record';
  const { problems, result } = validation;
  const changes = result?.changes ?? [];
  const breaking = countBreaking(changes);
  const tabs = [
    ['record', 'Record'],
    ['problems', problems.length === 0 ? 'Problems' : formatCount(problems.length, 'problem')],
    [
      'changes',
      breaking > 0
        ? `${breaking} breaking`
        : changes.length > 0
          ? formatCount(changes.length, 'change')
          : 'Changes',
    ],
  ] as const;
  return (
    <>
      <div class="tabs">
        {tabs.map(([name, title]) => (
          <button
            type="button"
            key={name}
            aria-pressed={shown === name}
            onClick={() => setQuery({ panel: name === 'record' ? null : name })}
          >
            {title}
          </button>
        ))}
      </div>
      {shown === 'problems' ? (
        <Problems id={id} document={document} validation={validation} />
      ) : shown === 'changes' ? (
        result && <Changes {...result} />
      ) : (
        sources && <SampleRecord fields={endpoint.fields} records={sources.records} />
      )}
    </>
  );
}

/** The newest record under the names of its fields. */
export function SampleRecord({
  fields,
  records: [record],
}: {
  fields: readonly Field[];
  records: Sources['records'];
}) {
  if (record === undefined) return <p class="muted">No record is synced yet.</p>;
  return (
    <>
      <p class="fine">
        The newest record as callers will read it. Masks apply to those without unmasked access.
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section class="schema-record" aria-label="Sample record" tabIndex={0}>
        <pre>{JSON.stringify({ id: record['id'], ...recordAs(fields, record) }, null, 2)}</pre>
      </section>
    </>
  );
}

function Problems({ id, document, validation }: { id: string; document: Document; validation: Validation }) {
  const { problems, result, error, isCurrent } = validation;
  return (
    <div class="stack">
      {error?.status !== 429 && <Problem error={error} />}
      {problems.length === 0 && (
        <p class="muted">{isCurrent && result ? 'No problems: this draft can be published.' : 'Checking…'}</p>
      )}
      <ProblemList id={id} document={document} problems={[...problems, ...(result?.warnings ?? [])]} />
    </div>
  );
}
