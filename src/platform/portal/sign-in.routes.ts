import { defineRoute, inGroup } from '../../http/route/define.ts';
import { SignIn, SignInInput } from './sign-in.schemas.ts';
import * as service from './sign-in.service.ts';

export const signInRoutes = inGroup('Portal Config', [
  defineRoute('getPortalSignIn', 'GET /portal/sign-in', {
    permission: 'portal:read',
    summary: 'Retrieve the sign-in of the portal',
    description:
      'The OpenID Connect provider at which visitors may sign in besides with a mailed code, and the redirect URIs to register there. The ' +
      'client secret is never returned.',
    response: SignIn,
    handler: (ctx) => service.getSignIn(ctx),
  }),
  defineRoute('putPortalSignIn', 'PUT /portal/sign-in', {
    permission: 'portal:update',
    summary: 'Replace the sign-in of the portal',
    description:
      'Visitors then see a button for the provider. Its e-mail address must be verified there, and decides as one that was proven with a ' +
      'mailed code does. The metadata of the issuer are read at once; 422 `not_an_issuer` when they can not be.',
    body: SignInInput,
    example: {
      openIdConnect: {
        issuer: 'https://login.acme.example',
        clientId: 'portal',
        clientSecret: 'the secret from the provider',
        label: 'Acme',
      },
    },
    response: SignIn,
    handler: (ctx, { body }) => service.putSignIn(ctx, body),
  }),
]);
