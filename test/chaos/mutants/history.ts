// A directed history: a calm plan in which exactly what one proof guards happens. Pure.
import type { During, Plan, Round } from '../plan.ts';

/**
 * What differs from a calm plan with one record type: no quiet phase unless asked for, and rounds of
 * incremental runs.
 */
export type History = Partial<Omit<Plan, 'rounds' | 'quiet'>> & {
  readonly quiet?: boolean;
  readonly rounds: readonly (Partial<Omit<Round, 'during'>> & { readonly during?: readonly During[] })[];
};
export type Histories = Readonly<Record<string, History>>;

/** The first load. */
export const load = { full: true, green: true } as const;
export const afterLoad = (...rounds: History['rounds']): History => ({ rounds: [load, ...rounds] });

export function planOfHistory({ quiet = false, rounds, ...differing }: History): Plan {
  return {
    seed: 1,
    recordTypes: ['invoice'],
    deletions: 'reconcile',
    signIn: 'tba',
    processes: 1,
    workers: 1,
    data: 'small',
    pageSize: 40,
    timeZone: 'Europe/London',
    startsAt: '2011-09-05T09:00:00Z',
    paymentTouchesInvoice: false,
    reader: false,
    ...differing,
    rounds: rounds.map((round): Round => ({ full: false, before: [], during: [], ...round })),
    ...(quiet ? {} : { quiet: false }),
  };
}
