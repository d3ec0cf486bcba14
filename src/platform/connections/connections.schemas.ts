// Request and response schemas of ERP connections and their metadata. Secrets are write-only.
import { z } from 'zod';
import { recordFamilies } from '../../connectors/discovery.ts';
import { SignInSecrets } from '../../connectors/http/sign-in.ts';
import { type OdataDialect, OdataSettings } from '../../connectors/odata/connection.ts';
import { Id, Instant, queryBoolean, shortText } from '../../http/fields.ts';
import { createPageSchema, NamedPageQuery } from '../../http/page.ts';

const secret = z.string().min(1).max(500).meta({ writeOnly: true });
const shortName = shortText(200);

const accountId = z
  .string()
  .max(40)
  .regex(/^[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)?$/, 'must look like 1234567 or 1234567_SB1')
  .describe('In NetSuite: Setup > Company > Company Information. A sandbox has a suffix, as in 1234567_SB1');
const baseUrl = z.string().max(300).nullable().default(null).meta({
  title: 'Another address',
  description:
    'Only for an account without its own *.suitetalk.api.netsuite.com address, such as a simulated one; the operator must allow the host',
});
const certificateSignIn = z
  .strictObject({
    method: z.literal('oauth2'),
    clientId: shortName.describe(
      'Of the integration record. NetSuite shows it once, when the record is saved',
    ),
    certificateId: shortName
      .nullable()
      .default(null)
      .describe(
        'The id that NetSuite assigns to the uploaded certificate. Null or omitted: the active certificate keeps its id',
      ),
    certificateSlot: z
      .int()
      .min(1)
      .max(2)
      .optional()
      .describe(
        'The slot of the certificate that NetSuite shows under this id. Needed only to give a new id to another certificate than the one ' +
          'that waits for an id or, when none waits, the active one',
      ),
  })
  .meta({ title: 'OAuth 2.0 with a certificate' });
const tokenTitle = 'Token-based authentication (TBA)';
const tokenSignIn = z
  .strictObject({ method: z.literal('tba'), consumerKey: shortName, tokenId: shortName })
  .meta({ title: tokenTitle });

export const ErpConnectionInput = z.strictObject({
  accountId,
  baseUrl,
  authentication: z.discriminatedUnion('method', [
    certificateSignIn,
    tokenSignIn
      .extend({
        consumerSecret: secret.optional().describe('Omit to keep the stored secret'),
        tokenSecret: secret.optional().describe('Omit to keep the stored secret'),
      })
      .meta({ title: tokenTitle }),
  ]),
});
export type ErpConnectionInput = z.output<typeof ErpConnectionInput>;

const NetsuiteSettingsInput = z.strictObject({
  accountId,
  authentication: z.discriminatedUnion('method', [certificateSignIn, tokenSignIn]).meta({
    title: 'How the service signs in',
    description:
      'A certificate is recommended: its private key never leaves the service. Tokens are for accounts that already use them',
  }),
  baseUrl,
});
export type NetsuiteSettingsInput = z.output<typeof NetsuiteSettingsInput>;
const NetsuiteSecretsInput = z
  .strictObject({ consumerSecret: secret, tokenSecret: secret })
  .meta({ 'x-when': { 'authentication.method': 'tba' } });
export type NetsuiteSecretsInput = z.output<typeof NetsuiteSecretsInput>;

const connectionName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,19}$/, 'must be a lower-case letter, then letters, digits and -, at most 20');
export const ConnectionParams = z.strictObject({ connection: connectionName });

