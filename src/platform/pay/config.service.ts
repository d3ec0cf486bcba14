// The payment configuration. Credentials are tried before they are kept; what the invoices' fields are called is checked against what is
// synced. Moving to another provider leaves the account before it as it is: its open payments and its webhook go on.
import type { RequestCtx } from '../../core/ctx.ts';
import { type ErrorDetail, invalid } from '../../core/errors.ts';
import { newId } from '../../core/id.ts';
import { isCurrency } from '../../core/money.ts';
import { violates } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { findProviderKind } from '../../gateways/payments/providers.ts';
import { instantOrNull } from '../../http/fields.ts';
import { toDetails } from '../../http/route.ts';
import { readAvailable } from '../../public/index.ts';
import { writeAudit } from '../audit.store.ts';
import { sourcesOf } from '../portal/sources.ts';
import { type AccountRow, asAnswer, findAccount, openWith, providerSignal, sealSecrets, webhookUrl } from './accounts.ts';
import * as store from './config.store.ts';
import type { InvoiceMapping, PayConfigInput, PayConfigView } from './pay.schemas.ts';
import { findTaskError, wake } from './tasks.store.ts';
import { requirePaymentWriter } from './write-back.service.ts';

const target = { type: 'pay-config', id: null };

const notSetUp: PayConfigView = {
  provider: null,
  currency: null,
  enabled: false,
  invoices: null,
  writeBack: false,
  hasCredentials: false,
  credentialHint: null,
  webhookUrl: null,
  lastError: null,
  updatedAt: null,
};

async function readConfig(tx: Tx, ctx: RequestCtx): Promise<PayConfigView> {
  const config = await store.findConfig(tx, ctx.organizationId);
  const account = config && (await findAccount(tx, ctx.organizationId, { id: config.account_id }));
  if (config === undefined || account === undefined) return notSetUp;
  return {
    provider: account.provider,
    currency: config.currency,
    enabled: config.enabled,
    invoices: config.invoices,
    writeBack: config.write_back,
    hasCredentials: account.secrets !== null,
    credentialHint: account.secret_hint,
    webhookUrl: webhookUrl(ctx.settings.publicUrl, account),
    lastError: await findTaskError(tx, ctx.organizationId, { accountId: account.id, kind: 'account', subject: '' }),
    updatedAt: instantOrNull(config.updated_at),
  };
}

export const getPayConfig = (ctx: RequestCtx): Promise<PayConfigView> => inTransaction(ctx, (tx) => readConfig(tx, ctx));

const fits: Readonly<Record<Exclude<keyof InvoiceMapping, 'recordType'>, readonly string[]>> = {
  number: ['text', 'integer'],
  amountDue: ['number', 'integer'],
  currency: ['text', 'integer'],
  customer: ['text', 'integer'],
};

/** Every field is synced and of a type that can mean what it is to mean. */
async function checkMapping(ctx: RequestCtx, { recordType, ...fields }: InvoiceMapping): Promise<void> {
  const sources = sourcesOf(await readAvailable(ctx), recordType);
  if (sources.size === 0)
    throw invalid('The invoices are not synced', [
      { path: 'invoices.recordType', code: 'unknown_record_type', message: 'Nothing of this record type is synced' },
    ]);
  const details = Object.entries(fields).flatMap(([name, field]): ErrorDetail[] => {
    if (field === null) return [];
    const type = field.endsWith('.name') ? undefined : sources.get(field);
    const path = `invoices.${name}`;
    if (type === undefined) return [{ path, code: 'unknown_source', message: 'It is no synced field of this record type' }];
    const wanted = fits[name as keyof typeof fits];
    return wanted.includes(type) ? [] : [{ path, code: 'type_misfits', message: `It must be ${wanted.join(' or ')}, and is ${type}` }];
  });
  if (details.length > 0) throw invalid('The invoices are not mapped rightly', details);
}

/** The given secrets in the provider's own form; undefined keeps those that are stored. */
function readSecrets({ provider, secrets }: PayConfigInput, held: AccountRow | undefined): unknown {
  const kind = findProviderKind(provider);
  if (kind === undefined)
    throw invalid('The provider is not there', [
      { path: 'provider', code: 'unknown_provider', message: 'It is not part of this installation' },
    ]);
  if (secrets === undefined && held !== undefined) return undefined;
  const read = kind.secrets.safeParse(secrets ?? {});
  if (read.success) return read.data;
  const details = toDetails(read.error).map((detail) => ({ ...detail, path: detail.path === '' ? 'secrets' : `secrets.${detail.path}` }));
  throw invalid('The secrets are not right', details);
}

async function saveAccount(tx: Tx, ctx: RequestCtx, id: string, provider: AccountRow['provider'], secrets: unknown): Promise<void> {
  const held = await findAccount(tx, ctx.organizationId, { provider });
  const sealed = secrets === undefined ? undefined : sealSecrets(ctx, id, secrets);
  if (held !== undefined) {
    if (sealed !== undefined) await store.updateSecrets(tx, ctx.organizationId, id, sealed);
    return;
  }
  await store.insertAccount(tx, ctx.organizationId, { id, provider, ...(sealed ?? { secrets: null, secret_hint: null }) });
  await wake(tx, ctx.organizationId, { accountId: id, kind: 'account', subject: '' });
}

export async function putPayConfig(ctx: RequestCtx, input: PayConfigInput): Promise<PayConfigView> {
  const { provider, currency, enabled, invoices, writeBack } = input;
  if (!isCurrency(currency))
    throw invalid('The currency is not known', [{ path: 'currency', code: 'unknown_currency', message: 'It is no code of ISO 4217' }]);
  await checkMapping(ctx, invoices);
  if (writeBack !== false) await requirePaymentWriter(ctx);
  const held = await inTransaction(ctx, (tx) => findAccount(tx, ctx.organizationId, { provider }));
  const secrets = readSecrets(input, held);
  const id = held?.id ?? newId();
  if (secrets !== undefined) {
    const opened = await openWith(ctx, { id, provider }, secrets);
    await opened.check(providerSignal(ctx.gone)).catch((error: unknown) => {
      throw asAnswer(error, 'secrets');
    });
  }
  return inTransaction(ctx, async (tx) => {
    await store.lockConfig(tx, ctx.organizationId);
    await saveAccount(tx, ctx, id, provider, secrets);
    await store.upsertConfig(tx, ctx.organizationId, { account_id: id, currency, enabled, invoices, write_back: writeBack });
    const changes = { provider, currency, enabled, invoices, writeBack, secrets: secrets === undefined ? 'kept' : 'replaced' };
    await writeAudit(tx, ctx, { action: 'pay-config.put', target, changes });
    return readConfig(tx, ctx);
  }).catch((error: unknown) => {
    // Another request made the account in this moment.
    if (!violates(error, 'one_pay_account_per_provider')) throw error;
    return putPayConfig(ctx, input);
  });
}
