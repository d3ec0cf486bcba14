// How the portal looks: the company's name, colour and logo, and whom visitors can ask.
import { z } from 'zod';
import { Email, Instant, shortText } from '../../http/fields.ts';
import { maxLogoBytes } from './logo.ts';
import { HttpsUrl } from './targets.ts';

const maxLegalLinks = 6;
const maxBase64Length = Math.ceil(maxLogoBytes / 3) * 4;

/** Text of several lines. */
const lines = (most: number, characters: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(characters)
    .refine((text) => text.split('\n').length <= most, `must have at most ${most} lines`)
    .nullable();
const LegalLink = z.strictObject({ label: shortText(60), url: HttpsUrl });
const name = shortText(120)
  .nullable()
  .describe("The company's name on pages and in mails; null: the name of the organization");
const senderName = shortText(120)
  .nullable()
  .describe('The name from which visitors get mails; null: the name of the company');
const postalAddress = lines(8, 400).describe(
  'Up to eight lines below the name of the company on documents; null: none',
);
const documentNote = lines(12, 1_000).describe(
  'Below the totals of documents, such as bank details; null: nothing',
);
const accent = z
  .string()
  .regex(/^#[0-9a-f]{6}$/i, 'must be a colour such as #1d5fd1')
  .transform((text) => text.toLowerCase())
  .nullable()
  .meta({
    openapi: { type: 'string', pattern: '^#[0-9a-fA-F]{6}$', nullable: true },
    description:
      'The colour of links and buttons; null: that of the service. Its contrast with white must be at least 4.5',
    example: '#0b6e4f',
  });

export const BrandingInput = z.strictObject({
  name: name.default(null),
  accent: accent.default(null),
  supportAddress: Email.nullable().default(null).describe('Where visitors can ask; null: nowhere'),
  legalLinks: z
    .array(LegalLink)
    .max(maxLegalLinks)
    .default([])
    .describe('Below each page, such as an imprint and the terms'),
  senderName: senderName.default(null),
  postalAddress: postalAddress.default(null),
  documentNote: documentNote.default(null),
  logo: z
    .string()
    .max(maxBase64Length, `must be a file of at most ${maxLogoBytes} bytes`)
    .regex(/^[A-Za-z0-9+/]+={0,2}$/, 'must be base64')
    .refine((text) => text.length % 4 === 0, 'must be base64')
    .min(1)
    .nullable()
    .optional()
    .describe(
      'A PNG, WebP or SVG file in base64, at most 256 kB; null removes the logo, and absent keeps it',
    ),
  revision: z.int().min(0).optional().describe('Rejects the update unless this is the current revision'),
});

const Logo = z
  .object({
    contentType: z.enum(['image/png', 'image/webp', 'image/svg+xml']),
    bytes: z.int().describe('Its size as the portal serves it'),
    width: z.int().nullable().describe('In pixels; null where the file names none'),
    height: z.int().nullable(),
  })
  .meta({ id: 'PortalLogo' });

export const Branding = z
  .object({
    name,
    accent: z.string().nullable(),
    supportAddress: z.string().nullable(),
    legalLinks: z.array(z.object({ label: z.string(), url: z.string() })),
    senderName,
    postalAddress,
    documentNote,
    logo: Logo.nullable(),
    revision: z.int().describe('0 until branding is stored'),
    updatedAt: Instant.nullable(),
  })
  .meta({ id: 'PortalBranding' });

export type BrandingInput = z.output<typeof BrandingInput>;
/** As it is stored. */
export type BrandingSettings = Pick<
  BrandingInput,
  'name' | 'accent' | 'supportAddress' | 'legalLinks' | 'senderName' | 'postalAddress' | 'documentNote'
>;
