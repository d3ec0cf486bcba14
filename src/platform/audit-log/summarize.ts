// An entry of the audit log as a sentence: "Ada Lovelace published v1".
import { describeDone } from '../../identity/audit-actions.ts';
import type { AuditRow } from './audit-log.store.ts';

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
/** Changes that say how people call the target. */
const nameFields = ['name', 'email', 'hostname', 'version', 'title', 'slug', 'key'];

/** What the target was called at that time, else what it is called now. */
function findTargetName(row: AuditRow, names: ReadonlyMap<string, string>): string | undefined {
  if (row.target_type === 'field-mapping') return [row.changes['recordType']].find(isText);
  return nameFields.map((field) => row.changes[field]).find(isText) ?? names.get(row.target_id ?? '');
}

/** `names`: as `readNames` found them. */
export function summarize(row: AuditRow, names: ReadonlyMap<string, string>): string {
  const actor =
    names.get(row.actor_id ?? '') ??
    row.actor_email ??
    (row.credential_kind === 'operator' ? 'The operator' : 'The service');
  return `${actor} ${describeDone(row.action, findTargetName(row, names))}`;
}
