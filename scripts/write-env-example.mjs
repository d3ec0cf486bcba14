// Writes .env.example from the declarations of the settings.
import { writeFileSync } from 'node:fs';
import { environmentExample } from '../src/config.ts';

writeFileSync(new URL('../.env.example', import.meta.url), environmentExample());
