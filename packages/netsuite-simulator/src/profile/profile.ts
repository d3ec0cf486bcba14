// Profiles: what an account has beyond the records of its data folder. Everything is generated while the data
// are loaded, by SQL over the rows from the files, and kept in ordinary tables: the same files and profile
// always give the same account.
import { customStatements } from './custom.ts';
import { listStatements } from './lists.ts';
import type { ProfileName } from './profile-name.ts';
import { tradeStatements } from './trade.ts';

/**
 * The statements that generate a profile, in this order: lists and entities, custom fields and records,
 * transactions. They run after the files are loaded and checked, and before the indexes are created, rows are
 * held back and transactions are settled.
 */
export const profileStatements = (profile: ProfileName | undefined): readonly string[] =>
  profile === undefined
    ? []
    : [...listStatements(profile), ...customStatements(), ...tradeStatements(profile)];
