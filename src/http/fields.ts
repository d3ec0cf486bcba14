// Schemas of fields that many operations share, each with its representation in JSON, paths and queries.
import { z } from 'zod';

/** Query and path values arrive as strings; `openapi` in the metadata is the schema that OpenAPI shows. */
const wire = (schema: Record<string, unknown>) => ({ openapi: schema });

export const Id = z
  .string()
  .regex(
    /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    'must be a UUID in lower case',
  )
  .meta(wire({ type: 'string', format: 'uuid' }));

export const Instant = z
  .string()
  .meta(wire({ type: 'string', format: 'date-time', description: 'RFC 3339, UTC' }));

export const IdParams = z.strictObject({ id: Id });

type IntegerBounds = { min: number; max: number; default: number };

/** Undefined when absent, so that the code can tell; the default is only described. */
export const optionalQueryInteger = ({ min, max, default: otherwise }: IntegerBounds, description?: string) =>
  z
    .string()
    .regex(/^\d{1,9}$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be a whole number from ${min} to ${max}`)
    .optional()
    .meta(
      wire({
        type: 'integer',
        minimum: min,
        maximum: max,
        default: otherwise,
        ...(description !== undefined && { description }),
      }),
    );

export const queryInteger = (bounds: IntegerBounds) =>
  optionalQueryInteger(bounds)
    .transform((value) => value ?? bounds.default)
    .meta(wire({ type: 'integer', minimum: bounds.min, maximum: bounds.max, default: bounds.default }));

export const queryBoolean = z
  .enum(['true', 'false'])
  .transform((value) => value === 'true')
  .meta(wire({ type: 'boolean' }));

const timestampMessage = 'must be an RFC 3339 timestamp with a time zone';
/** A caller's timestamp: RFC 3339 with a zone, in years that RFC 3339 can express in UTC; milliseconds. */
const givenInstant = z
  .string(timestampMessage)
  .max(60, timestampMessage)
  .transform((text) => text.toUpperCase())
  .pipe(z.iso.datetime({ offset: true, error: timestampMessage }))
  .transform((text) => new Date(text))
  .refine((at) => /^(?!0000)\d{4}-/.test(at.toISOString()), 'must be in the years 1 to 9999');

export const queryInstant = givenInstant.meta(wire({ type: 'string', format: 'date-time' }));
/** The parameters of a list that can be limited to a span of time, and the check that it is one. */
export const spanFields = { after: queryInstant.optional(), before: queryInstant.optional() };
export const isSpan = ({ after, before }: { after?: Date | undefined; before?: Date | undefined }): boolean =>
  after === undefined || before === undefined || after < before;
export const noSpan = { path: ['before'], error: 'must lie after "after"' };

/** A calendar day, in UTC where it means a span of time. */
export const Day = z.iso
  .date({ error: 'must be a date such as 2026-01-31' })
  .refine((text) => !text.startsWith('0000'), 'must be in the years 1 to 9999')
  .meta(wire({ type: 'string', format: 'date' }));

/** In a body: parsed into a string in UTC. */
export const bodyInstant = givenInstant
  .transform((at) => at.toISOString())
  .nullable()
  .meta(wire({ type: 'string', format: 'date-time', nullable: true }));

/** A single line typed by a person: trimmed, not empty, without control characters. */
export const shortText = (max: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(max)
    .refine(
      (text) => /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]*$/u.test(text),
      'must not contain control characters',
    )
    .refine((text) => text === '' || /[^\p{Cf}\p{Mn}\p{Z}]/u.test(text), 'must contain a visible character');
/** Invisible characters that emoji and words of the Arabic script need to look right. */
const visibleUses =
  /(?<=\p{Extended_Pictographic})\ufe0f|\u200d(?=\p{Extended_Pictographic})|(?<=\p{Script=Arabic})\u200c(?=\p{Script=Arabic})/gu;
/** A name that is unique in its list, by which people choose: of two that look the same, one is rejected. */
export const uniqueName = (max: number) =>
  shortText(max).refine(
    (text) => !/[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u.test(text.replaceAll(visibleUses, '')),
    'must not contain invisible characters',
  );
/** Text of several lines. */
export const longText = (max: number) =>
  z
    .string()
    .max(max)
    .refine((text) => /^[^\0\p{Cs}]*$/u.test(text), 'must not contain NUL or unpaired surrogates');

export const Email = z
  .email()
  .max(254)
  .refine((text) => text.indexOf('@') <= 64, 'must have at most 64 characters before the @')
  .transform((text) => text.toLowerCase())
  .meta(wire({ type: 'string', format: 'email', maxLength: 254 }));

/** A problem reported in a success response; `path` as in an error's details. */
export const Problem = z.object({ path: z.string(), code: z.string(), message: z.string() });

/** Formats a date as responses show it: RFC 3339 in UTC, without milliseconds when they are zero. */
export const instant = (at: Date): string => at.toISOString().replace(/\.\d{3}Z$/, 'Z');
export const instantOrNull = (at: Date | null): string | null => (at === null ? null : instant(at));
