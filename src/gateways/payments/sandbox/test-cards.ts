// The test cards on the sandbox's payment page, and each one's immediate and delayed outcome of a payment.
import type { Failure } from '../provider.ts';

type Later = { readonly state: 'SUCCEEDED' } | { readonly state: 'FAILED'; readonly failure: Failure };

export type TestCard = {
  readonly id: string;
  readonly last4: string;
  readonly title: string;
  readonly description: string;
  /** A decline leaves the session open for another try. */
  readonly immediate:
    | { readonly state: 'SUCCEEDED' }
    | { readonly state: 'PROCESSING'; readonly later: Later }
    | { readonly declined: Failure };
  /** The outcome of refunds: `later` and `fail` are pending at first. */
  readonly refunds: 'at-once' | 'later' | 'fail';
  /** Whether the bank reverses the whole payment after a while. */
  readonly isReversed: boolean;
};

const succeeds = { immediate: { state: 'SUCCEEDED' }, refunds: 'at-once', isReversed: false } as const;
const declines = (code: string, message: string) => ({
  ...succeeds,
  immediate: { declined: { code, message } },
});

export const testCards: readonly TestCard[] = [
  {
    ...succeeds,
    id: 'approved',
    last4: '4242',
    title: 'Approved',
    description: 'The payment succeeds at once.',
  },
  {
    ...succeeds,
    id: 'approved-later',
    last4: '3220',
    title: 'Approved after a while',
    description: 'The payment is processed for some seconds, then it succeeds.',
    immediate: { state: 'PROCESSING', later: { state: 'SUCCEEDED' } },
  },
  {
    ...declines('insufficient_funds', 'The card has insufficient funds.'),
    id: 'insufficient-funds',
    last4: '9995',
    title: 'Declined: insufficient funds',
    description: 'Nothing is paid; you may try again.',
  },
  {
    ...declines('lost_card', 'The card was reported lost.'),
    id: 'lost-card',
    last4: '9987',
    title: 'Declined: lost card',
    description: 'Nothing is paid; another card may still work.',
  },
  {
    ...succeeds,
    id: 'fails-later',
    last4: '0341',
    title: 'Fails after a while',
    description: 'The payment is processed for some seconds, then the bank refuses it.',
    immediate: {
      state: 'PROCESSING',
      later: { state: 'FAILED', failure: { code: 'bank_refused', message: 'The bank refused the payment.' } },
    },
  },
  {
    ...succeeds,
    id: 'refunds-later',
    last4: '7726',
    title: 'Approved, refunds take a while',
    description: 'The payment succeeds at once; a refund waits for some seconds, then it succeeds.',
    refunds: 'later',
  },
  {
    ...succeeds,
    id: 'refunds-fail',
    last4: '5126',
    title: 'Approved, refunds fail',
    description: 'The payment succeeds at once; a refund waits for some seconds, then it fails.',
    refunds: 'fail',
  },
  {
    ...succeeds,
    id: 'given-back',
    last4: '0259',
    title: 'Approved, then reversed',
    description: 'The payment succeeds at once; after some seconds the bank reverses all of it.',
    isReversed: true,
  },
];

const byId = new Map(testCards.map((card) => [card.id, card]));
export const findTestCard = (id: string | null): TestCard | undefined =>
  id === null ? undefined : byId.get(id);

export const refundFailure: Failure = { code: 'card_closed', message: "The card's account was closed." };
