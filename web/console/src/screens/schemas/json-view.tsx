// The definition as text. What is typed counts at once where it is a definition; until then the tables show
// the last one that was.
import { Field as Input } from '../../parts/form.tsx';
import { readText, toText } from './json-text.ts';
import type { Draft } from './use-draft.ts';

export function JsonView({ draft }: { draft: Draft }) {
  const { endpoints, text } = draft.content;
  const { fault } = text === undefined ? {} : readText(text);
  const type = (next: string): void => {
    const { document } = readText(next);
    draft.change({ text: next, ...(document && { endpoints: document }) });
  };
  return (
    <div class="schema-json" aria-live="polite">
      <Input
        label="Definition as JSON"
        rows={32}
        value={text ?? toText(endpoints)}
        onChange={type}
        hint="A list of resources, as PATCH /api-schema/{id} takes it."
        problem={fault && `${fault}. The last valid definition stays.`}
      />
    </div>
  );
}