const OdataSettingsInput = OdataSettings.extend({
  serviceRoot: OdataSettings.shape.serviceRoot.describe(
    'The https address below which `$metadata` is; in Business Central https://api.businesscentral.dynamics.com/v2.0/<tenant>/production/api/v2.0 with your tenant',
  ),
  dialect: OdataSettings.shape.dialect.default('generic').meta({
    title: 'Product',
    description:
      'The ERP behind the service, whose known deviations from the standard are taken into account. A service root that is certain to be of one of them has it by itself',
    'x-enumDescriptions': {
      businessCentral: 'Microsoft Dynamics 365 Business Central',
      dynamics365: 'Microsoft Dynamics 365 Finance',
      sap: 'SAP S/4HANA',
      acumatica: 'Acumatica',
      generic: 'Another OData v4 service',
    } satisfies Record<OdataDialect, string>,
  }),
  signIn: OdataSettings.shape.signIn.meta({ title: 'How the service signs in' }),
  company: OdataSettings.shape.company
    .default(null)
    .describe(
      'Where requests name the company, if the service has several. Dynamics 365 reads all companies that the user may, or one by a query parameter `dataAreaId`',
    ),
  tenant: OdataSettings.shape.tenant
    .default(null)
    .describe('Where requests name the tenant, if the service has several'),
  timeZone: OdataSettings.shape.timeZone
    .default('UTC')
    .describe(
      "Of the account's calendar days, as an IANA name such as Europe/Vienna; OData services do not report it",
    ),
  pageSize: OdataSettings.shape.pageSize
    .default(null)
    .describe('Records per request; without it, as many as the service sends'),
  entitySets: OdataSettings.shape.entitySets
    .default({})
    .describe(
      'By the name of an entity set, what replaces its `changedField`, `keyField` and `linesField` in `$metadata`; null: there is none',
    ),
});

const named = {
  name: connectionName.describe(
    'It cannot change. The names of record types of all connections but the first begin with it and a colon',
  ),
};
const ofNetsuite = {
  kind: z.literal('netsuite'),
  settings: NetsuiteSettingsInput,
  secrets: NetsuiteSecretsInput.optional().describe('Of `tba`. Omit to keep the stored ones'),
};
const ofOdata = {
  kind: z.literal('odata'),
  settings: OdataSettingsInput,
  secrets: SignInSecrets.optional().describe(
    'The one of the sign-in: `clientSecret`, `password` or `headerValue`. Omit to keep the stored one',
  ),
};
export const ConnectionInput = z.discriminatedUnion('kind', [
  z.strictObject({ ...named, ...ofNetsuite }).meta({
    title: 'NetSuite',
    description: 'An account of Oracle NetSuite, which the service signs in to with a certificate or tokens.',
  }),
  z.strictObject({ ...named, ...ofOdata }).meta({
    title: 'OData v4',
    description:
      'Business Central, Dynamics 365 Finance, SAP S/4HANA, Acumatica, or another service that speaks OData v4.',
  }),
]);
export type ConnectionInput = z.output<typeof ConnectionInput>;

/** The settings are replaced as a whole. */
export const ConnectionUpdate = z.discriminatedUnion('kind', [
  z.strictObject(ofNetsuite),
  z.strictObject(ofOdata),
]);
export type ConnectionUpdate = z.output<typeof ConnectionUpdate>;

const netsuiteStored = {
  accountId: z.string(),
  baseUrl: z.string().nullable(),
  authentication: z.object({
    method: z.enum(['oauth2', 'tba']),
    clientId: z.string().optional(),
    certificateId: z.string().nullable().optional(),
    consumerKey: z.string().optional(),
    tokenId: z.string().optional(),
  }),
};
const connectionState = {
  hasCredentials: z.boolean(),
  credentialHint: z.string().nullable().describe('The last 4 characters of the stored secret'),
  certificates: z.array(
    z.object({
      slot: z.int(),
      certificateId: z.string().nullable().describe('Null while the certificate waits for its NetSuite id'),
      active: z.boolean().describe('Signs in to NetSuite'),
      certificatePem: z
        .string()
        .describe('To upload in NetSuite, again if need be; NetSuite then shows a new certificate id'),
      notAfter: Instant,
      createdAt: Instant,
    }),
  ),
  status: z
    .enum(['untested', 'connected', 'failed'])
    .describe(
      'Set by the last test, and by runs and metadata refreshes: `failed` when the ERP refuses the credentials, `connected` when it accepts ' +
        'them. A failure of the test because of unreadable record types stays until the next test',
    ),
  lastTestedAt: Instant.nullable(),
  lastError: z.string().nullable().describe('Why `status` is `failed`. A test of the connection names a fix'),
};
export const ErpConnection = z
  .object({ ...netsuiteStored, ...connectionState })
  .meta({ id: 'ErpConnection' });

