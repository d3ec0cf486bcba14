// The payment configuration. Credentials are verified at the provider before they are stored; the mapped
// invoice fields are checked against the synced fields. After a move to another provider, or to another
// account of the same one, the previous account keeps working: its open payments are still polled and its
// webhook still accepts events.
import type { RequestCtx } from '../../core/ctx.ts';
import { type ErrorDetail, invalid, unavailable } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import { isCurrency } from '../../core/text/money.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { findProviderKind } from '../../gateways/payments/providers.ts';
import { instantOrNull } from '../../http/fields.ts';
import { toErrorDetails } from '../../http/route/parse.ts';
import { validationMessage } from '../../http/route/validation-messages.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { readAvailable } from '../../public/index.ts';
import { connectionOf } from '../../sync/index.ts';
import { sourceTypes } from '../portal/sources.ts';
import type { InvoiceMapping } from './ledger/config.schemas.ts';
import * as store from './ledger/config.store.ts';
import { findNewestSession } from './ledger/payments.store.ts';
import type { PayConfig, PayConfigInput } from './pay.schemas.ts';
import {
  findAccount,
  insertAccount,
  listAccounts,
  lockAccountCreation,
  type PayAccountRow,
  updateSecrets,
} from './provider/accounts.store.ts';
import {
  assertProviderOffered,
  createProvider,
  providerErrorToAppError,
  providerSignal,
  sealSecrets,
  webhookUrl,
} from './provider/accounts.ts';
import { enqueueTask, findTaskError, retryFailedTasks } from './provider/tasks.store.ts';
import { enqueueWaitingDocuments } from './write-back/erp-documents.store.ts';
import { assertPaymentWriter } from './write-back/write-back.service.ts';

const target = ['pay-config', null] as const;

const notSetUp: PayConfig = {
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

async function readConfig(tx: Tx, ctx: RequestCtx): Promise<PayConfig> {
  const config = await store.findPayConfig(tx, ctx.organizationId);
  const account = config && (await findAccount(tx, ctx.organizationId, config.account_id));
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
    lastError: await findTaskError(tx, ctx.organizationId, {
      accountId: account.id,
      kind: 'account',
      subject: '',
    }),
    updatedAt: instantOrNull(config.updated_at),
  };
}

export const getPayConfig = (ctx: RequestCtx): Promise<PayConfig> =>
  inTransaction(ctx, (tx) => readConfig(tx, ctx));

/** Types of synced fields that each mapped field accepts. */
const acceptedTypes: Readonly<Record<Exclude<keyof InvoiceMapping, 'recordType'>, readonly string[]>> = {
  number: ['text', 'integer'],
  amountDue: ['number', 'integer'],
  currency: ['text', 'integer'],
  customer: ['text', 'integer'],
};

/** Throws 422 when the record type or a mapped field is not synced, or a field's type doesn't fit. */
async function assertMapping(ctx: RequestCtx, { recordType, ...fields }: InvoiceMapping): Promise<void> {
  const sources = sourceTypes(await readAvailable(ctx), recordType);
  if (sources.size === 0) {
    const message = 'No fields of this record type are synced';
    throw invalid('The invoice record type is not synced', [
      { path: 'invoices.recordType', code: 'unknown_record_type', message },
    ]);
  }
  const details = Object.entries(fields).flatMap(([name, field]): ErrorDetail[] => {
    if (field === null) return [];
    const type = field.endsWith('.name') ? undefined : sources.get(field);
    const path = `invoices.${name}`;
    if (type === undefined)
      return [{ path, code: 'unknown_source', message: 'This is not a synced field of the record type' }];
    const accepted = acceptedTypes[name as keyof typeof acceptedTypes];
    return accepted.includes(type)
      ? []
      : [
          {
            path,
            code: 'type_misfits',
            message: `Must be a field of type ${accepted.join(' or ')}; this one is ${type}`,
          },
        ];
  });
  if (details.length > 0) throw invalid('The invoice mapping is not valid', details);
}

/** By the provider's schema; undefined keeps the stored ones. Throws 422 when they don't match the schema. */
function parseSecrets({ provider, secrets }: PayConfigInput, hasStoredSecrets: boolean): unknown {
  if (secrets === undefined && hasStoredSecrets) return undefined;
  const read = findProviderKind(provider)?.secrets.safeParse(secrets ?? {}, { error: validationMessage });
  if (read?.success) return read.data;
  const details = read === undefined ? [] : toErrorDetails(read.error);
  throw invalid(
    'The secrets are not valid',
    details.map((detail) => ({ ...detail, path: detail.path === '' ? 'secrets' : `secrets.${detail.path}` })),
  );
}

