import type { BuilderGroup } from '../builder.ts';

export const overviewBuilders: BuilderGroup = { builders: { getOverview: { build: () => ({}) } } };
