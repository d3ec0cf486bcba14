// The 401 of every failed sign-in. The body never says why; the audit trail does.
import { RestError } from '../wire.ts';

const LOGIN_TRAIL =
  'Invalid login attempt. For more details, see the Login Audit Trail in the NetSuite UI at ' +
  'Setup > Users/Roles > User Management > View Login Audit Trail.';

export const invalidLogin = (reason: string, headers: Record<string, string>): RestError =>
  new RestError(401, { detail: LOGIN_TRAIL, 'o:errorCode': 'INVALID_LOGIN' }, { reason, headers });
