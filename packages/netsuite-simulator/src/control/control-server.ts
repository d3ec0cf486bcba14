// The control interface of an account: its pages, the set-up pages, and the requests behind them.
import path from 'node:path';
import { Router } from 'express';
import { createSetUpRoutes } from '../set-up-pages/routes.ts';
import type { Control } from './control.ts';
import { ControlError } from './control-error.ts';
import { type ControlServer, startGuardedServer } from './guarded-server.ts';
import { servePage } from './page-files.ts';
import { controlRoutes } from './routes.ts';

/** Rejects with the system's error when the port is taken. */
export function startControlServer(control: Control, port: number): Promise<ControlServer> {
  const setUp = Router();
  setUp.use('/set-up', createSetUpRoutes(control.setUp));
  return startGuardedServer({
    port,
    open: [
      servePage(path.join(import.meta.dirname, 'page'), '/'),
      servePage(path.join(import.meta.dirname, '../set-up-pages/page'), '/set-up'),
    ],
    guarded: [setUp, controlRoutes(control)],
    toControlError: databaseError,
  });
}

/** PostgreSQL refuses values that don't fit its types or break a constraint. */
function databaseError(error: unknown): ControlError | undefined {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (!(error instanceof Error) || !/^2[23]/.test(code)) return undefined;
  return new ControlError(422, `The account refuses these values: ${error.message}.`, [], { cause: error });
}
