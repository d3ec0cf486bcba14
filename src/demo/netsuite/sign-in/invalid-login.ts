// The 401 that every failed sign-in gets. Bodies never tell why; the audit list does.
import { Refusal } from '../wire.ts';

const LOGIN_TRAIL =
  'Invalid login attempt. For more details, see the Login Audit Trail in the NetSuite UI at ' +
  'Setup > Users/Roles > User Management > View Login Audit Trail.';

export const refuseLogin = (reason: string, headers: Record<string, string>): Refusal =>
  new Refusal(401, { detail: LOGIN_TRAIL, 'o:errorCode': 'INVALID_LOGIN' }, { reason, headers });
