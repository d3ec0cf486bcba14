// How each lasting fault begins and ends.
import type { StateFault } from '../plan-names.ts';
import { answerFaults } from './answers.ts';
import type { FaultDefinition } from './fault.ts';
import { fieldFaults } from './fields.ts';
import { recordFaults } from './records.ts';
import { roleFaults } from './role.ts';
import { serviceFaults } from './service.ts';
import { signInFaults } from './sign-in.ts';

export const faults: Readonly<Record<StateFault, FaultDefinition>> = {
  ...answerFaults,
  ...fieldFaults,
  ...recordFaults,
  ...roleFaults,
  ...serviceFaults,
  ...signInFaults,
};
