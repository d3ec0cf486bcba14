// Every tunable of the service. Each is declared once, under settings/: the variable it comes from, its type,
// default, description and unit. The settings that features read from ctx, the types of the environment and
// .env.example (`npm run generate`) are derived from the declarations, in their order. Tests pass shorter times
// and smaller limits to the same code.
import { z } from 'zod';
import { type DerivedOf, type EnvironmentOf, type SettingsOf, variable } from './settings/declare.ts';
import { erpSettings } from './settings/erp.ts';
import { featureSettings } from './settings/features.ts';
import { interfaceSettings } from './settings/interfaces.ts';
import { serviceSettings } from './settings/service.ts';
import { signInSettings } from './settings/sign-in.ts';
import { text } from './settings/values.ts';

export const declaredSettings = {
  ...serviceSettings,
  ...featureSettings,
  ...interfaceSettings,
  ...erpSettings,
  ...signInSettings,
  DEMO_DATA: variable(
    text.optional(),
    '',
    'Demo only: a folder of data to load instead of the included slice.',
  ),
  ERP_PROFILE: variable(
    z.enum(['single', 'oneworld', 'none'], 'must be single, oneworld or none'),
    'single',
    'Demo and simulated account only: single is one company with accounts, periods, taxes, payments, bills and custom fields; oneworld has',
    'three subsidiaries and currencies and two accounting books; none holds the records of the data folder alone.',
  ),
  DEMO_RECORD_TYPES: variable(
    z.literal('all', 'must be all or empty').optional(),
    '',
    'Demo only: all syncs every record type that the account has. By default these are customers, items, invoices and credit memos, which',
    'the demo publishes in any case.',
  ),
};

/** The environment as parsed, by the names of the variables. */
export type Environment = EnvironmentOf<typeof declaredSettings>;
export type Settings = SettingsOf<typeof declaredSettings>;
/** The settings that are computed from several variables. */
export type DerivedSettings = DerivedOf<typeof declaredSettings>;
