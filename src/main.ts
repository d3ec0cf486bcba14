// The entry point: reads the environment and the command line, and runs the requested command. The only
// reader of process.env. The demo has an entry of its own, demo/main.ts; scripts/run.mjs chooses between the
// two.
import { type Config, readConfig, warningsAbout } from './config.ts';
import type { Lifecycle } from './core/work/lifecycle.ts';
import { allowsSignInLinks, createOwnerLink, linkMinutes } from './identity/sign-in-link.ts';
import { closeDatabase, openDatabase } from './open-database.ts';
import { InvalidUsage, runCommand } from './run-command.ts';
import { startService } from './service.ts';

const usage = `Usage:
  npm start                    the service
  npm run demo                 the service with a simulated ERP account and data
  npm run erp -- --help        the simulated ERP account alone
  npm run admin -- --help      commands for operators`;

async function serve(config: Config, life: Lifecycle): Promise<void> {
  const opened = await life.open(() => openDatabase(config), closeDatabase);
  const service = await life.open(
    () => startService(config, opened),
    (running) => running.stop(),
  );
  for (const warning of warningsAbout(config)) service.ctx.log.warn(warning);
  service.ctx.log.info(
    { url: service.url, database: opened.embedded === undefined ? 'external' : 'embedded' },
    'listening',
  );
  const owner = allowsSignInLinks(service.ctx.settings) ? await createOwnerLink(service.ctx) : undefined;
  // Next to the log, not in it: the link is a secret.
  if (owner !== undefined)
    console.error(
      `\nTo sign in as ${owner.email}, open this link within ${linkMinutes} minutes:\n${owner.link}\n`,
    );
}

async function admin(config: Config, life: Lifecycle, args: string[]): Promise<number> {
  // The exit code if a signal interrupts the command.
  process.exitCode = 1;
  const { runAdmin } = await import('./admin/index.ts');
  return runAdmin(config, life, args);
}

await runCommand(usage, 'The service', async (life) => {
  const [command = 'serve', ...args] = process.argv.slice(2);
  if (command === '--help' || command === 'help') {
    console.log(usage);
    return;
  }
  const config = readConfig(process.env);
  if (command === 'serve') await serve(config, life);
  else if (command === 'admin') process.exitCode = await admin(config, life, args);
  else throw new InvalidUsage();
});
