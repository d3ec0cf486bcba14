// The entry point of `npm run demo` and `npm run erp`; started by scripts/run.mjs. Together with src/main.ts
// the only reader of process.env.
import { parseArgs } from 'node:util';
import { readConfig } from '../src/config.ts';
import { runCommand } from '../src/run-command.ts';
import { erpUsage, startErp } from './erp.ts';

const [command, ...args] = process.argv.slice(2);
if (command === 'erp') {
  const { DATA_DIR: dataDir = '.data', ERP_PROFILE } = process.env;
  await runCommand(erpUsage, 'The simulated account', (life) =>
    startErp(args, { dataDir, profile: ERP_PROFILE || 'single' }, life),
  );
} else
  await runCommand('Usage: npm run demo [-- --verbose]', 'The service', async (life) => {
    const { verbose } = parseArgs({ args, options: { verbose: { type: 'boolean', default: false } } }).values;
    const config = readConfig(process.env);
    const { startDemo } = await import('./demo.ts'); // loads the whole service
    await startDemo(config, life, verbose);
  });
