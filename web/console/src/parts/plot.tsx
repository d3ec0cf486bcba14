// Plots as SVG, drawn with attributes only: the page's policy allows no inline style. Each has a table of the
// same values for those who don't see it.
import type { TargetedPointerEvent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { formatDay, formatNumber } from '../format.ts';
import { go } from '../router.ts';
import type { Tone } from './badge.tsx';

/** A part of a bar, from below; a negative one hangs down. */
export type BarPart = { readonly value: number; readonly tone: Tone };
export type Bar = {
  /** Equal for equal bars of two reads. A day (YYYY-MM-DD) is said at the axis. */
  readonly key: string;
  /** What the axis says of it instead of its key. */
  readonly mark?: string;
  readonly parts: readonly BarPart[];
  /** What is said of the bar at the pointer, at the keyboard and to screen readers. */
  readonly title: string;
  /** Where the bar and its line in the list of values lead. */
  readonly href?: string;
};

const [height, gap, step] = [96, 2, 10];
const minBars = 30;

const sum = ({ parts }: Bar): number => parts.reduce((total, { value }) => total + value, 0);

/** The end of the axis: 1, 2 or 5 times a power of ten. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((times) => times * power >= value) ?? 10) * power;
}

/** The ends of the vertical axis, and how high zero is. */
type Scale = { readonly top: number; readonly zero: number };

function Column({
  bar,
  at,
  scale: { top, zero },
  isActive,
}: {
  bar: Bar;
  at: number;
  scale: Scale;
  isActive: boolean;
}) {
  let y = zero;
  const shapes = bar.parts.map(({ value, tone }) => {
    const tall = value === 0 ? 0 : Math.max(2, (Math.abs(value) / top) * zero);
    if (value > 0) y -= tall;
    return (
      <rect key={tone} class={`bar ${tone}`} x={at * step + gap / 2} y={y} width={step - gap} height={tall} />
    );
  });
  return (
    <g class={isActive ? 'active' : undefined}>
      <rect class="column" x={at * step} y={0} width={step} height={height} />
      {shapes}
    </g>
  );
}

const maxMarks = 5;

const findMark = (bar: Bar | undefined): string | undefined =>
  bar?.mark ?? (/^\d{4}-\d\d-\d\d$/.test(bar?.key ?? '') ? formatDay(`${bar?.key}T12:00`) : undefined);

/** Marks of the horizontal axis below some of the bars, as far apart from each other; none where bars have none. */
function Marks({ bars, columns }: { bars: readonly Bar[]; columns: number }) {
  const count = Math.max(1, Math.round((maxMarks * bars.length) / columns));
  const marks = Array.from({ length: count }, (_, index) => {
    const at = count === 1 ? 0 : Math.round((index * (bars.length - 1)) / (count - 1));
    return { at, text: findMark(bars[at]) };
  });
  if (marks[0]?.text === undefined) return null;
  return (
    <svg class="marks" aria-hidden="true">
      {marks
        .filter(({ text }, index) => text !== marks[index - 1]?.text)
        .map(({ at, text }) => (
          <text
            key={at}
            x={`${((at === 0 ? 0 : at === columns - 1 ? columns : at + 0.5) / columns) * 100}%`}
            y="1em"
            text-anchor={at === 0 ? 'start' : at === columns - 1 ? 'end' : 'middle'}
          >
            {text}
          </text>
        ))}
    </svg>
  );
}

type BarsProps = {
  bars: readonly Bar[];
  /** What is drawn. */
  label: string;
  /** What the colours mean. */
  legend?: readonly (readonly [tone: Tone, meaning: string])[];
  /** A value of the vertical axis. */
  format?: (value: number) => string;
  /** Fewer bars leave the rest empty, so that one bar isn't a wall. */
  minColumns?: number;
};
type Choice = { readonly active: number | undefined; readonly choose: (at: number | undefined) => void };

/** The bars, of which the pointer or the arrow keys choose one; a click or Enter follows its link. */
function Area({
  bars,
  label,
  minColumns = minBars,
  scale,
  active,
  choose,
}: Pick<BarsProps, 'bars' | 'label' | 'minColumns'> & Choice & { scale: Scale }) {
  const columns = Math.max(bars.length, minColumns);
  const shown = active === undefined ? undefined : bars[active];
  const follow = (): void => {
    if (shown?.href !== undefined) go(shown.href);
  };
  const chooseAt = ({ currentTarget, clientX }: TargetedPointerEvent<HTMLDivElement>): void => {
    const { left, width } = currentTarget.getBoundingClientRect();
    const at = Math.floor(((clientX - left) / width) * columns);
    choose(at < bars.length ? at : undefined);
  };
  const press = (event: KeyboardEvent): void => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === 'Enter') follow();
    if (by === undefined) return;
    event.preventDefault();
    const from = active ?? (by > 0 ? -1 : bars.length);
    choose(Math.min(bars.length - 1, Math.max(0, from + by)));
  };
  return (
    <div
      role="slider"
      aria-label={label}
      aria-valuemin={1}
      aria-valuemax={bars.length}
      aria-valuenow={(active ?? bars.length - 1) + 1}
      aria-valuetext={(shown ?? bars.at(-1))?.title ?? ''}
      tabIndex={0}
      class={shown?.href === undefined ? undefined : 'leads'}
      onPointerMove={chooseAt}
      onPointerLeave={() => choose(undefined)}
      onBlur={() => choose(undefined)}
      onClick={follow}
      onKeyDown={press}
    >
      <svg viewBox={`0 0 ${columns * step} ${height}`} preserveAspectRatio="none" aria-hidden="true">
        <path class="grid" d={`M0 .5H${columns * step}M0 ${height / 2}H${columns * step}`} />
        {bars.map((bar, at) => (
          <Column key={bar.key} bar={bar} at={at} scale={scale} isActive={at === active} />
        ))}
      </svg>
      <Marks bars={bars} columns={columns} />
    </div>
  );
}

/** Bars from left to right with their axis. The title of the chosen one takes the place of the legend. */
export function Bars({ bars, label, legend = [], format = formatNumber, minColumns = minBars }: BarsProps) {
  const [active, choose] = useState<number>();
  const top = roundUp(Math.max(1, ...bars.map((bar) => Math.abs(sum(bar)))));
  const isSigned = bars.some((bar) => sum(bar) < 0);
  const shown = active === undefined ? undefined : bars[active];
  return (
    <figure class="plot">
      <div class="plot-area">
        <div class="axis" aria-hidden="true">
          {(isSigned ? [top, 0, -top] : [top, top / 2, 0]).map((value) => (
            <span key={value}>{format(value)}</span>
          ))}
        </div>
        <Area
          bars={bars}
          label={label}
          minColumns={minColumns}
          scale={{ top, zero: isSigned ? height / 2 : height }}
          active={active}
          choose={choose}
        />
      </div>
      <figcaption>
        {shown !== undefined ? (
          <strong>{shown.title}</strong>
        ) : (
          legend.map(([tone, meaning]) => (
            <span key={meaning} class="meaning">
              <svg viewBox="0 0 10 10" aria-hidden="true">
                <rect class={`bar ${tone}`} width="10" height="10" rx="2" />
              </svg>
              {meaning}
            </span>
          ))
        )}
      </figcaption>
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
