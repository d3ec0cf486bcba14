// Plots as SVG, drawn with attributes only: the page's policy allows no inline style. Each has a table of the
// same values for those who don't see it.
import { useEffect, useState } from 'preact/hooks';
import type { Tone } from './badge.tsx';

export type Bar = {
  /** Equal for equal bars of two reads. */
  readonly key: string;
  readonly value: number;
  readonly tone: Tone;
  /** What the bar says on hover and to screen readers. */
  readonly title: string;
  /** Where its line in the list of values leads. */
  readonly href?: string;
};

const [height, gap] = [96, 2];
/** Fewer bars leave the rest empty, so that one bar isn't a wall. */
const minBars = 30;

/** Bars from left to right, the largest as high as the plot. `label` says what is drawn. */
export function Bars({
  bars,
  label,
  ends,
}: {
  bars: readonly Bar[];
  label: string;
  ends?: readonly [first: string, last: string];
}) {
  const largest = Math.max(1, ...bars.map(({ value }) => value));
  const width = Math.max(bars.length, minBars) * 10;
  const step = width / Math.max(bars.length, minBars);
  return (
    <figure class="plot">
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {bars.map(({ key, value, tone, title }, index) => {
          const tall = value === 0 ? 1 : Math.max(3, (value / largest) * (height - 4));
          return (
            <rect
              key={key}
              class={`bar ${tone}`}
              x={index * step + gap / 2}
              y={height - tall}
              width={Math.max(step - gap, 1)}
              height={tall}
              rx={1}
            >
              <title>{title}</title>
            </rect>
          );
        })}
      </svg>
      {ends !== undefined && (
        <figcaption>
          <span>{ends[0]}</span>
          <span>{ends[1]}</span>
        </figcaption>
      )}
      <details class="fine">
        <summary>Values</summary>
        <ul>
          {bars.map(({ key, title, href }) => (
            <li key={key}>{href === undefined ? title : <a href={href}>{title}</a>}</li>
          ))}
        </ul>
      </details>
    </figure>
  );
}

/** How much of a job is done: of `total`, or without end when it isn't known. */
export function Progress({ done, total, label }: { done: number; total: number | null; label: string }) {
  return (
    <div class="progress">
      <progress aria-label={label} {...(total === null ? {} : { value: done, max: Math.max(total, 1) })} />
      <span>{label}</span>
    </div>
  );
}

/** A job without a known end, with its seconds. Nothing within the first one. */
export function Working({ label }: { label: string }) {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((before) => before + 1), 1_000);
    return () => clearInterval(timer);
  }, []);
  return seconds > 0 && <Progress done={0} total={null} label={`${label}: ${seconds} s`} />;
}
