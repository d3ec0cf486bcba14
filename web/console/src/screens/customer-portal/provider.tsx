// The identity provider of one's own at which visitors may sign in, besides with a mailed code.
import { type Answer, api } from '../../api.ts';
import { Copy } from '../../parts/copy.tsx';
import { Pending } from '../../parts/detail.tsx';
import { Facts } from '../../parts/list.tsx';
import { Section } from '../../parts/page.tsx';
import { ConfirmButton, type FieldSpec, FormButton } from '../../parts/record-form.tsx';
import { invalidate, useGet } from '../../query.ts';
import { may } from '../../session.ts';

type Provider = Answer<'/portal/sign-in'>['openIdConnect'];
const path = '/portal/sign-in';

type Name = 'issuer' | 'clientId' | 'clientSecret' | 'label';
const spec = (name: Name, rest: Omit<FieldSpec<Name>, 'name' | 'path'>): FieldSpec<Name> => ({
  ...{ name, path: `openIdConnect.${name}`, ...rest },
});
const fields = [
  spec('issuer', { label: 'Issuer', required: true, hint: 'Such as https://login.acme.com.' }),
  spec('clientId', { label: 'Client id', required: true }),
  spec('clientSecret', {
    label: 'Client secret',
    kind: 'password',
    hint: 'Leave it empty to keep the stored one.',
  }),
  spec('label', { label: 'Name on the button', hint: 'Empty for the host of the issuer.' }),
];

async function save({ clientSecret, label, ...values }: Readonly<Record<Name, string>>): Promise<void> {
  const openIdConnect = { ...values, label: label || null, ...(clientSecret && { clientSecret }) };
  await api.PUT(path, { body: { openIdConnect } });
  await invalidate(path);
}
async function remove(): Promise<void> {
  await api.PUT(path, { body: { openIdConnect: null } });
  await invalidate(path);
}

const Actions = ({ provider }: { provider: Provider }) => (
  <>
    <FormButton
      label={provider === null ? 'Add a provider' : 'Edit'}
      title="Identity provider"
      action="Save"
      fields={fields}
      initial={provider ?? {}}
      save={save}
    />
    {provider !== null && (
      <ConfirmButton label="Remove" kind="danger" title="Remove the provider" run={remove}>
        Visitors sign in by mail alone. Those who are signed in stay so.
      </ConfirmButton>
    )}
  </>
);

export function ProviderSection() {
  const { data, error, reload } = useGet(path);
  if (data === undefined) return <Pending error={error} reload={reload} />;
  const { openIdConnect: provider, callbackUrls } = data;
  return (
    <Section title="Identity provider" actions={may('portal:update') && <Actions provider={provider} />}>
      <div class="stack">
        <p class="muted">
          Visitors can also sign in at an OpenID Connect provider. It must have verified their address, which
          decides what they see. Register these redirect addresses there.
        </p>
        {callbackUrls.map((url) => (
          <Copy key={url} text={url} label="Copy the address" />
        ))}
        {provider !== null && (
          <Facts
            facts={[
              ['Issuer', provider.issuer],
              ['Client id', provider.clientId],
              ['Client secret', provider.hasClientSecret ? 'Stored' : 'None'],
              ['Name on the button', provider.label],
            ]}
          />
        )}
      </div>
    </Section>
  );
}
