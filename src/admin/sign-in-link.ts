// Prints a link that signs an owner in once, for a service on one's own machine without an identity provider.
import { z } from 'zod';
import { allowsSignInLinks, createOwnerLink, linkMinutes } from '../identity/sign-in-link.ts';
import { defineCommand, option, RefusedCommand } from './command.ts';
import { auditOperatorIn, getNamedOrganization, listAllOrganizations } from './operator.ts';

type OwnerLink = { readonly email: string; readonly link: string };

export const describeLink = ({ email, link }: OwnerLink): string =>
  `To sign in as ${email}, start the service and open this link within ${linkMinutes} minutes:\n${link}`;

export const signInLinkCommand = defineCommand({
  name: 'sign-in-link',
  summary: `Prints a link that signs an owner in to the console, once, within ${linkMinutes} minutes.`,
  about:
    'Only outside production, while HOST and PUBLIC_URL are on this machine and no identity provider is set. The owner is the one who has been longest in the organization.',
  input: z.strictObject({
    organization: option(
      z.string().min(1).optional(),
      'slug or id',
      'the organization; by default the oldest one',
    ),
  }),
  async run({ ctx, owner }, { organization }) {
    if (!allowsSignInLinks(ctx.settings))
      throw new RefusedCommand(
        'Sign-in links are only for a service on this machine without an identity provider: OIDC_ISSUER must be empty, HOST and PUBLIC_URL loopback addresses, and NODE_ENV not production.',
      );
    const { id } =
      organization === undefined
        ? ((await listAllOrganizations({ owner }))[0] ?? { id: undefined })
        : await getNamedOrganization({ owner }, organization);
    const link = id === undefined ? undefined : await createOwnerLink(ctx, id);
    if (id === undefined || link === undefined)
      throw new RefusedCommand(
        'There is no owner. Create an organization with the command `create-organization`.',
      );
    await auditOperatorIn({ ctx }, id, 'sign-in-link.create', ['organization', id], { email: link.email });
    return { json: { email: link.email, signInLink: link.link }, text: describeLink(link) };
  },
});
