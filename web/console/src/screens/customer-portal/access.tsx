// Whom the portal knows and what it shows: one form, which also switches the portal on and off.
import { useEffect, useRef } from 'preact/hooks';
import { ApiError } from '../../api.ts';
import { StateLead, Unread } from '../../parts/detail.tsx';
import { useAction } from '../../parts/dialog.tsx';
import { Form } from '../../parts/form.tsx';
import { Facts } from '../../parts/list.tsx';
import { NewerRevision, useRevised } from '../../parts/newer-revision.tsx';
import { Page } from '../../parts/page.tsx';
import { ConfirmButton } from '../../parts/record-form.tsx';
import { invalidate } from '../../query.ts';
import { base, query } from '../../router.ts';
import { may } from '../../session.ts';
import { portalStates } from '../../states.ts';
import '../../styles/customer-portal.css';
import { Asking, SignIn, Statements, What, Whom } from './access-parts.tsx';
import { type Access as AccessData, accessPath, useAccess } from './data.ts';
import { Preparation } from './preparation.tsx';
import { ProviderSection } from './provider.tsx';
import { listPaths, sendSettings, toSettings } from './settings.ts';

/** What is no longer synced, as if saving had been refused for it. */
const toError = ({ problems }: AccessData): ApiError | undefined =>
  problems.length === 0
    ? undefined
    : new ApiError(422, { message: 'Parts of the settings are no longer synced.', details: problems });

const DisableButton = ({ access }: { access: AccessData }) => (
  <ConfirmButton
    label="Switch off"
    kind="danger"
    title="Switch the portal off"
    run={async () => {
      await sendSettings(toSettings(access), false, access.revision);
      await invalidate(accessPath);
    }}
  >
    Visitors are signed out and find nothing at its address. The settings stay.
  </ConfirmButton>
);

function AccessForm({ access }: { access: AccessData }) {
  const read = { value: toSettings(access), revision: access.revision };
  const revised = useRevised(read, () => invalidate(accessPath));
  const enabled = useRef(true);
  const sendAs = (settings: typeof read.value, revision: number) =>
    sendSettings(settings, enabled.current, revision);
  const action = useAction(() => revised.save(sendAs));
  const submit = (isEnabled: boolean): void => {
    enabled.current = isEnabled;
    action.submit();
  };
  const error = action.error ?? (revised.isChanged ? undefined : toError(access));
  const part = { settings: revised.value, error, onChange: revised.change };
  return (
    <Form
      action={{ ...action, error, submit: () => submit(true) }}
      label={access.enabled ? 'Save' : 'Enable the portal'}
      paths={listPaths(revised.value)}
      secondary={
        <>
          {access.enabled ? (
            <DisableButton access={access} />
          ) : (
            <button type="button" disabled={action.busy} onClick={() => submit(false)}>
              Save without enabling
            </button>
          )}
          <span role="status" class="saved">
            {revised.isSaved ? 'Saved' : ''}
          </span>
        </>
      }
    >
      {access.revision === 0 && (
        <p class="note">This is proposed from what is synced. Nothing is saved yet.</p>
      )}
      <Whom {...part} />
      <What {...part} />
      <Statements {...part} />
      <Asking {...part} />
      <SignIn {...part} />
      <NewerRevision
        newer={revised.newer}
        mine={revised.revision}
        discard={revised.discard}
        replace={() => void revised.save(sendAs, access.revision)}
      />
      <Preparation access={access} />
      {access.status === 'on' && (
        <p class="note good">
          The portal is on. <a href={`${base}/portal`}>See it as a customer</a>
        </p>
      )}
    </Form>
  );
}

/** For people who may not change them. */
const Summary = ({ access: { people, records } }: { access: AccessData }) => (
  <Facts
    facts={[
      ['Addresses', people.map(({ recordType, emailField }) => `${recordType}.${emailField}`).join(', ')],
      ['Records', records.map(({ recordType }) => recordType).join(', ')],
    ]}
  />
);

const title = 'Whom it knows and what it shows';
const above = [{ to: `${base}/portal`, title: 'Portal' }];

/** The screen of the settings. */
export function Access() {
  const read = useAccess();
  const isRead = read.data !== undefined;
  const part = query.value.get('part');
  useEffect(() => {
    if (isRead && part !== null) document.getElementById(part)?.scrollIntoView();
  }, [isRead, part]);
  if (read.data === undefined) return <Unread read={read} title={title} above={above} />;
  const { status, revision } = read.data;
  return (
    <Page
      title={title}
      above={above}
      lead={
        <StateLead state={portalStates[status]}>
          {revision === 0 ? 'A proposal' : `Revision ${revision}`}
        </StateLead>
      }
    >
      {may('portal:update') ? <AccessForm access={read.data} /> : <Summary access={read.data} />}
      <ProviderSection />
    </Page>
  );
}
