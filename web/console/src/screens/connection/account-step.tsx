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
  | 'hasAddress'
  | 'baseUrl';
type Values = Readonly<Record<Name, string>>;

const isOauth = ({ method }: Values): boolean => method === 'oauth2';
const isTba = (values: Values): boolean => !isOauth(values);

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
      ...{ name: 'clientId', label: 'Client id', required: true, when: isOauth },
      hint: 'Of the integration record. NetSuite shows it once, when the record is saved.',
    },
    { name: 'consumerKey', label: 'Consumer key', required: true, when: isTba },
    { name: 'consumerSecret', label: 'Consumer secret', ...secret },
    { name: 'tokenId', label: 'Token id', required: true, when: isTba },
    { name: 'tokenSecret', label: 'Token secret', ...secret },
    {
      ...{ name: 'hasAddress', label: 'Another address', kind: 'check' },
      hint: 'For an account without an address of its own below suitetalk.api.netsuite.com, such as a simulated one.',
    },
    {
      ...{ name: 'baseUrl', label: 'Base URL', required: true, when: ({ hasAddress }) => hasAddress !== '' },
      hint: 'The operator of this service must allow its host.',
    },
  ];
}

function toValues(connection: Connection | null): Partial<Values> {
  if (connection === null) return { method: 'oauth2' };
  const { accountId, baseUrl, authentication } = connection;
  const { certificateId: _, ...ids } = authentication;
  return { accountId, baseUrl: baseUrl ?? '', hasAddress: baseUrl === null ? '' : 'true', ...ids };
}

/** The certificate id stays what it is; secrets that are not entered stay too. */
function toInput(values: Values) {
  const { accountId, baseUrl, hasAddress, clientId, consumerKey, tokenId, consumerSecret, tokenSecret } =
    values;
  const tokens = {
    consumerKey,
    tokenId,
    ...(consumerSecret && { consumerSecret }),
    ...(tokenSecret && { tokenSecret }),
  };
  return {
    accountId: accountId.trim(),
    baseUrl: hasAddress === '' ? null : baseUrl.trim(),
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

export function AccountStep({ connection }: { connection: Connection | null }) {
  const initial = readKept<Partial<Values>>(draft) ?? toValues(connection);
  const [method, setMethod] = useState(initial.method);
  return (
    <StepFrame help={method === 'tba' ? 'tba' : 'oauth2'}>
      <RecordForm
        fields={createFields(connection?.authentication.method === 'tba' && connection.hasCredentials)}
        initial={initial}
        label="Save and continue"
        save={(values) => saveConnection(toInput(values), draft, nextStep(values, connection))}
        onChange={({ consumerSecret, tokenSecret, ...entered }) => {
          keep(draft, entered);
          setMethod(entered.method);
        }}
      />
    </StepFrame>
  );
}
