import type { ComponentChildren } from 'preact';
import { Copy, publicRequest } from '../../parts/copy.tsx';
import { Facts } from '../../parts/list.tsx';
import { ShownOnce } from '../../parts/shown-once.tsx';
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
export const Secret = ({ title, secret, path = '', note, children }: SecretProps) => (
  <ShownOnce
    title={title}
    secret={secret ?? ''}
    details={
      <>
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
      </>
    }
  >
    {children}
  </ShownOnce>
);

/** The page that describes the version of the path, for those who write the program. */
function ReferenceOf({ path }: { path: string }) {
  const version = /^\/(v\d+)\//.exec(path)?.[1];
  const address = `${location.origin}/api/public/openapi/${version ?? '{version}'}/preview`;
  return version === undefined ? <code>{address}</code> : <a href={address}>{address}</a>;
}
