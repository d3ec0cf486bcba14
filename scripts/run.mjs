// Starts the service, its admin commands, the demo, the simulated ERP or a benchmark, with .env if it exists.
// Plain JavaScript, so that an older Node.js can still report that it is too old.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { fileURLToPath } from 'node:url';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
/** The first version that loads TypeScript by itself. */
const [minMajor, minMinor] = [22, 18];
if (major < minMajor || (major === minMajor && minor < minMinor)) {
  console.error(`Node.js ${minMajor}.${minMinor} or later is needed to run the service; this is ${process.versions.node}.
Start it with npm (npm start, npm run demo): npm ci installs the right Node.js in the project. If it did not, optional packages
were omitted: run npm ci without --omit=optional, or install Node.js 24.`);
  process.exit(1);
}
const command = process.argv[2] ?? 'serve';
// Half of these threads look names up, which takes long where no name server answers.
process.env.UV_THREADPOOL_SIZE ??= '16';
// How V8 collects: docs/decisions/operations.md. Without the options that `npm start` gives, the process is replaced
// by one that has them, which Windows can't.
const options = [
  `--max-semi-space-size=${command === 'demo' ? 16 : 8}`,
  '--heap-growing-percent=30',
  '--no-parallel-scavenge',
];
if (process.platform !== 'win32' && !options.some((option) => process.execArgv.includes(option)))
  process.execve?.(
    process.execPath,
    [process.execPath, ...options, ...process.execArgv, ...process.argv.slice(1)],
    process.env,
  );
// In a process of its own, whose memory ends with it. Without the console the service runs and says how to
// build it.
const builder = new URL('build.mjs', import.meta.url);
const listStale = existsSync(builder) ? (await import(builder.href)).listStale : () => [];
const builds = command === 'serve' || command === 'demo';
let stale = listStale(builds ? undefined : ['service']);
if (builds && stale.length > 0) {
  spawnSync(process.execPath, [fileURLToPath(builder)], { stdio: 'inherit' });
  stale = listStale(['service']);
}
const bundle = '../dist/service/main.js';
const isBundled = existsSync(new URL(bundle, import.meta.url)) && !stale.includes('service');
const service = isBundled ? bundle : '../src/main.ts';
const entries = { demo: '../demo/main.ts', erp: '../demo/main.ts', bench: '../bench/run.ts' };
const entry = new URL(entries[command] ?? service, import.meta.url);
if (!existsSync(entry)) {
  console.error(`npm run ${command} needs the whole repository; this installation has the service alone.`);
  process.exit(1);
}
// The compile cache makes a start faster and saves 20 MB of memory. It is in node_modules, which only the
// installing user may write to.
nodeModule.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url)));
// A child has the environment of its parent.
if (command !== 'child' && existsSync('.env')) process.loadEnvFile('.env');
await import(entry.href);
