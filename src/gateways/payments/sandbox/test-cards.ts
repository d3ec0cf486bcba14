// The cards that a payer on the sandbox's page chooses from, and what becomes of a payment by each: at once, and later by the clock.
import type { Failure } from '../provider.ts';

type Later = { readonly state: 'SUCCEEDED' } | { readonly state: 'FAILED'; readonly failure: Failure };

export type TestCard = {
  readonly id: string;
  readonly last4: string;
  readonly title: string;
  readonly says: string;
  /** A decline leaves the session open for another try. */
  readonly atOnce:
    | { readonly state: 'SUCCEEDED' }
    | { readonly state: 'PROCESSING'; readonly later: Later }
    | { readonly declined: Failure };
  /** How refunds of it go; those that don't succeed at once wait first. */
  readonly refunds: 'at-once' | 'later' | 'fail';
  /** Whether the provider gives it back by itself after a while. */
  readonly isGivenBack: boolean;
};

const succeeds = { atOnce: { state: 'SUCCEEDED' }, refunds: 'at-once', isGivenBack: false } as const;
const declines = (code: string, message: string) => ({ ...succeeds, atOnce: { declined: { code, message } } });

export const testCards: readonly TestCard[] = [
  { ...succeeds, id: 'approved', last4: '4242', title: 'Approved', says: 'The payment succeeds at once.' },
  {
    ...succeeds,
    id: 'approved-later',
    last4: '3220',
    title: 'Approved after a while',
    says: 'The payment is processed for some seconds, then it succeeds.',
    atOnce: { state: 'PROCESSING', later: { state: 'SUCCEEDED' } },
  },
  {
    ...declines('insufficient_funds', 'The card has insufficient funds.'),
    id: 'insufficient-funds',
    last4: '9995',
    title: 'Declined: insufficient funds',
    says: 'Nothing is paid; you may try again.',
  },
  {
    ...declines('lost_card', 'The card was reported lost.'),
    id: 'lost-card',
    last4: '9987',
    title: 'Declined: lost card',
    says: 'Nothing is paid; another card may still do.',
  },
  {
    ...succeeds,
    id: 'fails-later',
    last4: '0341',
    title: 'Fails after a while',
    says: 'The payment is processed for some seconds, then the bank refuses it.',
    atOnce: {
      state: 'PROCESSING',
      later: { state: 'FAILED', failure: { code: 'bank_refused', message: 'The bank refused the payment after all.' } },
    },
  },
  {
    ...succeeds,
    id: 'refunds-later',
    last4: '7726',
    title: 'Approved, refunds take a while',
    says: 'The payment succeeds at once; a refund waits for some seconds, then it succeeds.',
    refunds: 'later',
  },
  {
    ...succeeds,
    id: 'refunds-fail',
    last4: '5126',
    title: 'Approved, refunds fail',
    says: 'The payment succeeds at once; a refund waits for some seconds, then it fails.',
    refunds: 'fail',
  },
  {
    ...succeeds,
    id: 'given-back',
    last4: '0259',
    title: 'Approved, then given back',
    says: 'The payment succeeds at once; after some seconds the bank takes all of it back.',
    isGivenBack: true,
  },
];

const byId = new Map(testCards.map((card) => [card.id, card]));
export const findTestCard = (id: string | null): TestCard | undefined => (id === null ? undefined : byId.get(id));

export const refundFailure: Failure = { code: 'card_closed', message: 'The account of the card was closed.' };
