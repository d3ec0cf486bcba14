// The payment configuration. Credentials are tried before they are kept; what the invoices' fields are called is checked against what is
// synced. Moving to another provider, or to another account of the same one, leaves the account before it as it is: its open payments and
// its webhook go on.
import type { RequestCtx } from '../../core/ctx.ts';
import { type ErrorDetail, invalid, unavailable } from '../../core/errors.ts';
import { newId } from '../../core/id.ts';
import { isCurrency } from '../../core/money.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { findProviderKind } from '../../gateways/payments/providers.ts';
import { instantOrNull } from '../../http/fields.ts';
import { plainWords } from '../../http/plain-words.ts';
import { toDetails } from '../../http/route.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { readAvailable } from '../../public/index.ts';
import { sourcesOf } from '../portal/sources.ts';
import {
  type AccountRow,
  asAnswer,
  findAccount,
  listAccounts,
  openWith,
  providerSignal,
  requireOffered,
  sealSecrets,
  webhookUrl,
} from './accounts.ts';
import * as store from './config.store.ts';
import type { InvoiceMapping, PayConfigInput, PayConfigView } from './pay.schemas.ts';
import { findNewestSession } from './payments.store.ts';
import { findTaskError, wake, wakeFailed } from './tasks.store.ts';
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
function readSecrets({ provider, secrets }: PayConfigInput, isHeld: boolean): unknown {
  if (secrets === undefined && isHeld) return undefined;
  const read = findProviderKind(provider)?.secrets.safeParse(secrets ?? {}, { error: plainWords });
  if (read?.success) return read.data;
  const details = read === undefined ? [] : toDetails(read.error);
  throw invalid(
    'The secrets are not right',
    details.map((detail) => ({ ...detail, path: detail.path === '' ? 'secrets' : `secrets.${detail.path}` })),
  );
}

/**
 * Which of these accounts the secrets open: the one whose newest payment is known there. Undefined where they open another. One without
 * payments is nobody's yet.
 */
async function accountOf(ctx: RequestCtx, held: readonly AccountRow[], secrets: unknown): Promise<AccountRow | undefined> {
  const unused: AccountRow[] = [];
  for (const account of held) {
    const sessionId = await inTransaction(ctx, (tx) => findNewestSession(tx, ctx.organizationId, account.id));
    if (sessionId === undefined) unused.push(account);
    else if ((await (await openWith(ctx, account, secrets)).payment({ sessionId }, providerSignal(ctx.gone))) !== null) return account;
  }
  return unused[0];
}

type Chosen = { readonly id: string; readonly secrets: unknown; readonly isNew: boolean };

/** Tries what is given at the provider. */
async function choose(ctx: RequestCtx, input: PayConfigInput, held: readonly AccountRow[]): Promise<Chosen> {
  const { provider } = input;
  const secrets = readSecrets(input, held.length > 0);
  if (secrets === undefined) return { id: held[0]?.id ?? newId(), secrets, isNew: held.length === 0 };
  try {
    const opened = await openWith(ctx, { id: held[0]?.id ?? newId(), provider }, secrets);
    await opened.check(providerSignal(ctx.gone));
    const account = await accountOf(ctx, held, secrets);
    return { id: account?.id ?? newId(), secrets, isNew: account === undefined };
  } catch (error) {
    throw asAnswer(error, 'secrets');
  }
}

async function saveAccount(tx: Tx, ctx: RequestCtx, { id, secrets, isNew }: Chosen, provider: AccountRow['provider']): Promise<void> {
  const sealed = secrets === undefined ? undefined : sealSecrets(ctx, id, secrets);
  if (!isNew) {
    if (sealed === undefined) return;
    await store.updateSecrets(tx, ctx.organizationId, id, sealed);
    await wakeFailed(tx, ctx.organizationId, id);
    return;
  }
  await store.insertAccount(tx, ctx.organizationId, { id, provider, ...(sealed ?? { secrets: null, secret_hint: null }) });
  await wake(tx, ctx.organizationId, { accountId: id, kind: 'account', subject: '' });
}

export async function putPayConfig(ctx: RequestCtx, input: PayConfigInput): Promise<PayConfigView> {
  const { provider, currency, enabled, invoices, writeBack } = input;
  requireOffered(ctx, provider, 'provider');
  if (!isCurrency(currency))
    throw invalid('The currency is not known', [{ path: 'currency', code: 'unknown_currency', message: 'It is no code of ISO 4217' }]);
  await checkMapping(ctx, invoices);
  if (writeBack !== false) await requirePaymentWriter(ctx);
  const held = await inTransaction(ctx, (tx) => listAccounts(tx, ctx.organizationId, provider));
  const chosen = await choose(ctx, input, held);
  return inTransaction(ctx, async (tx) => {
    await store.lockAccounts(tx, ctx.organizationId);
    await store.lockConfig(tx, ctx.organizationId);
    const known = await listAccounts(tx, ctx.organizationId, provider);
    if (known.length !== held.length) throw unavailable('The payment configuration has just changed', 1);
    await saveAccount(tx, ctx, chosen, provider);
    const { id, secrets } = chosen;
    await store.upsertConfig(tx, ctx.organizationId, { account_id: id, currency, enabled, invoices, write_back: writeBack });
    const changes = { provider, currency, enabled, invoices, writeBack, secrets: secrets === undefined ? 'kept' : 'replaced' };
    await writeAudit(tx, ctx, { action: 'pay-config.put', target, changes });
    return readConfig(tx, ctx);
  });
}
