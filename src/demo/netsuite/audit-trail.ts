// Why each request was refused: the account's counterpart of NetSuite's login audit trail. Bodies tell callers less.
import type { Clock } from '../../core/clock.ts';

export type AuditEntry = { at: Date; request: string; status: number; reason: string };
export type Audit = { note(request: string, status: number, reason: string): void; entries(): readonly AuditEntry[] };

const MOST_ENTRIES = 1000;

export function makeAudit(clock: Clock): Audit {
  const entries: AuditEntry[] = [];
  return {
    note(request, status, reason) {
      entries.push({ at: clock.now(), request, status, reason });
      if (entries.length > MOST_ENTRIES) entries.shift();
    },
    entries: () => [...entries],
  };
}
