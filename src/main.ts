// The entry point: reads the environment and the command line, and runs the requested command. The only
// reader of process.env. The demo has an entry of its own, demo/main.ts; scripts/run.mjs chooses between the
// two.
import { type Config, readConfig } from './config.ts';
import type { Lifecycle } from './core/work/lifecycle.ts';
import { closeDatabase, openDatabase } from './open-database.ts';
import { countProcesses } from './processes/count.ts';
import { InvalidUsage, runCommand } from './run-command.ts';

const usage = `Usage:
  npm start                    the service
  npm run demo                 the service with a simulated ERP account and data
  npm run erp -- --help        the simulated ERP account alone
  npm run admin -- --help      commands for operators`;

async function serve(config: Config, life: Lifecycle): Promise<void> {
  const opened = await life.open(() => openDatabase(config), closeDatabase);
  const processes = config.PROCESSES === 1 ? 1 : await countProcesses(config, opened);
  // The parent of several processes doesn't load the service.
  if (processes > 1) {
    const { serveWithChildren } = await import('./processes/parent.ts');
    return serveWithChildren(config, opened, processes, life);
  }
  const { serveAlone } = await import('./processes/serve.ts');
  await serveAlone(config, opened, life);
}

async function admin(config: Config, life: Lifecycle, args: string[]): Promise<number> {
  // The exit code if a signal interrupts the command.
  process.exitCode = 1;
  const { runAdmin } = await import('./admin/index.ts');
  return runAdmin(config, life, args);
}

const [command = 'serve', ...args] = process.argv.slice(2);
const run = (): Promise<void> =>
  runCommand(usage, 'The service', async (life) => {
    if (command === '--help' || command === 'help') {
      console.log(usage);
      return;
    }
    const config = readConfig(process.env);
    if (command === 'serve') await serve(config, life);
    else if (command === 'admin') process.exitCode = await admin(config, life, args);
    // For an image: what a start loads is compiled, and kept in Node.js's compile cache.
    else if (command === 'compile')
      await Promise.all([
        import('./processes/serve.ts'),
        import('./processes/parent.ts'),
        import('./processes/child.ts'),
      ]);
    else throw new InvalidUsage();
  });

// Started by the parent of several processes, not by people.
if (command === 'child' && args[0] !== undefined && process.send !== undefined) {
  const { runChild } = await import('./processes/child.ts');
  await runChild(process.env, args[0]);
} else await run();
