// Whom the portal knows, and which records it shows them.
import { z } from 'zod';
import {
  languages,
  type Meaning,
  meanings,
  receivableRoles,
  recordRoles,
} from '../../core/text/portal-terms.ts';
import { Id, Instant, Problem } from '../../http/fields.ts';
import { Publication } from '../api-schemas/api-schemas.schemas.ts';
import { Figures } from './figures.schemas.ts';

const recordType = z.string().min(1).max(200);
const field = z
  .string()
  .min(1)
  .max(200)
  .describe('A field of the record type, or `<field>.name` for its label');

const Condition = z.strictObject({
  field,
  in: z.array(z.string().max(1_000)).min(1).max(100).describe('The field equals one of these'),
});
const conditions = z
  .array(Condition)
  .max(10)
  .default([])
  .describe('All of them must hold; records with a null do not match');

const People = z.strictObject({
  recordType: recordType.describe('Customers or their contacts'),
  emailField: field.describe('Holds one address or several'),
  customerField: field
    .describe("Holds the customer's id: `id` where the records are the customers")
    .default('id'),
  conditions,
});

const Meanings = z.strictObject(
  Object.fromEntries(meanings.map((name) => [name, field.optional()])) as Record<
    Meaning,
    z.ZodOptional<typeof field>
  >,
);

const ShownRecords = z.strictObject({
  recordType,
  customerField: field.describe("Holds the customer's id"),
  role: z.enum(recordRoles).describe('What the records are in the account of a customer'),
  fields: Meanings.describe('What the fields mean; a page whose fields are not named is not offered'),
  conditions,
});

export const defaultQuestionsPerDay = 20;

export const PortalAccessInput = z.strictObject({
  enabled: z.boolean(),
  people: z.array(People).max(10),
  records: z.array(ShownRecords).max(40),
  unusedRoles: z
    .array(z.enum(receivableRoles))
    .max(receivableRoles.length)
    .default([])
    .describe(
      'Roles of which the ERP has no records: account statements are offered without them, and for every other role only with its records',
    ),
  includeChildren: z
    .boolean()
    .default(false)
    .describe('Whether visitors also see the records of customers below theirs, at most 100'),
  publicApi: z
    .boolean()
    .default(false)
    .describe('Whether the primary domain serves `/api/public` too, to keys of this organization'),
  agentId: Id.nullable()
    .default(null)
    .describe(
      'The agent that answers visitors about their own records; null for none. Its version must declare `customerField`, and the fields of `conditions`, as scopable in each resource with records that the portal shows',
    ),
  visitorQuestionsPerDay: z
    .int()
    .min(1)
    .max(200)
    .default(defaultQuestionsPerDay)
    .describe('How many questions a visitor may ask on a day (UTC)'),
  signInLifetimeDays: z.int().min(1).max(90).default(14),
  languages: z
    .array(z.enum(languages))
    .min(1)
    .max(languages.length)
    .default([...languages]),
  defaultLanguage: z.enum(languages).default('en'),
  revision: z.int().min(0).optional().describe('Rejects the update unless this is the current revision'),
});
export type PortalAccessInput = z.output<typeof PortalAccessInput>;
export type PortalSettings = Omit<PortalAccessInput, 'revision'>;
type Later = 'unusedRoles' | 'agentId' | 'visitorQuestionsPerDay';
/** As they are stored: with what was known when they were saved. */
export type StoredSettings = Omit<PortalSettings, Later> & {
  /** Missing where they were saved before there were statements. */
  readonly unusedRoles?: PortalSettings['unusedRoles'];
  /** Missing where they were saved before visitors could ask. */
  readonly agentId?: PortalSettings['agentId'];
  readonly visitorQuestionsPerDay?: PortalSettings['visitorQuestionsPerDay'];
  /** The record type of the customers, where it is synced. */
  readonly customerType?: string;
  /** What the ERP calls the record types. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Fields of shown records that refer to shown records. */
  readonly references?: readonly Reference[];
  /** Record types whose date is a time. */
  readonly timed?: readonly string[];
};
/** `source` of `recordType` holds the id of a record of `target`. */
export type Reference = { readonly recordType: string; readonly source: string; readonly target: string };

export const PortalAccess = PortalAccessInput.omit({ revision: true })
  .extend({
    revision: z.int().describe('0 for a proposal: nothing was saved yet'),
    status: z
      .enum(['off', 'preparing', 'failed', 'on'])
      .describe(
        '`preparing`: indexes are built and reads are tried; until they are, visitors see what was ready before. `failed`: see `publication`',
      ),
    publication: Publication.nullable().describe('How far the preparation is, and why it failed'),
    figures: Figures.nullable().describe(
      'Who can sign in, counted in the background once the portal is on and at most once an hour; null before that',
    ),
    problems: z
      .array(Problem)
      .describe('Names that are no longer synced, and why `agentId` answers no visitors at the moment'),
    statementGaps: z
      .array(
        z.object({
          role: z.enum(receivableRoles),
          recordType: z.string().nullable(),
          code: z
            .enum(['not_shown', 'no_date', 'no_amount', 'no_currency', 'masked'])
            .describe(
              '`not_shown`: no record type has the role, and it is not in `unusedRoles`. `no_date`: none is named, or it is a time. `no_currency`: other record types of the account name theirs. `masked`: a version masks date, amount or currency',
            ),
        }),
      )
      .describe('Why visitors are offered no account statements; empty when they are'),
    proposed: z
      .object({ people: z.array(People), records: z.array(ShownRecords) })
      .describe('What would be proposed now, from what is synced'),
    updatedAt: Instant.nullable(),
  })
  .meta({ id: 'PortalAccess' });
