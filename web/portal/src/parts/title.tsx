// The head of a page: its title, what is said below it, and what one can do.
import type { ComponentChildren } from 'preact';
import { useView } from '../view.ts';

/** The time up to which the data of the page are complete. */
export const AsOf = ({ instant }: { instant: string }) => {
  const view = useView();
  return (
    <time dateTime={instant}>{view.text('frame.asOf', { time: view.instant(instant, { zone: true }) })}</time>
  );
};

export const Title = ({
  text,
  above,
  status,
  below,
  children,
}: {
  text: string;
  above?: ComponentChildren;
  status?: ComponentChildren;
  below?: ComponentChildren;
  children?: ComponentChildren;
}) => (
  <div class="title">
    <div>
      {above}
      <div class="title-line">
        <h1>{text}</h1>
        {status}
      </div>
      {below !== undefined && <p class="below">{below}</p>}
    </div>
    {children !== undefined && <div class="actions">{children}</div>}
  </div>
);
