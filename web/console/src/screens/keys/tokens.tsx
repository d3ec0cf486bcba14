// Tokens of a key: minted for one customer, narrower than the key, an hour at most; ended by their subject.
import { useState } from 'preact/hooks';
import { type Answer, api } from '../../api.ts';
import { formatList } from '../../format.ts';
import { Section } from '../../parts/page.tsx';
import { DialogButton, type FieldSpec, FormButton, RecordForm } from '../../parts/record-form.tsx';
import { Copied } from '../../parts/shown-once.tsx';
import { Time } from '../../parts/time.tsx';
import { invalidate } from '../../query.ts';
import { may } from '../../session.ts';
import { filterLiving, useVersions, type Version } from '../../versions.ts';
import { rowFields } from './key-form.tsx';
import { type Customers, findCustomers, rowsOfCustomer } from './lookup.ts';
import { RecordPicker } from './record-picker.tsx';
import { type Key, rowWords } from './scope-words.ts';
import { toRows } from './scopes.ts';
import { Secret } from './secret.tsx';

const path = '/api-keys/{id}/tokens';
const subject = { name: 'subject', label: 'Subject' } as const;

export const TokenSection = ({ apiKey }: { apiKey: Key }) => (
  <Section title="Tokens">
    <div class="card stack">
      <p>
        Your backend mints tokens with this key: each reads for one customer, for an hour at most. To end all,
        rotate the key without a grace period.
      </p>
      <div class="row">
        {may('record:read') && (
          <DialogButton label="Mint a token" title={`Mint a token of ${apiKey.name}`}>
            {(close) => <MintToken apiKey={apiKey} onClose={close} />}
          </DialogButton>
        )}
        <FormButton
          label="Revoke tokens of a subject"
          title={`Revoke tokens of ${apiKey.name}`}
          action="Revoke these tokens"
          fields={[{ ...subject, required: true, hint: 'Such as customer:1042' }]}
          save={async (query) => {
            await api.DELETE(path, { params: { path: { id: apiKey.id }, query } });
            await invalidate('/api-keys');
          }}
        >
          <p>All tokens minted for the subject until now stop working within a second.</p>
        </FormButton>
      </div>
    </div>
  </Section>
);

type Minted = NonNullable<Answer<typeof path, 'post'>['tokens']>[number];

function MintToken({ apiKey: { id, scopes }, onClose }: { apiKey: Key; onClose: () => void }) {
  const versions = filterLiving(useVersions(), scopes.versions);
  const [minted, setMinted] = useState<Minted>();
  const [customer, setCustomer] = useState('');
  if (minted !== undefined)
    return (
      <Secret
        title={minted.subject === null ? 'Token' : `Token for ${minted.subject}`}
        secret={minted.token}
        note={
          <>
            It works until <Time at={minted.expiresAt} />.
          </>
        }
      >
        <Copied onClose={onClose} />
      </Secret>
    );
  const resources = scopes.resources.length === 0 ? undefined : scopes.resources;
  const owner = findCustomers(versions, resources);
  return (
    <RecordForm
      fields={listFields(versions, resources, owner)}
      initial={{ seconds: '900' }}
      label="Mint the token"
      onChange={(values) => setCustomer(values.customer)}
      save={async ({ subject: given, seconds, customer: of, ...rows }) => {
        const isOfCustomer = owner !== undefined && of !== '';
        const named = isOfCustomer ? `${owner.kind}:${of}` : given;
        const token = {
          scopes: { rows: isOfCustomer ? rowsOfCustomer(owner, of) : toRows(rows) },
          expiresInSeconds: Number(seconds),
          ...(named !== '' && { subject: named }),
        };
        const { data } = await api.POST(path, { params: { path: { id } }, body: { tokens: [token] } });
        setMinted(data?.tokens?.[0]);
      }}
    >
      {owner !== undefined && customer !== '' && (
        <p class="note">
          It reads{' '}
          {formatList(
            Object.entries(rowsOfCustomer(owner, customer)).map(([name, conditions]) =>
              rowWords(name, conditions),
            ),
          )}
          . Its subject is {owner.kind}:{customer}.
        </p>
      )}
    </RecordForm>
  );
}

type TokenField = 'customer' | 'subject' | 'rows' | 'others' | 'seconds';

/** Either a customer, or a subject and conditions. */
function listFields(
  versions: readonly Version[],
  resources: string[] | undefined,
  owner: Customers | undefined,
): FieldSpec<TokenField>[] {
  const isFree = ({ customer }: Readonly<Record<TokenField, string>>): boolean => customer === '';
  return [
    {
      name: 'customer',
      label: 'Customer',
      hint: 'The token reads the records of this customer, and no others.',
      edit: ({ value, onChange }) =>
        owner && <RecordPicker label="Customer" lookup={owner.lookup} single {...{ value, onChange }} />,
      when: () => owner !== undefined,
    },
    {
      ...subject,
      hint: 'Such as customer:1042. Usage is counted and tokens are revoked by it.',
      when: isFree,
    },
    ...rowFields(versions, resources).map(
      ({ when, ...field }): FieldSpec<TokenField> => ({
        ...field,
        when: (values) => isFree(values) && when?.(values) !== false,
      }),
    ),
    {
      name: 'seconds',
      label: 'Works for',
      options: [
        ['300', '5 minutes'],
        ['900', '15 minutes'],
        ['3600', '1 hour'],
      ],
    },
  ];
}
