// The package's public entry point.
export type { Fault } from './faults.ts';
export type { TrueRecord } from './records.ts';
export type { SeenRequest } from './service.ts';
export type { Credentials } from './sign-in.ts';
export {
  type ODataSimulator,
  type ODataSimulatorOptions,
  type ProfileName,
  startODataSimulator,
} from './simulator.ts';
