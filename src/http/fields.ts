// The fields that many operations share, each with the form it has on the wire.
import { z } from 'zod';

/** Query and path values arrive as text; `openapi` in the metadata says how the description shows them. */
const wire = (schema: Record<string, unknown>) => ({ openapi: schema });

export const Id = z
  .string()
  .regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/, 'must be a UUID in lower case')
  .meta(wire({ type: 'string', format: 'uuid' }));

export const Instant = z.string().meta(wire({ type: 'string', format: 'date-time', description: 'RFC 3339, UTC' }));

export const IdParams = z.strictObject({ id: Id });

export const queryInteger = (bounds: { min: number; max: number; default: number }) =>
  z
    .string()
    .regex(/^\d{1,9}$/, `must be a whole number from ${bounds.min} to ${bounds.max}`)
    .transform(Number)
    .refine((value) => value >= bounds.min && value <= bounds.max, `must be a whole number from ${bounds.min} to ${bounds.max}`)
    .optional()
    .transform((value) => value ?? bounds.default)
    .meta(wire({ type: 'integer', minimum: bounds.min, maximum: bounds.max, default: bounds.default }));

/** An instant that a caller gives: RFC 3339 with a zone, from the years that RFC 3339 can write in UTC, exact to the millisecond. */
const givenInstant = z.iso
  .datetime({ offset: true, error: 'must be an RFC 3339 instant with a zone' })
  .max(40, 'must be an RFC 3339 instant with a zone')
  .transform((text) => new Date(text))
  .refine((at) => /^(?!0000)\d{4}-/.test(at.toISOString()), 'must lie in the years 1 to 9999');

export const queryInstant = givenInstant.meta(wire({ type: 'string', format: 'date-time' }));
/** A day of the calendar, in UTC where it stands for a span of time. */
export const Day = z.iso
  .date({ error: 'must be a date such as 2026-01-31' })
  .refine((text) => !text.startsWith('0000'), 'must lie in the years 1 to 9999')
  .meta(wire({ type: 'string', format: 'date' }));

/** In a body: goes on as text in UTC. */
export const bodyInstant = givenInstant
  .transform((at) => at.toISOString())
  .nullable()
  .meta(wire({ type: 'string', format: 'date-time', nullable: true }));

/** Text a person typed: trimmed, no control characters. */
export const shortText = (max: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(max)
    .refine((text) => /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]*$/u.test(text), 'must not hold control characters')
    .refine((text) => text === '' || /[^\p{Cf}\p{Mn}\p{Z}]/u.test(text), 'must show something');
export const longText = (max: number) =>
  z
    .string()
    .max(max)
    .refine((text) => /^[^\0\p{Cs}]*$/u.test(text), 'must not hold NUL or broken characters');

export const Email = z
  .email()
  .max(254)
  .refine((text) => text.indexOf('@') <= 64, 'must have at most 64 characters before the @')
  .transform((text) => text.toLowerCase())
  .meta(wire({ type: 'string', format: 'email', maxLength: 254 }));

/** What is wrong with something that is answered all the same; `path` as in an error's details. */
export const Problem = z.object({ path: z.string(), code: z.string(), message: z.string() });

/** A date of the database or the process as the wire shows it. */
export const instant = (at: Date): string => at.toISOString().replace(/\.\d{3}Z$/, 'Z');
export const instantOrNull = (at: Date | null): string | null => (at === null ? null : instant(at));
