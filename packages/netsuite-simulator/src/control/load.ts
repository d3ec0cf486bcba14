// POST /load: what other integrations use of the account's concurrency limit, and what is allocated to
// integrations.
import { z } from 'zod';
import type { Governance, Load } from '../governance.ts';
import { invalid } from './control-error.ts';

const Concurrency = z.int().min(0).max(1000);
const Limit = z.int().min(1).max(1000);
const Steps = z
  .array(z.strictObject({ concurrency: Concurrency, seconds: z.number().positive().max(86_400) }))
  .min(1)
  .max(100);

export const LoadBody = z
  .strictObject({
    concurrency: Concurrency.optional(),
    integrations: z
      .array(
        z.strictObject({
          name: z.string().min(1).max(100),
          concurrency: z.union(
            [Concurrency, Steps],
            'must be a whole number, or a list of {"concurrency", "seconds"}',
          ),
          limit: Limit.optional(),
        }),
      )
      .max(20)
      .optional(),
    limits: z.record(z.string(), Limit).optional(),
  })
  .refine(
    ({ concurrency, integrations, limits }) =>
      concurrency !== undefined || integrations !== undefined || limits !== undefined,
    {
      path: ['concurrency'],
      message: 'is required unless integrations or limits are given',
    },
  );

/** `concurrency` alone is one integration with a constant load. */
function parseLoad({ concurrency, integrations = [], limits = {} }: z.output<typeof LoadBody>): Load {
  const others = integrations.map(({ name, concurrency: given, limit }) => ({
    name,
    limit,
    steps: typeof given === 'number' ? always(given) : given,
  }));
  return {
    others: concurrency === undefined ? others : [{ name: 'others', steps: always(concurrency) }, ...others],
    limits,
  };
}

const always = (concurrency: number) => [{ concurrency, seconds: 0 }];

/** Replaces the load. Throws ControlError 422 when the whole limit would be allocated. */
export function putLoad(governance: Governance, body: z.output<typeof LoadBody>): void {
  try {
    governance.setLoad(parseLoad(body));
  } catch (error) {
    throw error instanceof RangeError
      ? invalid({ path: 'limits', message: `leave nothing for others: ${error.message}` })
      : error;
  }
}

/**
 * For the state: the present concurrency of all other integrations, each of them when there are several, and
 * what is allocated.
 */
export function describeLoad(governance: Governance): object {
  const { others, limits } = governance.load();
  const isPlain =
    others.length <= 1 && others.every(({ limit, steps }) => limit === undefined && steps.length === 1);
  const integrations = others.map((other) => ({ ...other, concurrency: governance.sumConcurrency([other]) }));
  return {
    concurrency: governance.sumConcurrency(others),
    limit: governance.limit(),
    ...(isPlain ? {} : { integrations }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  };
}
