// Invites visitors by mail: one address, or all customers of a view. What will be sent is counted first.
import { useState } from 'preact/hooks';
import { type Answer, api } from '../../api.ts';
import { formatCount, formatNumber } from '../../format.ts';
import { useAction } from '../../parts/dialog.tsx';
import { findProblem } from '../../parts/field-problems.ts';
import { Check, Field, Form, Select } from '../../parts/form.tsx';
import { Facts } from '../../parts/list.tsx';
import { ActionButton, DialogButton } from '../../parts/record-form.tsx';
import { invalidate, useGet } from '../../query.ts';
import { may } from '../../session.ts';

type Counts = Answer<'/portal/invitations', 'post'>;

type Wanted = { readonly viewId: string; readonly email: string; readonly again: boolean };

async function invite({ viewId, email, again }: Wanted, dryRun: boolean): Promise<Counts> {
  const whom = viewId === '' ? { email } : { viewId };
  return (await api.POST('/portal/invitations', { body: { ...whom, again, dryRun } })).data as Counts;
}

const CountedFacts = ({ counts }: { counts: Counts }) => (
  <Facts
    facts={[
      ['Customers', formatNumber(counts.customers)],
      ['Without an address', formatNumber(counts.withoutAddress)],
      ['Addresses', formatNumber(counts.addresses)],
      ['Signed in before', formatNumber(counts.alreadySignedIn)],
      ['Blocked', formatNumber(counts.blocked)],
      ['Left for later', counts.skipped > 0 && formatNumber(counts.skipped)],
    ]}
  />
);

/** What was counted, and the button that sends that. */
function Counted({ counts, send }: { counts: Counts; send: () => Promise<void> }) {
  const mails = formatCount(counts.invited, 'mail');
  if (!counts.dryRun)
    return (
      <p class="note good">
        {mails} {counts.invited === 1 ? 'is' : 'are'} on the way.
        {counts.skipped > 0 &&
          ` ${formatCount(counts.skipped, 'address', 'addresses')} were left out: invite again later.`}
      </p>
    );
  return (
    <>
      <CountedFacts counts={counts} />
      {counts.invited === 0 ? (
        <p class="note">No one would be invited.</p>
      ) : (
        <div>
          <ActionButton label={`Send ${mails}`} busyLabel="Sending…" kind="primary" run={send} />
        </div>
      )}
    </>
  );
}

function Invite() {
  const views = useGet(may('view:read') ? '/views' : null, {
    query: { pageSize: 100, visibility: 'organization' },
  });
  const [wanted, setWanted] = useState<Wanted>({ viewId: '', email: '', again: false });
  const [counts, setCounts] = useState<Counts>();
  const change = (part: Partial<Wanted>): void => {
    setCounts(undefined);
    setWanted({ ...wanted, ...part });
  };
  const action = useAction(async () => setCounts(await invite(wanted, true)));
  const send = async (): Promise<void> => {
    setCounts(await invite(wanted, false));
    await invalidate('/portal/visitors');
  };
  const named = views.data?.data.map(({ id, name }) => [id, `Customers of the view ${name}`] as const) ?? [];
  return (
    <div class="stack">
      <Form action={action} label="Count" paths={['email', 'viewId']}>
        <Select
          label="Whom"
          value={wanted.viewId}
          onChange={(viewId) => change({ viewId })}
          options={[['', 'One address'], ...named]}
          hint="A view of customers, of their contacts, or of records that name their customer."
          problem={findProblem(action.error, 'viewId')}
        />
        {wanted.viewId === '' && (
          <Field
            label="Address"
            type="email"
            required
            value={wanted.email}
            onChange={(email) => change({ email })}
            problem={findProblem(action.error, 'email')}
          />
        )}
        <Check
          label="Again"
          hint="Also those who signed in before, or were invited less than 24 hours ago."
          checked={wanted.again}
          onChange={(again) => change({ again })}
        />
      </Form>
      <div class="stack" role="status">
        {counts !== undefined && <Counted counts={counts} send={send} />}
      </div>
    </div>
  );
}

export const InviteButton = () => (
  <DialogButton label="Invite" kind="primary" title="Invite visitors">
    {() => <Invite />}
  </DialogButton>
);
