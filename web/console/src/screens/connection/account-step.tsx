// Step 1: the account, and how the service signs in to it.
import { useState } from 'preact/hooks';
import { keep, readKept } from '../../kept.ts';
import { type FieldSpec, RecordForm } from '../../parts/record-form.tsx';
import { StepFrame } from './instructions.tsx';
import { type Connection, currentCertificate, methodWords, type Step, saveConnection } from './words.ts';

type Name =
  | 'accountId'
  | 'method'
  | 'clientId'
  | 'consumerKey'
  | 'consumerSecret'
  | 'tokenId'
  | 'tokenSecret'
  | 'baseUrl';
type Values = Readonly<Record<Name, string>>;

const isOauth = ({ method }: Values): boolean => method === 'oauth2';
const isTba = (values: Values): boolean => !isOauth(values);

const ofSignIn = <N extends Name>(name: N, label: string) => ({
  name,
  label,
  path: `authentication.${name}`,
});

/** `isStored`: the service has the secrets of tokens. */
function createFields(isStored: boolean): readonly FieldSpec<Name>[] {
  const hint = isStored && 'Stored. Leave both secrets empty to keep them.';
  const secret = { kind: 'password', required: !isStored, when: isTba, hint } as const;
  return [
    {
      ...{ name: 'accountId', label: 'Account id', required: true },
      hint: 'In NetSuite: Setup > Company > Company Information. A sandbox has a suffix, as in 1234567_SB1.',
    },
    {
      ...{ name: 'method', label: 'How the service signs in', options: Object.entries(methodWords) },
      hint: 'A certificate is recommended: its private key never leaves the service. Tokens are for accounts that already use them.',
    },
    {
      ...ofSignIn('clientId', 'Client id'),
      ...{ required: true, when: isOauth },
      hint: 'Of the integration record. NetSuite shows it once, when the record is saved.',
    },
    { ...ofSignIn('consumerKey', 'Consumer key'), required: true, when: isTba },
    { ...ofSignIn('consumerSecret', 'Consumer secret'), ...secret },
    { ...ofSignIn('tokenId', 'Token id'), required: true, when: isTba },
    { ...ofSignIn('tokenSecret', 'Token secret'), ...secret },
    {
      ...{ name: 'baseUrl', label: 'Another address (optional)' },
      hint: 'Of an account without an address of its own below suitetalk.api.netsuite.com, such as a simulated one. The operator of this service must allow its host.',
    },
  ];
}

function toValues(connection: Connection | null): Partial<Values> {
  if (connection === null) return { method: 'oauth2' };
  const { accountId, baseUrl, authentication } = connection;
  const { certificateId: _, ...ids } = authentication;
  return { accountId, baseUrl: baseUrl ?? '', ...ids };
}

/** The certificate id stays what it is; secrets that are not entered stay too. */
function toInput(values: Values) {
  const { accountId, baseUrl, clientId, consumerKey, tokenId, consumerSecret, tokenSecret } = values;
  const tokens = {
    consumerKey,
    tokenId,
    ...(consumerSecret && { consumerSecret }),
    ...(tokenSecret && { tokenSecret }),
  };
  return {
    accountId: accountId.trim(),
    baseUrl: baseUrl.trim() || null,
    authentication: isOauth(values)
      ? { method: 'oauth2' as const, clientId, certificateId: null }
      : { method: 'tba' as const, ...tokens },
  };
}

function nextStep(values: Values, connection: Connection | null): Step {
  if (isTba(values)) return 'test';
  const waits = connection !== null && currentCertificate(connection)?.certificateId === null;
  return connection?.hasCredentials && !waits ? 'test' : 'certificate';
}

const draft = 'connection account';

/** Creates the first certificate as well, which the next step shows. Rejects with an ApiError. */
function save(values: Values, connection: Connection | null): Promise<void> {
  const next = nextStep(values, connection);
  const creates = next === 'certificate' && (connection?.certificates.length ?? 0) === 0;
  return saveConnection(toInput(values), draft, next, creates);
}

export function AccountStep({ connection }: { connection: Connection | null }) {
  const initial = readKept<Partial<Values>>(draft) ?? toValues(connection);
  const [method, setMethod] = useState(initial.method);
  return (
    <StepFrame help={method === 'tba' ? 'tba' : 'oauth2'}>
      <RecordForm
        fields={createFields(connection?.authentication.method === 'tba' && connection.hasCredentials)}
        initial={initial}
        label="Save and continue"
        focusFirst
        save={(values) => save(values, connection)}
        onChange={({ consumerSecret, tokenSecret, ...entered }) => {
          keep(draft, entered);
          setMethod(entered.method);
        }}
      />
    </StepFrame>
  );
}
