// What is due when: a bar whose parts are as wide as their amounts, and below it the same amounts as a list.
import type { Balance } from '../../../../src/portal/view-model.ts';
import type { MessageKey } from '../texts.ts';
import { useView } from '../view.ts';

const names = [
  'aging.0',
  'aging.1',
  'aging.2',
  'aging.3',
  'aging.4',
] as const satisfies readonly MessageKey[];
/** Of the whole width, in percent. */
const gap = 0.5;
const minWidth = 1;

type Part = { readonly step: number; readonly x: number; readonly width: number };

/** The parts with an amount. Numbers are for the drawing alone; what is below zero has no width. */
function layOut(amounts: readonly string[]): Part[] {
  const sizes = amounts.map((amount) => Math.max(0, Number(amount) || 0));
  const sum = sizes.reduce((total, size) => total + size, 0);
  const shown = sizes.flatMap((size, step) => (size > 0 ? [{ step, size }] : []));
  const room = 100 - gap * (shown.length - 1) - minWidth * shown.length;
  let x = 0;
  return shown.map(({ step, size }) => {
    const part = { step, x, width: minWidth + (size / sum) * room };
    x += part.width + gap;
    return part;
  });
}

const percent = (value: number): string => `${value.toFixed(3)}%`;

export const Aging = ({
  aging,
  currency,
}: {
  aging: NonNullable<Balance['aging']>;
  currency: string | null;
}) => {
  const view = useView();
  const parts = layOut(aging.map(({ amount }) => amount));
  return (
    <>
      <svg class="aging" width="100%" height="14" aria-hidden="true">
        {parts.map(({ step, x, width }) => (
          <rect key={step} class={`aging-${step}`} x={percent(x)} width={percent(width)} height="14" rx="4" />
        ))}
      </svg>
      <dl class="legend">
        {names.map((name, step) => {
          const part = aging[step];
          return (
            part !== undefined && (
              <div key={name}>
                <dt>
                  <svg class="dot" viewBox="0 0 8 8" aria-hidden="true">
                    <rect class={`aging-${step}`} width="8" height="8" rx="3" />
                  </svg>
                  {view.text(name)}
                </dt>
                <dd>{view.money({ amount: part.amount, currency })}</dd>
              </div>
            )
          );
        })}
      </dl>
    </>
  );
};
