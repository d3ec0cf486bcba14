// POST /clock: steps or sets the account's clock and the users' time zone.
import { z } from 'zod';
import { parseTime } from '../tables/column-value.ts';

const MAX_STEP_SECONDS = 100 * 366 * 86_400;

const isTimeZone = (name: string): boolean => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return /^[A-Za-z][A-Za-z0-9_+/-]*$/.test(name);
  } catch {
    return false;
  }
};

export const ClockBody = z
  .strictObject({
    stepSeconds: z.int().min(-MAX_STEP_SECONDS).max(MAX_STEP_SECONDS).optional(),
    at: z
      .string()
      .refine((text) => parseTime(text) !== undefined, {
        error: 'must be a time such as "2011-08-22T09:30:00Z"',
      })
      .optional(),
    timeZone: z
      .string()
      .refine(isTimeZone, { error: 'must be a time zone such as "America/Los_Angeles"' })
      .optional(),
  })
  .refine((body) => Object.values(body).some((value) => value !== undefined), {
    error: 'must have stepSeconds, at or timeZone',
  });
