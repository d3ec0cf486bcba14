import type { ComponentChildren, RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** What has the focus first in a panel. */
const firstFocus = ':is(input, select, button):not(:disabled)';

/** The panel stays within the window: it begins or ends at its button. */
function placeWithin(panel: HTMLElement): void {
  panel.classList.remove('end');
  panel.classList.toggle('end', panel.getBoundingClientRect().right > document.documentElement.clientWidth);
}

type Part = RefObject<HTMLDivElement | null>;

/** While it is open: its first control has the focus, and Escape and a click elsewhere close it. */
function useOpened(open: boolean, root: Part, panel: Part, close: (toButton: boolean) => void): void {
  useLayoutEffect(() => {
    if (panel.current !== null) placeWithin(panel.current);
  });
  // Before the next key is pressed.
  useLayoutEffect(() => {
    if (!open) return;
    panel.current?.querySelector<HTMLElement>(firstFocus)?.focus({ preventScroll: true });
    const leave = ({ target }: Event): void => {
      if (target instanceof Node && root.current?.contains(target) !== true) close(false);
    };
    const closeByKey = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      close(true);
    };
    document.addEventListener('pointerdown', leave);
    const element = root.current;
    element?.addEventListener('keydown', closeByKey);
    return () => {
      document.removeEventListener('pointerdown', leave);
      element?.removeEventListener('keydown', closeByKey);
    };
  }, [open]);
}

/** A button with a panel below it, which Escape and a click elsewhere close. */
export function Popover({
  label,
  title = label,
  kind = '',
  children,
}: {
  label: string;
  /** Of the panel. */
  title?: string;
  kind?: string;
  children: (close: () => void) => ComponentChildren;
}) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const close = (toButton = true): void => {
    setOpen(false);
    if (toButton) button.current?.focus({ preventScroll: true });
  };
  useOpened(open, root, panel, close);
  return (
    <div ref={root} class="popover-root">
      <button
        ref={button}
        type="button"
        class={kind}
        aria-expanded={open}
        aria-haspopup="dialog"
        onClick={() => setOpen(!open)}
      >
        {label}
      </button>
      {open && (
        <div ref={panel} class="popover" role="dialog" aria-label={title}>
          {children(() => close())}
        </div>
      )}
    </div>
  );
}
