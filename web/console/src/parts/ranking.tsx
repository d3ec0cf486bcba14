/** A value with a name, and where it leads. */
export type Ranked = {
  readonly key: string;
  readonly label: string;
  readonly value: number;
  /** The value as it is shown. */
  readonly text: string;
  readonly href?: string | undefined;
};

/** Named values as bars below each other, each with its text. */
export function Ranking({ label, rows }: { label: string; rows: readonly Ranked[] }) {
  const top = Math.max(Number.MIN_VALUE, ...rows.map(({ value }) => Math.abs(value)));
  return (
    <ol class="ranking" aria-label={label}>
      {rows.map(({ key, label: name, value, text, href }) => (
        <li key={key}>
          <span class="cut">{href === undefined ? name : <a href={href}>{name}</a>}</span>
          <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
            <rect
              class={`bar ${value < 0 ? 'bad' : 'busy'}`}
              width={value === 0 ? 0 : Math.max(0.5, (Math.abs(value) / top) * 100)}
              height="8"
            />
          </svg>
          <span class="amount">{text}</span>
        </li>
      ))}
    </ol>
  );
}
