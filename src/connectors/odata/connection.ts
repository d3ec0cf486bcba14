// What the service stores for an OData v4 connection; its secrets are those of the sign-in.
import { z } from 'zod';
import { isTimeZone } from '../../core/time-zone.ts';
import { SignInSettings } from '../http/sign-in.ts';

/** What is known of a service by the product behind it; `generic` assumes nothing beyond the standard. */
export const odataDialects = ['businessCentral', 'dynamics365', 'sap', 'acumatica', 'generic'] as const;
export type OdataDialect = (typeof odataDialects)[number];

const text = (maxLength: number) => z.string().trim().min(1).max(maxLength);
/** Where a company or a tenant is named: a path segment such as `companies(<id>)`, or a query parameter. */
const Place = z.discriminatedUnion('in', [
  z
    .strictObject({
      in: z.literal('path'),
      segment: z
        .string()
        .max(200)
        .regex(/^[\w~!$'()*,=@:%-][\w.~!$'()*,=@:%-]*$/, 'One segment of a path, which begins with no dot')
        .describe('One segment, such as `companies(<id>)`'),
    })
    .meta({ title: 'In the path' }),
  z
    .strictObject({
      in: z.literal('query'),
      name: z
        .string()
        .max(60)
        .regex(/^[A-Za-z][\w.-]*$/, 'The name of a query parameter, without $')
        .meta({ title: 'Parameter' }),
      value: text(200),
    })
    .meta({ title: 'In a query parameter' }),
]);
export type Place = z.infer<typeof Place>;

/** A property of an entity type; in complex properties with dots. */
const propertyName = z.string().regex(/^[\p{L}_][\p{L}\p{N}_.]{0,199}$/u);

/** Replaces what is found in `$metadata` for one entity set; null: there is none. */
const EntitySetSettings = z.strictObject({
  changedField: propertyName
    .nullable()
    .optional()
    .describe('The property with the time of the last modification'),
  keyField: propertyName
    .optional()
    .describe('A property that identifies a record by itself, instead of the key'),
  linesField: propertyName.nullable().optional().describe('The navigation property to the lines'),
});

export const OdataSettings = z.strictObject({
  serviceRoot: z.string().max(500),
  dialect: z.enum(odataDialects),
  signIn: SignInSettings,
  company: Place.nullable(),
  tenant: Place.nullable(),
  /** Records per request; null for what the engine requests. */
  pageSize: z.int().min(1).max(20_000).nullable(),
  /** IANA name of the zone of the account's calendar days, which OData services don't report. */
  timeZone: z.string().max(60).refine(isTimeZone, 'An IANA time zone such as Europe/Vienna'),
  entitySets: z.record(z.string().max(200), EntitySetSettings),
});
export type OdataSettings = z.infer<typeof OdataSettings>;