const connection = {
  name: z.string(),
  recordTypePrefix: z
    .string()
    .describe('What the names of its record types begin with; empty for the first connection'),
  ...connectionState,
};
export const Connection = z
  .discriminatedUnion('kind', [
    z.object({ ...connection, kind: z.literal('netsuite'), settings: z.object(netsuiteStored) }),
    z.object({ ...connection, kind: z.literal('odata'), settings: OdataSettings }),
  ])
  .meta({ id: 'Connection' });
export const ConnectionList = z.object({ data: z.array(Connection) }).meta({ id: 'ConnectionList' });

export const ErpCertificate = z
  .object({
    slot: z.int(),
    certificatePem: z
      .string()
      .describe('Upload this in NetSuite, then set the certificate id that NetSuite shows in the connection'),
    notAfter: Instant,
  })
  .meta({ id: 'ErpCertificate' });

export const ConnectionTest = z
  .object({
    ok: z.boolean().describe('The service can sign in and read the record types of all enabled syncs'),
    partial: z
      .boolean()
      .describe(
        'The service can sign in, but not read the record types of all enabled syncs; `ok` is false then',
      ),
    latencyMs: z.number(),
    account: z.string(),
    problems: z
      .array(
        z.object({
          code: z.string(),
          message: z.string(),
          fix: z.string(),
          recordTypes: z
            .array(z.string())
            .optional()
            .describe(
              'The record types that cannot be read, or not completely; absent when the problem concerns the whole connection',
            ),
        }),
      )
      .describe(
        'When `ok`, record types that the role cannot see and that no enabled sync needs; otherwise also what has to be fixed',
      ),
  })
  .meta({ id: 'ConnectionTest' });

const fieldFacts = {
  name: z.string(),
  label: z.string(),
  type: z.string(),
  syncable: z.boolean(),
  reason: z.string().nullable().describe('Why it cannot be synced; null when it can'),
  target: z
    .string()
    .optional()
    .describe('The record type that a reference names; absent where that is not certain'),
  warning: z
    .string()
    .optional()
    .describe(
      'Why `type` may be wrong, such as one that follows from values alone; absent where it is certain',
    ),
};
const Field = z.object({
  ...fieldFacts,
  custom: z.boolean(),
  volatile: z.boolean().describe("The value changes without the record's modification time"),
  proposed: z
    .string()
    .nullable()
    .describe(
      'Why the field is proposed to be synced, such as `amount`, by its type and its words; null when it is not',
    ),
  loading: z.boolean().describe('Synced, but not yet filled by a complete run'),
  fields: z.array(z.object(fieldFacts)).optional().describe('The fields of a line'),
});

const head = {
  name: z.string(),
  label: z.string(),
  family: z.enum(recordFamilies),
  custom: z.boolean().describe('Defined in this account'),
  table: z
    .string()
    .nullable()
    .describe("The ERP's table that holds it; null until the record type is described"),
  source: z.string().describe('Where it was found'),
  syncable: z
    .boolean()
    .nullable()
    .describe('Null until the record type is described: whether it can be synced is not known yet'),
  reason: z.string().nullable().describe('Why it cannot be synced; null otherwise'),
  fieldCount: z.int().nullable().describe('Null until the record type is described'),
  syncableFieldCount: z.int().nullable().describe('Null until the record type is described'),
  described: z.boolean().describe('Whether its fields have been read. Retrieving the record type reads them'),
  syncConfigId: Id.nullable().describe(
    'The sync configuration that reads it; null without one, and without permission to read those',
  ),
};
const ErpRecordTypeHead = z
  .object({
    ...head,
    records: z
      .int()
      .nullable()
      .optional()
      .describe('Only with `counts=true`: how many records the ERP counts; null where it cannot'),
  })
  .meta({ id: 'ErpRecordTypeHead' });