/**
 * The stored account that the secrets belong to: the one whose newest payment the provider finds with them,
 * else one without payments. Undefined when the secrets belong to another account at the provider.
 */
async function findMatchingAccount(ctx: RequestCtx, accounts: readonly PayAccountRow[], secrets: unknown) {
  const unused: PayAccountRow[] = [];
  for (const account of accounts) {
    const sessionId = await inTransaction(ctx, (tx) => findNewestSession(tx, ctx.organizationId, account.id));
    if (sessionId === undefined) unused.push(account);
    else if (
      (await (
        await createProvider(ctx, account, secrets)
      ).findPayment({ sessionId }, providerSignal(ctx.disconnected))) !== null
    )
      return account;
  }
  return unused[0];
}

type AccountChoice = { readonly id: string; readonly secrets: unknown; readonly isNew: boolean };

/**
 * Verifies the given secrets at the provider and decides which account row they go to. Throws 422 when the
 * provider refuses them, and 503 when it doesn't respond.
 */
async function chooseAccount(
  ctx: RequestCtx,
  input: PayConfigInput,
  accounts: readonly PayAccountRow[],
): Promise<AccountChoice> {
  const { provider } = input;
  const secrets = parseSecrets(input, accounts.length > 0);
  if (secrets === undefined)
    return { id: accounts[0]?.id ?? createId(), secrets, isNew: accounts.length === 0 };
  try {
    const client = await createProvider(ctx, { id: accounts[0]?.id ?? createId(), provider }, secrets);
    await client.checkCredentials(providerSignal(ctx.disconnected));
    const account = await findMatchingAccount(ctx, accounts, secrets);
    return { id: account?.id ?? createId(), secrets, isNew: account === undefined };
  } catch (error) {
    throw providerErrorToAppError(error, 'secrets');
  }
}

async function saveAccount(
  tx: Tx,
  ctx: RequestCtx,
  { id, secrets, isNew }: AccountChoice,
  provider: PayAccountRow['provider'],
): Promise<void> {
  const sealed = secrets === undefined ? undefined : sealSecrets(ctx, id, secrets);
  if (!isNew) {
    if (sealed === undefined) return;
    await updateSecrets(tx, ctx.organizationId, id, sealed);
    await retryFailedTasks(tx, ctx.organizationId, id);
    return;
  }
  await insertAccount(tx, ctx.organizationId, {
    id,
    provider,
    ...(sealed ?? { secrets: null, secret_hint: null }),
  });
  await enqueueTask(tx, ctx.organizationId, { accountId: id, kind: 'account', subject: '' });
}

/**
 * Stores the whole configuration. Throws 422 for a provider that is not offered, an unknown currency, a
 * mapping that doesn't fit, an ERP that takes no payments, or refused credentials; 503 when the provider
 * doesn't respond or the accounts changed meanwhile.
 */
export async function putPayConfig(ctx: RequestCtx, input: PayConfigInput): Promise<PayConfig> {
  const { provider, currency, enabled, invoices, writeBack } = input;
  assertProviderOffered(ctx, provider, 'provider');
  if (!isCurrency(currency))
    throw invalid('Unknown currency', [
      { path: 'currency', code: 'unknown_currency', message: `${currency} is not an ISO 4217 code` },
    ]);
  await assertMapping(ctx, invoices);
  if (writeBack !== false) await assertPaymentWriter(ctx, connectionOf(invoices.recordType));
  const accounts = await inTransaction(ctx, (tx) => listAccounts(tx, ctx.organizationId, provider));
  const choice = await chooseAccount(ctx, input, accounts);
  return inTransaction(ctx, async (tx) => {
    await lockAccountCreation(tx, ctx.organizationId);
    await store.lockPayConfig(tx, ctx.organizationId);
    const current = await listAccounts(tx, ctx.organizationId, provider);
    if (current.length !== accounts.length)
      throw unavailable('The payment configuration has just changed; try again', 1);
    await saveAccount(tx, ctx, choice, provider);
    const { id, secrets } = choice;
    await store.upsertPayConfig(tx, ctx.organizationId, {
      account_id: id,
      currency,
      enabled,
      invoices,
      write_back: writeBack,
    });
    if (writeBack !== false) await enqueueWaitingDocuments(tx, ctx.organizationId);
    const changes = {
      provider,
      currency,
      enabled,
      invoices,
      writeBack,
      secrets: secrets === undefined ? 'kept' : 'replaced',
    };
    await writeAudit(tx, ctx, 'pay-config.put', target, changes);
    return readConfig(tx, ctx);
  });
}
