// How the organization takes payments: its provider, where invoices are read, and how payments are written to
// the ERP.
import { type Answer, api, type paths } from '../../api.ts';
import { Copy } from '../../parts/copy.tsx';
import { Pending, WordBadge } from '../../parts/detail.tsx';
import { Facts } from '../../parts/list.tsx';
import { Empty, Section } from '../../parts/page.tsx';
import { type FieldSpec, FormButton } from '../../parts/record-form.tsx';
import { invalidate, useGet } from '../../query.ts';
import { may } from '../../session.ts';

type PayConfig = Answer<'/pay/config'>;
type Body = NonNullable<paths['/pay/config']['put']['requestBody']>['content']['application/json'];
type Parts = {
  readonly secrets: 'secretKey' | 'webhookSecret';
  readonly invoices: 'recordType' | 'number' | 'amountDue' | 'currency' | 'customer';
  readonly writeBack: 'account' | 'refundAccount' | 'refundMethod';
};
/** Fields are named as in the body of the request: `invoices.number`. */
type NameIn = { [Part in keyof Parts]: `${Part}.${Parts[Part]}` }[keyof Parts];
type Values = Readonly<Record<'provider' | 'currency' | 'enabled' | 'writeBack' | NameIn, string>>;

const isStripe = ({ provider }: Values): boolean => provider === 'stripe';
const writesBack = ({ writeBack }: Values): boolean => writeBack === 'true';
const kept = 'Leave it empty to keep the stored one.';

const fields: readonly FieldSpec<keyof Values>[] = [
  {
    name: 'provider',
    label: 'Provider',
    options: [
      ['stripe', 'Stripe'],
      ['sandbox', 'Sandbox: moves no money'],
    ],
  },
  { name: 'secrets.secretKey', label: 'Secret key', kind: 'password', when: isStripe, hint: kept },
  { name: 'secrets.webhookSecret', label: 'Webhook secret', kind: 'password', when: isStripe, hint: kept },
  { name: 'currency', label: 'Currency', required: true, hint: 'A code such as GBP.' },
  { name: 'enabled', label: 'Accept new checkouts', kind: 'check' },
  { name: 'invoices.recordType', label: 'Record type of invoices', required: true },
  { name: 'invoices.number', label: 'Field with the invoice number', required: true },
  { name: 'invoices.amountDue', label: 'Field with the open amount', required: true },
  {
    name: 'invoices.currency',
    label: 'Field with the currency',
    hint: 'Empty when all are in the currency above.',
  },
  { name: 'invoices.customer', label: 'Field with the customer', required: true },
  {
    name: 'writeBack',
    label: 'Write payments to the ERP',
    kind: 'check',
    hint: 'Otherwise people enter them there.',
  },
  {
    name: 'writeBack.account',
    label: 'ERP account of deposits',
    when: writesBack,
    hint: 'An id; empty for undeposited funds.',
  },
  {
    name: 'writeBack.refundAccount',
    label: 'ERP account of refunds',
    when: writesBack,
    hint: 'Empty for the account of deposits.',
  },
  {
    name: 'writeBack.refundMethod',
    label: 'ERP refund method',
    when: writesBack,
    hint: 'If the ERP requires one.',
  },
];

/** Usual names of the fields in a NetSuite account. */
const usualInvoices = {
  recordType: 'invoice',
  number: 'tranid',
  amountDue: 'foreignamountunpaid',
  currency: 'currency',
  customer: 'entity',
};

/** The values of `part` as those of its fields, and back: null is an empty input. */
const toFields = (part: string, values: object): [string, string | null][] =>
  Object.entries(values).map(([name, value]) => [`${part}.${name}`, value]);
const fromFields = <Part extends keyof Parts>(part: Part, values: Values) =>
  Object.fromEntries(
    Object.entries(values)
      .filter(([name]) => name.startsWith(`${part}.`))
      .map(([name, value]) => [name.slice(part.length + 1), value || null]),
  ) as Record<Parts[Part], string | null>;

const toValues = ({
  provider,
  currency,
  enabled,
  invoices,
  writeBack,
}: PayConfig): Partial<Record<keyof Values, string | null>> => ({
  provider,
  currency,
  enabled: provider === null || enabled ? 'true' : '',
  writeBack: writeBack === false ? '' : 'true',
  ...Object.fromEntries([
    ...toFields('invoices', invoices ?? usualInvoices),
    ...toFields('writeBack', writeBack || {}),
  ]),
});

async function saveConfig(values: Values): Promise<void> {
  const { provider, currency, enabled } = values;
  const secrets = Object.entries(fromFields('secrets', values)).filter(([, secret]) => secret !== null);
  const body = {
    provider,
    currency: currency.toUpperCase(),
    enabled: enabled === 'true',
    invoices: fromFields('invoices', values),
    writeBack: writesBack(values) && fromFields('writeBack', values),
    ...(isStripe(values) && secrets.length > 0 && { secrets: Object.fromEntries(secrets) }),
  };
  await api.PUT('/pay/config', { body: body as Body });
  await invalidate('/pay/config');
}

const EditButton = ({ config, label }: { config: PayConfig; label: string }) =>
  may('pay-config:update') && (
    <FormButton
      label={label}
      kind="primary"
      title="Payments"
      action="Save"
      fields={fields}
      initial={toValues(config)}
      save={saveConfig}
    >
      {config.provider !== null && (
        <p class="note warn">
          Another provider or account has another webhook address. Payments made until now stay with theirs.
        </p>
      )}
    </FormButton>
  );

function listFacts(config: PayConfig): Parameters<typeof Facts>[0]['facts'] {
  const { enabled, provider, hasCredentials, credentialHint, currency, invoices, writeBack } = config;
  const { recordType, ...fieldNames } = invoices ?? usualInvoices;
  return [
    ['State', <WordBadge state={enabled ? ['good', 'Accepts checkouts'] : ['calm', 'No new checkouts']} />],
    ['Provider', provider],
    ['Secret', hasCredentials && `Stored${credentialHint === null ? '' : `, ends with ${credentialHint}`}`],
    ['Currency', currency],
    ['Invoices', invoices && `${recordType}: ${Object.values(fieldNames).filter(Boolean).join(', ')}`],
    [
      'Written to the ERP',
      writeBack
        ? `Yes, account ${writeBack.account ?? 'of undeposited funds'}`
        : 'No: people enter payments by hand',
    ],
  ];
}

/** The tab of the configuration. */
export function PayConfiguration() {
  const { data: config, error, reload } = useGet('/pay/config');
  if (config === undefined) return <Pending error={error} reload={reload} />;
  if (config.provider === null)
    return (
      <Empty title="Payments are not set up.">
        <EditButton config={config} label="Set up payments" />
      </Empty>
    );
  const { lastError, webhookUrl } = config;
  return (
    <Section title="Configuration" actions={<EditButton config={config} label="Edit" />}>
      <div class="stack">
        {lastError !== null && (
          <p class="note warn">The last query for changes at the provider failed: {lastError}</p>
        )}
        <Facts facts={listFacts(config)} />
        {webhookUrl !== null && (
          <div>
            <p class="fine">Register this webhook address at the provider.</p>
            <Copy text={webhookUrl} label="Copy address" />
          </div>
        )}
      </div>
    </Section>
  );
}
