// Generated inputs for every operation (property-based testing). PROPERTY_SEED selects other inputs than the
// usual ones, PROPERTY_INPUTS their number.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkInputs, wantedInputs } from './rules/inputs.ts';
import { guardedRoutes, openWalk, type Walk } from './walk.ts';

const seed = Number(process.env['PROPERTY_SEED'] ?? 20_261_121);
const guarded = guardedRoutes();

let walk: Walk;
beforeAll(async () => {
  walk = await openWalk();
});
afterAll(() => walk.close());

describe(`inputs generated from the schemas, PROPERTY_SEED=${seed}`, () => {
  it.each(guarded.map((route) => [`${route.method} ${route.path}`, route] as const))(
    '%s',
    async (_name, route) => {
      const { failures, valid, invalid } = await checkInputs(walk, route, seed);
      expect(failures, `PROPERTY_SEED=${seed}`).toEqual([]);
      expect(valid).toBeGreaterThan(0);
      expect(invalid).toBeGreaterThanOrEqual(wantedInputs);
    },
  );
});