const shownField = z.string().nullable();
const ErpShownAs = z
  .object({ number: shownField, name: shownField, date: shownField, amount: shownField })
  .meta({ id: 'ErpShownAs' });

const ErpReading = z
  .object({
    curated: z
      .boolean()
      .describe(
        'The service knows the record type by name: its volatile fields, open records and names of deletions',
      ),
    changes: z
      .enum(['modified', 'parent', 'tracked', 'full'])
      .describe(
        "How runs find changes: by modification time, by that of the record that it belongs to, in the ERP's report of changes, or by reading all records each time",
      ),
    deletions: z
      .enum(['listed', 'compared'])
      .describe("How runs find deletions: in the ERP's list as well, or only by comparing ids"),
    notes: z
      .array(z.string())
      .readonly()
      .describe('What a run cannot prove, and how often a full read covers it'),
  })
  .meta({ id: 'ErpReading' });

export const ErpRecordType = z
  .object({
    ...head,
    reading: ErpReading.nullable().describe('Null until an earlier description is replaced'),
    shownAs: ErpShownAs.nullable().describe(
      'The fields by which a person recognizes a record. Null until an earlier description is replaced',
    ),
    fields: z.array(Field),
  })
  .meta({ id: 'ErpRecordType' });

const ErpAccount = z
  .object({
    hasSubsidiaries: z.boolean().nullable(),
    hasCurrencies: z.boolean().nullable(),
    baseCurrency: z.string().nullable().describe('ISO 4217, of the account or of its root subsidiary'),
    accountingBooks: z
      .array(z.object({ id: z.string(), name: z.string(), isPrimary: z.boolean() }))
      .readonly()
      .nullable(),
    utcOffsetMinutes: z
      .int()
      .nullable()
      .describe("Minutes by which the time zone of the account's dates is ahead of UTC"),
  })
  .meta({ id: 'ErpAccount' });

export const ErpMetadata = createPageSchema(ErpRecordTypeHead)
  .extend({
    account: ErpAccount.nullable().describe(
      'What the account as a whole has; a null in it means that this role cannot find out',
    ),
    refreshedAt: Instant.nullable().describe('Null until the record types were listed for the first time'),
    lastError: z
      .string()
      .nullable()
      .describe('Why the last refresh failed; the record types are those of an earlier refresh'),
    notListed: z
      .object({ code: z.enum(['no_connection', 'no_metadata']), message: z.string() })
      .nullable()
      .describe('Why the record types were never listed, and what to do; the list is empty then'),
  })
  .meta({ id: 'ErpMetadata' });

const namePattern = '(?:[a-z][a-z0-9-]{0,19}:)?[A-Za-z][A-Za-z0-9_]{0,62}';
/** With the name of its connection, unless that is the first one. */
export const RecordTypeName = z.string().regex(new RegExp(`^${namePattern}$`), 'must be a record type name');

const namesPattern = `^${namePattern}(,${namePattern}){0,99}$`;
const names = z
  .string()
  .max(100 * 85)
  .regex(new RegExp(namesPattern), 'must be up to 100 names of record types, separated by commas')
  .transform((text) => text.split(','))
  .optional()
  .meta({
    openapi: {
      type: 'string',
      pattern: namesPattern,
      description: 'Only these record types: up to 100 names, separated by commas',
    },
  });

export const MetadataQuery = z.strictObject({
  ...NamedPageQuery.shape,
  names,
  syncable: z.enum(['true', 'false', 'unknown']).optional().describe('`unknown`: not described yet'),
  custom: queryBoolean.optional().describe('Whether the account defines them itself'),
  family: z
    .enum(recordFamilies)
    .optional()
    .describe('`link`: rows between or below other records. `posting`: lines of the general ledger'),
  counts: queryBoolean
    .default(false)
    .describe("Adds the ERP's own number of records to each record type of the page"),
});
export type MetadataQuery = z.output<typeof MetadataQuery>;
