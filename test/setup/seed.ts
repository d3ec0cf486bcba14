// Properties are tried on the same values in every run, so that its answer is the same every time; PROPERTY_SEED tries others.
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env['PROPERTY_SEED'] ?? 20_261_121) });
