import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type ApiError, toApiError } from '../api.ts';
import { Problem } from './problem.tsx';

/** `ref` of an element that takes the place of what had the focus. */
export const focusFirst = (element: HTMLElement | null): void => element?.focus();

/** What has the focus first: a field, or Cancel in a question without fields. */
const firstFocus = ':is(input, select, textarea):not(:disabled), .dialog-foot button';

/** A modal dialog of the browser: it holds the focus, and Escape closes it. Opened while it is rendered. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    const shown = dialog.current;
    shown?.showModal();
    (shown?.querySelector<HTMLElement>(firstFocus) ?? heading.current)?.focus();
    return () => {
      // Gives the focus back to the button that opened it. What the dialog did may have removed that button.
      shown?.close();
      const next = before?.isConnected === true ? before : document.getElementById('main');
      if (next instanceof HTMLElement) next.focus({ preventScroll: true });
    };
  }, []);
  return (
    // A dialog that was removed while it was open still reports that it closed.
    <dialog ref={dialog} aria-label={title} onClose={(event) => event.currentTarget.isConnected && onClose()}>
      <header class="dialog-head">
        <h2 ref={heading} tabIndex={-1}>
          {title}
        </h2>
        <button type="button" class="plain" aria-label="Close" onClick={() => dialog.current?.close()}>
          ✕
        </button>
      </header>
      {children}
    </dialog>
  );
}

type ConfirmProps = {
  title: string;
  /** What will happen, in words and numbers. */
  children: ComponentChildren;
  /** What the button says, such as `Revoke this key`. */
  action: string;
  /** What it says while it works. */
  busyAction?: string;
  danger?: boolean;
  disabled?: boolean;
  /** Closes the dialog when it succeeds; a failure is shown in it. */
  run: () => Promise<unknown>;
  onClose: () => void;
};

/** Asks before something that can't be undone. */
export function Confirm({
  title,
  children,
  action,
  busyAction = action,
  danger = false,
  disabled = false,
  run,
  onClose,
}: ConfirmProps) {
  const { busy, error, submit } = useAction(async () => {
    await run();
    onClose();
  });
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="stack">
        {children}
        <Problem error={error} />
      </div>
      <footer class="dialog-foot">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button
          type="button"
          class={danger ? 'danger' : 'primary'}
          disabled={busy || disabled}
          onClick={submit}
        >
          {busy ? busyAction : action}
        </button>
      </footer>
    </Dialog>
  );
}

export type Action = {
  readonly busy: boolean;
  readonly error: ApiError | undefined;
  readonly submit: () => void;
};

/** Runs `work` once at a time, and keeps its failure to show it. */
export function useAction(work: () => Promise<unknown>): Action {
  const [state, setState] = useState<{ busy: boolean; error: ApiError | undefined }>({
    busy: false,
    error: undefined,
  });
  const submit = (): void => {
    if (state.busy) return;
    setState({ busy: true, error: undefined });
    work().then(
      () => setState({ busy: false, error: undefined }),
      (error: unknown) => setState({ busy: false, error: toApiError(error) }),
    );
  };
  return { ...state, submit };
}
