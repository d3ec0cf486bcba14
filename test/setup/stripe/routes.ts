// The part of Stripe's API that the service uses, implemented on a ledger.
import { type Form, metadataAt, numberAt, partsAt, textAt, textsAt } from './form.ts';
import type { Ledger } from './ledger.ts';
import { invalid, missing, type StripeObject, type Transaction } from './objects.ts';

export type StripeCall = { readonly method: string; readonly path: string; readonly form: Form };
type Shown = Record<string, unknown>;

const maxItems = 100;
/** The expandable fields of each kind of object. */
const expandable: Readonly<Record<string, readonly string[]>> = {
  'checkout.session': ['payment_intent'],
  payment_intent: ['latest_charge'],
  charge: ['payment_intent'],
  refund: ['charge', 'payment_intent'],
  balance_transaction: ['source'],
};

export function handleCall(ledger: Ledger, { method, path, form }: StripeCall): Shown {
  ledger.expireOld();
  const [, version, ...parts] = path.split('/');
  const [kind = '', id, action] =
    parts[0] === 'checkout' ? [`checkout/${parts[1]}`, ...parts.slice(2)] : parts;
  if (version !== 'v1') throw missing('version', version ?? '');
  const route = `${method} ${kind}${id === undefined ? '' : '/:id'}${action === undefined ? '' : `/${action}`}`;
  const handle = routes[route];
  if (handle === undefined) throw invalid(`Unrecognized request URL (${method}: ${path}).`);
  return handle(ledger, form, id ?? '');
}

type Handler = (ledger: Ledger, form: Form, id: string) => Shown;

function find<Kind extends StripeObject['object']>(ledger: Ledger, kind: Kind, id: string) {
  const found = ledger.objects.get(id);
  if (found?.object !== kind) throw missing(kind, id);
  return found as Extract<StripeObject, { object: Kind }>;
}
const one =
  (kind: StripeObject['object']): Handler =>
  (ledger, form, id) =>
    show(ledger, find(ledger, kind, id), textsAt(form, 'expand'));
const many =
  (kind: StripeObject['object'], url: string): Handler =>
  (ledger, form) =>
    list(ledger, form, ledger.all(kind).filter(by(form, 'payment_intent')), url);

const routes: Readonly<Record<string, Handler>> = {
  'POST checkout/sessions': (ledger, form) =>
    show(ledger, ledger.createSession(newSession(form)), textsAt(form, 'expand')),
  'GET checkout/sessions': many('checkout.session', '/v1/checkout/sessions'),
  'GET checkout/sessions/:id': one('checkout.session'),
  'POST checkout/sessions/:id/expire': (ledger, form, id) =>
    show(ledger, ledger.expireSession(find(ledger, 'checkout.session', id)), textsAt(form, 'expand')),
  'GET payment_intents': (ledger, form) =>
    list(ledger, form, ledger.all('payment_intent'), '/v1/payment_intents'),
  'GET payment_intents/:id': one('payment_intent'),
  'POST refunds': (ledger, form) => {
    const payment_intent = textAt(form, 'payment_intent');
    if (payment_intent === undefined)
      throw invalid('One of the following params should be provided: payment_intent.');
    const amount = numberAt(form, 'amount');
    const asked = {
      payment_intent,
      metadata: metadataAt(form, 'metadata'),
      ...(amount !== undefined && { amount }),
    };
    return show(ledger, ledger.refund(asked), textsAt(form, 'expand'));
  },
  'GET refunds': many('refund', '/v1/refunds'),
  'GET payouts': (ledger, form) => list(ledger, form, ledger.all('payout'), '/v1/payouts'),
  'GET payouts/:id': one('payout'),
  'GET balance_transactions': (ledger, form) => {
    const payoutId = textAt(form, 'payout');
    const payout = payoutId === undefined ? undefined : ledger.objects.get(payoutId);
    if (payout?.object === 'payout' && !payout.automatic)
      throw invalid('Balance transaction history can only be filtered on automatic transfers, not manual.');
    const found = ledger
      .all<Transaction>('balance_transaction')
      .filter((it) => payoutId === undefined || it.payout === payoutId);
    return list(ledger, form, found, '/v1/balance_transactions');
  },
  'GET events': (ledger, form) => {
    const types = textsAt(form, 'types');
    if (types.length > 20) throw invalid('You may pass at most 20 types.');
    const found = ledger.events.filter(({ type }) => types.length === 0 || types.includes(type));
    return list(ledger, form, found, '/v1/events');
  },
};

