// Starts the service on a Node.js that can run it, with .env if there is one. Plain JavaScript, so that an older Node.js can
// still say what is wrong.
import { existsSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { fileURLToPath } from 'node:url';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(`Node.js 24 is needed to run the service; this is ${process.version}.
Start it with npm (npm start, npm run demo): npm ci installs the right Node.js beside the project. If it did not, optional
packages were left out: run npm ci without --omit=optional, or install Node.js 24 yourself.`);
  process.exit(1);
}
// What was compiled once is kept beside the packages, which only their owner writes: a quicker start and 20 MB less memory.
nodeModule.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url)));
if (existsSync('.env')) process.loadEnvFile('.env');
await import('../src/main.ts');
