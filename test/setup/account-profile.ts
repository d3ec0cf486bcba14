// The profile of the simulated accounts in the tests of the service: none, unless the environment names one.
import { parseProfile } from 'netsuite-simulator';

export const profile = parseProfile(process.env['ERP_PROFILE'] || undefined);
