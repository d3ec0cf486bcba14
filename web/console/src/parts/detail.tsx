// What screens of one object share: the frame until it is read, its state in a word, its problems, and the
// button that deletes it.
import type { ComponentChildren } from 'preact';
import type { Read } from '../query.ts';
import { base, go } from '../router.ts';
import { Badge, type Tone } from './badge.tsx';
import { selectFilter } from './list.tsx';
import { Page } from './page.tsx';
import { Problem } from './problem.tsx';
import { ConfirmButton } from './record-form.tsx';
import { Skeleton } from './skeleton.tsx';
import type { Column } from './table.tsx';

/** A state: its tone and its word. */
export type State = readonly [tone: Tone, word: string];
export type States<Name extends string> = Readonly<Record<Name, State>>;

export const WordBadge = ({ state: [tone, word] }: { state: State }) => <Badge tone={tone}>{word}</Badge>;

type StateBadgeProps<Name extends string> = {
  states: States<Name>;
  state: Name;
  detail?: string | null | undefined;
};

/** `detail` says more about the state, such as why it failed. */
export const StateBadge = <Name extends string>({ states, state, detail }: StateBadgeProps<Name>) => (
  <>
    <WordBadge state={states[state]} /> {detail && <span class="fine">{detail}</span>}
  </>
);

/** Below the title of a screen: the state, and the rest of the line. */
export const StateLead = ({ state, children }: { state: State; children: ComponentChildren }) => (
  <span class="row">
    <WordBadge state={state} />
    <span>{children}</span>
  </span>
);

export const stateFilter = (states: States<string>, label = 'State', name = 'status', any = 'Any state') =>
  selectFilter(
    label,
    name,
    any,
    Object.entries(states).map(([value, [, word]]) => [value, word] as const),
  );

type Reading = Read<unknown> & { reload(): Promise<void> };

/** In place of what isn't read yet, or can't be. */
export const Pending = ({ error, reload }: Pick<Reading, 'error' | 'reload'>) =>
  error === undefined ? <Skeleton lines={6} /> : <Problem error={error} retry={() => void reload()} />;

/** The frame of a screen whose object isn't read yet, or can't be. */
export const Unread = ({
  read,
  title,
  above,
}: {
  read: Reading;
  title: string;
  above: readonly { readonly to: string; readonly title: string }[];
}) => (
  <Page title={title} above={above}>
    <Pending {...read} />
  </Page>
);

type Shown = {
  title: string;
  lead?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
};
type ObjectPageProps<T> = {
  read: Read<T> & { reload(): Promise<void> };
  /** What the object is, such as `Team`, and the path of their list. */
  kind: string;
  list: string;
  show: (one: T) => Shown;
};

/** The screen of one object of a list. */
export function ObjectPage<T>({ read, kind, list, show }: ObjectPageProps<T>) {
  const above = [{ to: `${base}${list}`, title: `${kind}s` }];
  return read.data === undefined ? (
    <Unread read={read} title={kind} above={above} />
  ) : (
    <Page above={above} {...show(read.data)} />
  );
}

/** A column of states. */
export const stateColumn = <Name extends string>(
  states: States<Name>,
): Column<{ readonly status: Name }> => ({
  title: 'State',
  cell: ({ status }) => <StateBadge states={states} state={status} />,
});

/** What doesn't work in an object at the moment, as the service says it. */
export const Warnings = ({
  problems,
}: {
  problems: readonly { readonly path: string; readonly message: string }[];
}) =>
  problems.length > 0 && (
    <ul class="note warn">
      {problems.map(({ path, message }) => (
        <li key={`${path} ${message}`}>{message}</li>
      ))}
    </ul>
  );

type DeleteButtonProps = {
  what: string;
  name: string;
  run: () => Promise<unknown>;
  to?: string;
  children: ComponentChildren;
};

/**
 * Asks, deletes, and with `to` shows that screen afterwards. `children` say what will happen, `what` is what
 * is deleted.
 */
export const DeleteButton = ({ what, name, run, to, children }: DeleteButtonProps) => (
  <ConfirmButton
    label="Delete"
    kind={to === undefined ? 'link' : 'danger'}
    title={`Delete ${name}`}
    action={`Delete this ${what}`}
    run={async () => {
      await run();
      if (to !== undefined) go(`${base}${to}`);
    }}
  >
    {children}
  </ConfirmButton>
);
