// Request and response schemas of the ERP connection and its metadata. Secrets are write-only.
import { z } from 'zod';
import { Instant, shortText } from '../../http/fields.ts';
import { pageOf } from '../../http/page.ts';

const secret = z.string().min(1).max(500).describe('Write-only');
const named = shortText(200);

export const ErpConnectionInput = z.strictObject({
  accountId: z
    .string()
    .max(40)
    .regex(/^[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)?$/, 'must look like 1234567 or 1234567_SB1'),
  baseUrl: z
    .string()
    .max(300)
    .nullable()
    .default(null)
    .describe('Only for an account without its own *.suitetalk.api.netsuite.com address; the operator must allow the host'),
  authentication: z.discriminatedUnion('method', [
    z.strictObject({
      method: z.literal('oauth2'),
      clientId: named,
      certificateId: named
        .nullable()
        .default(null)
        .describe('The id that NetSuite assigns to the uploaded certificate. Null or omitted: the active certificate keeps its id'),
      certificateSlot: z
        .int()
        .min(1)
        .max(2)
        .optional()
        .describe(
          'The slot of the certificate that NetSuite shows under this id. Needed only to give a new id to another certificate than the one ' +
            'that waits for an id or, when none waits, the active one',
        ),
    }),
    z.strictObject({
      method: z.literal('tba'),
      consumerKey: named,
      tokenId: named,
      consumerSecret: secret.optional().describe('Omit to keep the stored secret'),
      tokenSecret: secret.optional().describe('Omit to keep the stored secret'),
    }),
  ]),
});
export type ErpConnectionInput = z.output<typeof ErpConnectionInput>;

export const ErpConnection = z
  .object({
    accountId: z.string(),
    baseUrl: z.string().nullable(),
    authentication: z.object({
      method: z.enum(['oauth2', 'tba']),
      clientId: z.string().optional(),
      certificateId: z.string().nullable().optional(),
      consumerKey: z.string().optional(),
      tokenId: z.string().optional(),
    }),
    hasCredentials: z.boolean(),
    credentialHint: z.string().nullable().describe('The last 4 characters of the stored secret'),
    certificates: z.array(
      z.object({
        slot: z.int(),
        certificateId: z.string().nullable().describe('Null while the certificate waits for its NetSuite id'),
        active: z.boolean().describe('Signs in to NetSuite'),
        certificatePem: z.string().describe('To upload in NetSuite, again if need be; NetSuite then shows a new certificate id'),
        notAfter: Instant,
        createdAt: Instant,
      }),
    ),
    status: z
      .enum(['untested', 'connected', 'failed'])
      .describe(
        'Set by the last test, and by runs and metadata refreshes: `failed` when NetSuite refuses the credentials, `connected` when it accepts ' +
          'them. A failure of the test because of unreadable record types stays until the next test',
      ),
    lastTestedAt: Instant.nullable(),
    lastError: z.string().nullable().describe('Why `status` is `failed`. POST /netsuite/connection/test names a fix'),
  })
  .meta({ id: 'ErpConnection' });

export const ErpCertificate = z
  .object({
    slot: z.int(),
    certificatePem: z.string().describe('Upload this in NetSuite, then set the certificate id that NetSuite shows in the connection'),
    notAfter: Instant,
  })
  .meta({ id: 'ErpCertificate' });

export const ConnectionTest = z
  .object({
    ok: z.boolean().describe('The service can sign in and read the record types of all enabled syncs'),
    partial: z.boolean().describe('The service can sign in, but not read the record types of all enabled syncs; `ok` is false then'),
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
            .describe('The record types that cannot be read, or not completely; absent when the problem concerns the whole connection'),
        }),
      )
      .describe('When `ok`, record types that the role cannot see and that no enabled sync needs; otherwise also what has to be fixed'),
  })
  .meta({ id: 'ConnectionTest' });

const Field = z.object({
  name: z.string(),
  label: z.string(),
  type: z.string(),
  custom: z.boolean(),
  syncable: z.boolean(),
  volatile: z.boolean(),
  reason: z.string().nullable(),
  target: z.string().optional().describe('The record type that a reference names; absent where that is not certain'),
  loading: z.boolean().describe('Synced, but not yet filled by a complete run'),
  fields: z
    .array(z.object({ name: z.string(), label: z.string(), type: z.string(), syncable: z.boolean(), reason: z.string().nullable() }))
    .optional()
    .describe('The fields of a line'),
});
const RecordTypeHead = z.object({
  name: z.string(),
  label: z.string(),
  table: z.string(),
  source: z.string(),
  fieldCount: z.int(),
  syncableFieldCount: z.int(),
});

export const ErpRecordType = z
  .object({
    name: z.string(),
    label: z.string(),
    table: z.string(),
    source: z.string(),
    fields: z.array(Field),
  })
  .meta({ id: 'ErpRecordType' });
export const ErpMetadata = pageOf(RecordTypeHead)
  .extend({
    refreshedAt: Instant,
    lastError: z.string().nullable().describe('Why the last refresh failed; the record types are those of an earlier refresh'),
  })
  .meta({ id: 'ErpMetadata' });
