// Why each request was refused: the counterpart of NetSuite's login audit trail. Response bodies say less.
import type { Clock } from './clock.ts';

export type AuditTrailEntry = { at: Date; request: string; status: number; reason: string };
export type AuditTrail = {
  record(request: string, status: number, reason: string): void;
  entries(): readonly AuditTrailEntry[];
};

const MAX_ENTRIES = 1000;

export function createAuditTrail(clock: Clock): AuditTrail {
  const entries: AuditTrailEntry[] = [];
  return {
    record(request, status, reason) {
      entries.push({ at: clock.now(), request, status, reason });
      if (entries.length > MAX_ENTRIES) entries.shift();
    },
    entries: () => [...entries],
  };
}
