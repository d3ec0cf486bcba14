// Cards with a heading, and the sentence that is in one where there is nothing to list.
import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from './icon.tsx';

export const Card = ({
  title,
  aside,
  children,
}: {
  title: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
}) => (
  <section class="card">
    <div class="card-head">
      <h2>{title}</h2>
      {aside}
    </div>
    {children}
  </section>
);

export const Empty = ({
  text,
  icon = 'nothing',
  children,
}: {
  text: string;
  icon?: IconName;
  children?: ComponentChildren;
}) => (
  <div class="nothing">
    <Icon name={icon} />
    <p>{text}</p>
    {children}
  </div>
);
