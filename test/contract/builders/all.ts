// Every group of builders; a new file of builders is named here.
import type { BuilderGroup } from '../builder.ts';
import { apiKeyBuilders } from './api-keys.ts';
import { apiSchemaBuilders } from './api-schemas.ts';
import { netsuiteBuilders } from './netsuite.ts';
import { syncBuilders } from './syncs.ts';
import { whoamiBuilders } from './whoami.ts';

export const builderGroups: readonly BuilderGroup[] = [whoamiBuilders, netsuiteBuilders, syncBuilders, apiKeyBuilders, apiSchemaBuilders];
