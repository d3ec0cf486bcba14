// Which requests the account has seen: how many of each kind, and the last of them.
import type { RequestHandler, Response } from 'express';
import type { Clock } from '../clock.ts';
import type { RoleVisibility } from '../tables/role-visibility.ts';
import type { AnswerKind } from './answer-fault.ts';
import { loadSubject } from './subject.ts';

export type SeenRequest = {
  at: Date;
  kind: AnswerKind;
  table: string | undefined;
  method: string;
  path: string;
  /** 0 when the connection was closed before a response. */
  status: number;
  durationMs: number;
  /** The effects of the faults that it met. */
  faults: string[];
};
export type Traffic = {
  handler: RequestHandler;
  counts(): Readonly<Record<AnswerKind, number>>;
  /** The last hundred that were answered, newest first. */
  recent(): readonly SeenRequest[];
  reset(): void;
};

const MAX_RECENT = 100;
const KEY = 'effects';

/** Notes that a fault with this effect met the answer. */
export function noteEffect(response: Response, effect: string): void {
  getEffects(response).push(effect);
}

function getEffects(response: Response): string[] {
  const effects = (response.locals[KEY] as string[] | undefined) ?? [];
  response.locals[KEY] = effects;
  return effects;
}

const NONE = { rows: 0, count: 0, metadata: 0, token: 0, record: 0, other: 0 };

export function createTraffic(clock: Clock, role: RoleVisibility): Traffic {
  let counts = { ...NONE };
  let recent: SeenRequest[] = [];
  return {
    handler(request, response, next) {
      const { kind, table } = loadSubject(role, request, response);
      counts[kind] += 1;
      const at = clock.now();
      response.once('close', () => {
        const { statusCode, headersSent } = response;
        const durationMs = clock.now().getTime() - at.getTime();
        const status = headersSent ? statusCode : 0;
        recent.unshift({
          at,
          kind,
          table,
          method: request.method,
          path: request.path,
          status,
          durationMs,
          faults: getEffects(response),
        });
        recent.length = Math.min(recent.length, MAX_RECENT);
      });
      next();
    },
    counts: () => counts,
    recent: () => recent,
    reset() {
      counts = { ...NONE };
      recent = [];
    },
  };
}
