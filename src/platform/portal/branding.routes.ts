import { defineRoute, inGroup } from '../../http/route/define.ts';
import { Branding, BrandingInput } from './branding.schemas.ts';
import * as service from './branding.service.ts';

export const brandingRoutes = inGroup('Portal Config', [
  defineRoute('getPortalBranding', 'GET /portal/branding', {
    permission: 'portal:read',
    summary: 'Retrieve the branding of the portal',
    description: "The company's name, colour, logo and links on the pages of the portal and in its mails.",
    response: Branding,
    handler: (ctx) => service.getBranding(ctx),
  }),
  defineRoute('putPortalBranding', 'PUT /portal/branding', {
    permission: 'portal:update',
    summary: 'Replace the branding of the portal',
    description:
      'Fields that are left out get their default, but for `logo`, which is kept. The contrast of `accent` with white must be at least ' +
      '4.5; 422 `low_contrast` names the nearest colour that has it, and pages in dark mode use a lighter shade. A logo is read and ' +
      'written again: metadata, scripts, events and addresses outside of the file are left out. 422 `unreadable_logo` says why a file is ' +
      'no logo. With `revision`, the update is rejected if the branding has changed since.',
    body: BrandingInput,
    example: {
      name: 'Acme',
      accent: '#0b6e4f',
      supportAddress: 'accounts@acme.example',
      legalLinks: [{ label: 'Terms', url: 'https://acme.example/terms' }],
      senderName: 'Acme accounts',
      revision: 0,
    },
    response: Branding,
    handler: (ctx, { body }) => service.putBranding(ctx, body),
  }),
]);
