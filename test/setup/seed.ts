// Property-based tests use the same values in every run, so that results are reproducible; PROPERTY_SEED
// selects others.
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env['PROPERTY_SEED'] ?? 20_261_121) });
