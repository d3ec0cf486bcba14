import type { Answer } from '../../api.ts';

export type OverviewData = Answer<'/overview'>;
