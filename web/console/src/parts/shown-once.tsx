import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Copy } from './copy.tsx';
import { focusFirst } from './dialog.tsx';

type ShownOnceProps = {
  title: string;
  secret: string;
  /** Below the secret. */
  details?: ComponentChildren;
  /** The way on. */
  children: ComponentChildren;
};

/** A secret, until one leaves. */
export function ShownOnce({ title, secret, details, children }: ShownOnceProps) {
  const [left, setLeft] = useState(false);
  useEffect(() => {
    // A browser may keep the page that is left, and show it as it was when one goes back.
    const leave = (): void => setLeft(true);
    addEventListener('pagehide', leave);
    return () => removeEventListener('pagehide', leave);
  }, []);
  if (left) return <p>{children}</p>;
  return (
    <div class="stack key-secret">
      <h2 tabIndex={-1} ref={focusFirst}>
        {title}
      </h2>
      <p class="note warn">Copy it now: it is shown this once.</p>
      <Copy text={secret} />
      {details}
      <p>{children}</p>
    </div>
  );
}

/** The button that closes a dialog with a secret. */
export const Copied = ({ onClose }: { onClose: () => void }) => (
  <button type="button" class="primary" onClick={onClose}>
    I have copied it
  </button>
);
