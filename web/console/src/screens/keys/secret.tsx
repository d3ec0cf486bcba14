import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Copy, publicRequest } from '../../parts/copy.tsx';
import { focusFirst } from '../../parts/dialog.tsx';
import { Facts } from '../../parts/list.tsx';
import { organizationId } from '../../session.ts';

type SecretProps = {
  title: string;
  secret: string | null;
  /** What a first request reads, below /api/public: by default the versions that it may read. */
  path?: string | undefined;
  /** Until when it works, or the one before does. */
  note?: ComponentChildren;
  /** The way on. */
  children: ComponentChildren;
};

/** A secret or a token, shown once, with a first request. */
export function Secret({ title, secret, path = '', note, children }: SecretProps) {
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
      <p class="note warn">Copy it now: it is shown this once, and the service keeps no copy.</p>
      <Copy text={secret ?? ''} />
      {note !== undefined && <p>{note}</p>}
      <h3>First request</h3>
      <p>In a terminal, of Windows as well:</p>
      <Copy text={publicRequest(path, secret ?? '')} label="Copy the request" />
      <h3>What its program also needs</h3>
      <Facts
        facts={[
          ['Address', <code>{`${location.origin}/api/public`}</code>],
          ['Tenant (x-tenant-id)', <code>{organizationId()}</code>],
          ['Reference', <ReferenceOf path={path} />],
        ]}
      />
      <p>{children}</p>
    </div>
  );
}

/** The page that describes the version of the path, for those who write the program. */
function ReferenceOf({ path }: { path: string }) {
  const version = /^\/(v\d+)\//.exec(path)?.[1];
  const address = `${location.origin}/api/public/openapi/${version ?? '{version}'}/preview`;
  return version === undefined ? <code>{address}</code> : <a href={address}>{address}</a>;
}

/** The button that closes a dialog with a secret. */
export const Copied = ({ onClose }: { onClose: () => void }) => (
  <button type="button" class="primary" onClick={onClose}>
    I have copied it
  </button>
);
