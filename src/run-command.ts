// Runs one command as this process: prints what prevents its start, and shuts down on a signal. Used by
// main.ts and by the demo's entry.
import { BadEnvironment } from './config.ts';
import { errorMessage } from './core/errors.ts';
import { createLifecycle, type Lifecycle, Stopped } from './core/work/lifecycle.ts';
import { UnusableDatabase } from './db/unusable-database.ts';

export class InvalidUsage extends Error {}
/** Its message alone says why the command can't run, and what to do. */
export class CannotRun extends Error {}

/** Stops `life` and ends the process, with code 1 when that fails. */
export function stopAndExit(life: Lifecycle): void {
  life.stop().then(
    () => process.exit(process.exitCode ?? 0),
    (error: unknown) => {
      console.error(errorMessage(error));
      process.exit(1);
    },
  );
}

/** Shuts down at the first signal, even while starting; a second signal ends the process at once. */
function stopOnSignal(life: Lifecycle): void {
  let stopping = false;
  const onSignal = () => {
    if (stopping) process.exit(1);
    stopping = true;
    stopAndExit(life);
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
}

/** Errors whose message alone tells the operator what to do. */
const isExpected = (error: unknown): boolean =>
  error instanceof BadEnvironment || error instanceof UnusableDatabase || error instanceof CannotRun;

/**
 * Runs `command`, which opens its resources through `life`. An error ends the process with code 1:
 * InvalidUsage and bad arguments print `usage`, others what `name` could not start for. `stopWhenAsked` stops
 * `life` and then ends the process; by default on a signal.
 */
export async function runCommand(
  usage: string,
  name: string,
  command: (life: Lifecycle) => Promise<void>,
  stopWhenAsked: (life: Lifecycle) => void = stopOnSignal,
): Promise<void> {
  const life = createLifecycle();
  stopWhenAsked(life);
  try {
    await command(life);
  } catch (error) {
    // Stopped during the start: `stopWhenAsked` ends the process.
    if (error instanceof Stopped) return;
    const badArguments =
      error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
    if (error instanceof InvalidUsage || badArguments) console.error(usage);
    else
      console.error(
        isExpected(error) ? errorMessage(error) : `${name} could not start: ${errorMessage(error)}`,
      );
    await life.stop();
    process.exit(1);
  }
}
