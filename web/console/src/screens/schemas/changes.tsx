// What changes for callers between two versions, with what breaks them first.
import { Badge } from '../../parts/badge.tsx';

type Change = {
  readonly path: string;
  readonly code: string;
  readonly breaking: boolean;
  readonly message: string;
};

export const countBreaking = (changes: readonly Change[]): number =>
  changes.filter(({ breaking }) => breaking).length;

export function Changes({ changes, against }: { changes: readonly Change[]; against: string | null }) {
  if (against === null)
    return <p class="muted">This is the first version: there is nothing to compare it with.</p>;
  if (changes.length === 0) return <p class="muted">Nothing changes for callers of {against}.</p>;
  return (
    <div class="stack">
      {countBreaking(changes) > 0 && (
        <p class="note warn">
          Callers who move here from {against} must change their programs where they use what is marked as
          breaking. {against} itself stays as it is.
        </p>
      )}
      <ul class="schema-changes">
        {changes
          .toSorted((a, b) => Number(b.breaking) - Number(a.breaking))
          .map(({ path, code, breaking, message }) => (
            <li key={`${path} ${code} ${message}`}>
              <Badge tone={breaking ? 'bad' : 'good'}>{breaking ? 'breaking' : code}</Badge>{' '}
              <span>{message}</span>
            </li>
          ))}
      </ul>
    </div>
  );
}
