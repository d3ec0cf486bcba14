// The steps of the set-up. Once a version is published the rest of them can be hidden, in this browser.
import { useState } from 'preact/hooks';
import { keep, readKept } from '../kept.ts';
import { base } from '../router.ts';
import { Badge } from './badge.tsx';
import { Section } from './page.tsx';
import type { Step } from './set-up-steps.ts';

export const keptHidden = ['set-up hidden', 'localStorage'] as const;

function StepRow({ step, number, isNext }: { step: Step; number: number; isNext: boolean }) {
  const { title, text, isDone, note, action } = step;
  return (
    <li class={isDone ? 'done' : isNext ? 'next' : 'later'} aria-current={isNext ? 'step' : undefined}>
      <span class="marker" aria-hidden="true">
        {isDone ? '✓' : number}
      </span>
      <div>
        <p class="row">
          <strong>{title}</strong>
          {isDone && <span class="fine">Done</span>}
          {!isDone && note !== undefined && <Badge tone="busy">{note}</Badge>}
        </p>
        {!isDone && <p class="muted">{text}</p>}
      </div>
      {isNext &&
        (action === null ? (
          <p class="fine">Your role doesn't allow this step.</p>
        ) : (
          <a class="button primary" href={base + action.to}>
            {action.label}
          </a>
        ))}
    </li>
  );
}

/**
 * `started`: the rest of the page has something to show, so that the steps can be hidden. Nothing when all
 * are done.
 */
export function SetUp({ steps, started }: { steps: readonly Step[]; started: boolean }) {
  const [hidden, setHidden] = useState(() => readKept<boolean>(...keptHidden) === true);
  const done = steps.filter(({ isDone }) => isDone).length;
  if (done === steps.length || (started && hidden)) return null;
  const next = steps.findIndex(({ isDone }) => !isDone);
  // Late in the set-up only what is left is of interest.
  const isLate = started && done > steps.length / 2;
  const hide = (): void => {
    keep(keptHidden[0], true, keptHidden[1]);
    setHidden(true);
    document.getElementById('main')?.focus({ preventScroll: true });
  };
  return (
    <Section
      title="Set-up"
      actions={
        <>
          <span class="muted">
            {done} of {steps.length} done
          </span>
          {started && (
            <button type="button" class="link" onClick={hide}>
              Hide
            </button>
          )}
        </>
      }
    >
      <ol class="steps">
        {steps.map((step, index) =>
          isLate && step.isDone ? null : (
            <StepRow key={step.title} step={step} number={index + 1} isNext={index === next} />
          ),
        )}
      </ol>
    </Section>
  );
}
