import { TabbedContent } from '../../parts/list.tsx';
import { Page } from '../../parts/page.tsx';
import { base } from '../../router.ts';
import { may } from '../../session.ts';
import { Invitations, InviteButton } from './invitations.tsx';
import { Members } from './members.tsx';
import { OrganizationSettings, Sessions } from './organization.tsx';

/**
 * Who works in the organization and what they may do, the organization itself, and the person's own sessions.
 */
export const People = () => (
  <Page
    title="People"
    lead="Who works in this organization, and what they may do."
    actions={
      <>
        {may('role:read') && (
          <a class="button" href={`${base}/people/roles`}>
            Roles
          </a>
        )}
        {may('invitation:create') && <InviteButton />}
      </>
    }
  >
    <TabbedContent
      label="People"
      tabs={[
        ['', 'Members', Members, 'member:read'],
        ['invitations', 'Invitations', Invitations, 'invitation:read'],
        ['organization', 'Organization', OrganizationSettings, 'organization:read'],
        ['sessions', 'Sessions', Sessions],
      ]}
    />
  </Page>
);
