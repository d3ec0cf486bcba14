// Writes docs/record-types.md from NetSuite's connector.
import { writeFileSync } from 'node:fs';
import { recordTypesPage } from './record-types-page.ts';

writeFileSync(new URL('../docs/record-types.md', import.meta.url), recordTypesPage());
