// The next step of the set-up, after a run that succeeded. Nothing once the set-up is complete or hidden, or
// where the role doesn't allow it.
import { readKept } from '../../kept.ts';
import { keptHidden } from '../../parts/set-up.tsx';
import { listSteps } from '../../parts/set-up-steps.ts';
import { useGet } from '../../query.ts';
import { base } from '../../router.ts';

export function NextStep() {
  const { data } = useGet(readKept(...keptHidden) === true ? null : '/overview');
  const step = data && listSteps(data).find(({ isDone }) => !isDone);
  if (!step?.action) return null;
  return (
    <section class="note row" aria-label="Next step">
      <span>
        <strong>Next: {step.title}.</strong> {step.text}
      </span>
      <a class="button primary" href={base + step.action.to}>
        {step.action.label}
      </a>
    </section>
  );
}
