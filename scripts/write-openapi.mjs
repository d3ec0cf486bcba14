// Writes docs/openapi.json, the management interface's description as served at the default address.
import { writeFileSync } from 'node:fs';
import { describePlatform } from '../src/platform/index.ts';

writeFileSync(
  new URL('../docs/openapi.json', import.meta.url),
  `${JSON.stringify(describePlatform('http://127.0.0.1:8080'), null, 2)}\n`,
);
