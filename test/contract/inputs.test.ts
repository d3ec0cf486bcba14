// Generated inputs for every operation (property-based testing). PROPERTY_SEED selects other inputs than the
// usual ones, PROPERTY_INPUTS their number.
import { describe, expect, it } from 'vitest';
import { checkInputs, wantedInputs } from './rules/inputs.ts';
import { guardedRoutes, named, useWalk } from './walk.ts';

const seed = Number(process.env['PROPERTY_SEED'] ?? 20_261_121);
const walk = useWalk();

describe(`inputs generated from the schemas, PROPERTY_SEED=${seed}`, () => {
  it.each(named(guardedRoutes()))('%s', async (_name, route) => {
    const { failures, valid, invalid } = await checkInputs(walk, route, seed);
    expect(failures, `PROPERTY_SEED=${seed}`).toEqual([]);
    expect(valid).toBeGreaterThan(0);
    expect(invalid).toBeGreaterThanOrEqual(wantedInputs);
  });
});
