// The command palette: goes to a screen, an object or a page of the documentation by a few letters.
import { signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';
import { Icon } from '../parts/icon.tsx';
import { path } from '../router.ts';
import { useSettled } from '../use-settled.ts';
import { type Option, useOptions } from './palette-options.ts';

const isOpen = signal(false);
const close = (): void => {
  isOpen.value = false;
};
const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** Opens the palette. */
export const PaletteButton = () => (
  <button
    type="button"
    class="palette-button"
    aria-keyshortcuts={isApple ? 'Meta+K' : 'Control+K'}
    onClick={() => {
      isOpen.value = true;
    }}
  >
    <Icon name="search" />
    Search
    <span aria-hidden="true">{isApple ? '⌘K' : 'Ctrl K'}</span>
  </button>
);

/** Opens by Ctrl K or ⌘K, unless another dialog is open. */
export function Palette() {
  useEffect(() => {
    const toggle = (event: KeyboardEvent): void => {
      const isShortcut = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey;
      if (!isShortcut || event.key.toLowerCase() !== 'k') return;
      event.preventDefault();
      isOpen.value = !isOpen.value && document.querySelector('dialog[open]') === null;
    };
    addEventListener('keydown', toggle);
    return () => removeEventListener('keydown', toggle);
  }, []);
  const at = path.value;
  // With the new screen, not a frame later, when it may have been opened again.
  useLayoutEffect(close, [at]);
  return isOpen.value ? (
    <Dialog title="Go to" onClose={close}>
      <Search />
    </Dialog>
  ) : null;
}

const Result = ({
  kind,
  icon,
  name,
  detail,
  to,
  id,
  isChosen,
}: Option & { id: string; isChosen: boolean }) => (
  // A link that leads to the screen on which the palette was opened closes it, too.
  <a role="option" aria-selected={isChosen} tabIndex={-1} id={id} href={to} onClick={() => setTimeout(close)}>
    <Icon name={icon} />
    <span class="cut">
      {name} <span class="fine">{detail}</span>
    </span>
    <span class="fine">{kind}</span>
  </a>
);

/** Its types want a `list`, which it has none of. */
const combobox: object = { role: 'combobox', 'aria-expanded': true, 'aria-controls': 'palette-options' };

/** The option that a key leads to. */
const nextOption = (key: string, current: number, count: number): number | undefined =>
  ({
    ArrowDown: (current + 1) % count,
    ArrowUp: (current + count - 1) % count,
    Home: 0,
    End: count - 1,
  })[key];

/** With Ctrl or ⌘ the browser opens a link in a new tab. */
const clickLike = ({ ctrlKey, metaKey }: KeyboardEvent, link: Element | undefined): void =>
  void link?.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, ctrlKey, metaKey }));

function Search() {
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const options = useOptions(text, useSettled(text));
  const current = Math.min(chosen, options.length - 1);
  const currentLink = (): Element | undefined => list.current?.children[current];
  useEffect(() => currentLink()?.scrollIntoView({ block: 'nearest' }), [current]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = nextOption(event.key, current, options.length);
    if (next === undefined && event.key !== 'Enter') return;
    event.preventDefault();
    if (next !== undefined) setChosen(next);
    else clickLike(event, currentLink());
  };
  return (
    <div class="palette">
      <input
        type="text"
        {...combobox}
        aria-label="Screen, sync, version, key, member or documentation"
        placeholder="Screen, sync, version, key, member, documentation"
        aria-activedescendant={options.length === 0 ? undefined : `palette-${current}`}
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div role="listbox" id="palette-options" aria-label="Results" ref={list}>
        {options.map((option, index) => (
          <Result key={option.to} id={`palette-${index}`} isChosen={index === current} {...option} />
        ))}
      </div>
      <p class="fine" role="status">
        {options.length === 0
          ? 'Nothing has these words.'
          : '↑ ↓ choose · Enter opens · Ctrl Enter in a new tab'}
      </p>
    </div>
  );
}
