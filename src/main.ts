// The entry point: reads the environment and the command line, starts the requested command, and stops on a signal. The only reader of
// process.env.
import { BadEnvironment, type Config, readConfig } from './config.ts';
import { errorMessage } from './core/errors.ts';
import { createLifecycle, type Lifecycle, Stopped } from './core/lifecycle.ts';
import { UnusableDatabase } from './db/connect.ts';
import { closeDatabase, openDatabase, startService } from './service.ts';

const usage = `Usage:
  npm start                    the service
  npm run demo                 the service with a simulated ERP account and data
  npm run admin -- --help      commands for operators`;

/** Shuts down at the first signal, even while starting; a second signal ends the process at once. */
function stopOnSignal(life: Lifecycle): void {
  let stopping = false;
  const onSignal = () => {
    if (stopping) process.exit(1);
    stopping = true;
    life.stop().then(
      () => process.exit(process.exitCode ?? 0),
      (error: unknown) => {
        console.error(errorMessage(error));
        process.exit(1);
      },
    );
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
}

async function serve(config: Config, life: Lifecycle): Promise<void> {
  const opened = await life.open(() => openDatabase(config), closeDatabase);
  const service = await life.open(
    () => startService(config, opened),
    (running) => running.stop(),
  );
  service.ctx.log.info({ url: service.url, database: opened.embedded === undefined ? 'external' : 'embedded' }, 'listening');
}

async function demo(config: Config, life: Lifecycle): Promise<void> {
  const { startDemo } = await import('../demo/demo.ts');
  await startDemo(config, life);
}

async function admin(config: Config, life: Lifecycle, args: string[]): Promise<number> {
  // The exit code if a signal interrupts the command.
  process.exitCode = 1;
  const { runAdmin } = await import('./admin/index.ts');
  return runAdmin(config, life, args);
}

class InvalidUsage extends Error {}

/** Errors whose message alone tells the operator what to do. */
const isExpected = (error: unknown): boolean => error instanceof BadEnvironment || error instanceof UnusableDatabase;

const life = createLifecycle();
stopOnSignal(life);
try {
  const [command = 'serve', ...args] = process.argv.slice(2);
  if (command === '--help' || command === 'help') console.log(usage);
  else {
    const config = readConfig(process.env);
    if (command === 'serve') await serve(config, life);
    else if (command === 'demo') await demo(config, life);
    else if (command === 'admin') process.exitCode = await admin(config, life, args);
    else throw new InvalidUsage();
  }
} catch (error) {
  // A signal during the start: stopOnSignal ends the process.
  if (!(error instanceof Stopped)) {
    const badArguments = error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
    if (error instanceof InvalidUsage || badArguments) console.error(usage);
    else console.error(isExpected(error) ? errorMessage(error) : `The service could not start: ${errorMessage(error)}`);
    await life.stop();
    process.exit(1);
  }
}
