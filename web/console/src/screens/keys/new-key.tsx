import { useState } from 'preact/hooks';
import { type Answer, api } from '../../api.ts';
import { Page } from '../../parts/page.tsx';
import { invalidate } from '../../query.ts';
import { base } from '../../router.ts';
import { filterLiving, listResources, useVersions, type Version } from '../../versions.ts';
import { KeyForm } from './key-form.tsx';
import { above } from './keys.tsx';
import { Secret } from './secret.tsx';

type MadeKey = Answer<'/api-keys', 'post'>;

/** The address of a first read: of a resource that the key reads, when one is known. */
function firstPath({ scopes }: MadeKey, versions: readonly Version[]): string | undefined {
  const version = filterLiving(versions, scopes.versions).find(({ status }) => status === 'published');
  const wanted = scopes.resources.length > 0 ? scopes.resources : Object.keys(scopes.rows ?? {});
  const known = version === undefined ? [] : listResources([version]);
  const resource = known.find((name) => wanted.includes(name)) ?? known[0];
  return resource && `/${version?.version}/${resource}?pageSize=1`;
}

export function NewKey() {
  const versions = useVersions();
  const [made, setMade] = useState<MadeKey>();
  if (made === undefined)
    return (
      <Page
        title="Create an API key"
        above={above}
        lead="Give it what its program needs, and no more. Scopes can be changed later."
      >
        <KeyForm
          label="Create the key"
          save={async (body) => {
            setMade((await api.POST('/api-keys', { body })).data);
            await invalidate('/api-keys');
          }}
        />
      </Page>
    );
  return (
    <Page title={made.name} above={above} lead="The key is ready.">
      <Secret title="Secret of the key" secret={made.secret} path={firstPath(made, versions)}>
        <a class="button primary" href={`${base}/keys/${made.id}`}>
          I have copied it: go to the key
        </a>
      </Secret>
    </Page>
  );
}
