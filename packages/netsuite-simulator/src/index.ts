// The package's public entry point.
export { type NetsuiteAccount, type NetsuiteAccountOptions, startNetsuiteAccount } from './account.ts';
export { AccountInUse } from './database/account-database.ts';
export type { Fault } from './faults.ts';
export { PROFILES, type ProfileName, parseProfile } from './profile/profile-name.ts';
export type { DayReport } from './replay.ts';