const by =
  (form: Form, field: string) =>
  (object: object): boolean => {
    const asked = textAt(form, field);
    return asked === undefined || (object as Shown)[field] === asked;
  };

function newSession(form: Form): Parameters<Ledger['createSession']>[0] {
  const items = partsAt(form, 'line_items').filter((part) => typeof part === 'object');
  if (textAt(form, 'mode') !== 'payment') throw invalid('Missing required param: mode.', { param: 'mode' });
  if (items.length === 0 || items.length > maxItems)
    throw invalid('You may pass from 1 to 100 line items.', { param: 'line_items' });
  const currencies = new Set(items.map((item) => textAt(item, 'price_data', 'currency')));
  const [currency] = currencies;
  if (currencies.size !== 1 || currency === undefined)
    throw invalid('All prices must have the same currency.', { param: 'line_items' });
  const prices = items.map((item) => {
    const price = numberAt(item, 'price_data', 'unit_amount');
    if (price === undefined || price < 0)
      throw invalid('Invalid integer.', { param: 'line_items[0][price_data][unit_amount]' });
    if (!textAt(item, 'price_data', 'product_data', 'name')) throw invalid('Missing required param: name.');
    return price * (numberAt(item, 'quantity') ?? 1);
  });
  const success_url = textAt(form, 'success_url');
  if (success_url === undefined || !URL.canParse(success_url))
    throw invalid('Not a valid URL', { code: 'url_invalid', param: 'success_url' });
  const expires_at = numberAt(form, 'expires_at');
  if (expires_at === undefined) throw new Error('the service must always set expires_at');
  const intent_data = {
    metadata: metadataAt(form, 'payment_intent_data', 'metadata'),
    description: textAt(form, 'payment_intent_data', 'description') ?? null,
  };
  return {
    client_reference_id: textAt(form, 'client_reference_id') ?? null,
    metadata: metadataAt(form, 'metadata'),
    intent_data,
    amount_total: prices.reduce((sum, price) => sum + price, 0),
    currency,
    success_url,
    cancel_url: textAt(form, 'cancel_url') ?? null,
    expires_at,
    line_items_count: items.length,
  };
}

/** Newest first, at most a hundred. */
function list(
  ledger: Ledger,
  form: Form,
  found: readonly { readonly id: string; readonly created: number }[],
  url: string,
): Shown {
  const since = numberAt(form, 'created', 'gte') ?? 0;
  const newest = found.filter(({ created }) => created >= since).reverse();
  const after = textAt(form, 'starting_after');
  const from = after === undefined ? 0 : newest.findIndex(({ id }) => id === after) + 1;
  const limit = numberAt(form, 'limit') ?? 10;
  if (limit < 1 || limit > 100) throw invalid('This value must be between 1 and 100.', { param: 'limit' });
  const expand = textsAt(form, 'expand').map((path) => {
    if (!path.startsWith('data.')) throw invalid(`This property cannot be expanded (${path}).`);
    return path.slice('data.'.length);
  });
  const data = newest.slice(from, from + limit).map((object) => show(ledger, object, expand));
  return { object: 'list', url, has_more: from + limit < newest.length, data };
}

/** A copy in which the requested fields are expanded. */
function show(ledger: Ledger, object: object, expand: readonly string[]): Shown {
  const { intent_data, line_items_count, payout, ...rest } = structuredClone(object) as Shown;
  const shown: Shown = rest;
  for (const path of expand) {
    const [field = '', ...deeper] = path.split('.');
    if (!expandable[String(shown['object'])]?.includes(field))
      throw invalid(`This property cannot be expanded (${path}).`);
    const target = ledger.objects.get(String(shown[field]));
    if (target !== undefined)
      shown[field] = show(ledger, target, deeper.length === 0 ? [] : [deeper.join('.')]);
  }
  return shown;
}
