import type { BuilderGroup } from '../builder.ts';

export const whoamiBuilders: BuilderGroup = { builders: { getWhoAmI: { build: () => ({}) } } };
