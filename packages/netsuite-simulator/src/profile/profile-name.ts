// The names of profiles; see profile.ts.

export const PROFILES = ['single', 'oneworld'] as const;
/**
 * `single`: a company with one subsidiary, with accounts, periods, payments, bills, purchase orders, and
 * custom fields and records. `oneworld`: in addition three subsidiaries, three currencies, two accounting
 * books and intercompany transactions.
 */
export type ProfileName = (typeof PROFILES)[number];

/**
 * The temporary table that holds the lines of the data folder while a profile is loaded, with the columns of
 * transactionline.csv.gz. `tradeStatements` inserts them into ledger.transactionline; without a profile they
 * are copied there directly.
 */
export const FILE_LINES = 'fileline';

/** Throws RangeError unless it is the name of a profile or undefined. */
export function parseProfile(name: string | undefined): ProfileName | undefined {
  const profile = PROFILES.find((known) => known === name);
  if (profile === undefined && name !== undefined)
    throw new RangeError(`${name} is not a profile. Use one of ${PROFILES.join(', ')}.`);
  return profile;
}
