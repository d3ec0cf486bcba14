// Why a run isn't green, and what mends it: one entry for each reason, with the buttons and links that do it.
import type { ComponentChildren } from 'preact';
import { formatCount } from '../../format.ts';
import { TextWithTimes, Time } from '../../parts/time.tsx';
import { base } from '../../router.ts';
import { may } from '../../session.ts';
import { AcceptButton } from './accept-fields.tsx';
import { TriggerButton } from './actions.tsx';
import { Affected } from './affected.tsx';
import type { Run, SyncConfig } from './words.ts';

/** Codes of problems that the screen of the connection mends. */
const connectionCodes =
  /^(NO_C|CERTIFICATE_|CLIENT_UNKNOWN|INVALID_LOGIN|PRIVATE_KEY_|ACCOUNT_UNKNOWN|HOST_|TLS_)/;
/** Of runs that published all but what is named; what is left of it has reasons of its own. */
const partialCodes = /^(FIELDS_|DELETIONS_HELD|RECORDS_REJECTED)/;

const Reason = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <li class="reason">
    <h3>
      <TextWithTimes text={title} />
    </h3>
    {children}
  </li>
);

/** Fields that are not updated. */
const StaleReason = ({ sync }: { sync: SyncConfig }) => (
  <Reason title={`${formatCount(sync.staleFields.length, 'field')} can't be read`}>
    <ul class="bullets">
      {sync.staleFields.map(({ field, since, message }) => (
        <li key={field}>
          <code>{field}</code>: <TextWithTimes text={message.replace(/\.+$/, '')} />. Not updated since{' '}
          <Time at={since} />.
        </li>
      ))}
    </ul>
    <p>
      The last values stay, and new records have none. Let the role of the connection see the field in the ERP
      again, then run: all records are updated. If the field is gone for good, accept that.
    </p>
    <div class="actions">
      {may('sync:create') && <TriggerButton sync={sync} label="Access is given: run now" />}
      <AcceptButton sync={sync} />
    </div>
  </Reason>
);

const ProposalLink = ({ syncId, id }: { syncId: string; id: string }) => (
  <div class="actions">
    <a class="button" href={`${base}/syncs/${syncId}/deletions/${id}`}>
      Look at the records
    </a>
  </div>
);

type Held = NonNullable<SyncConfig['heldDeletions']>;

const HeldReason = ({ syncId, held: { proposalId, count } }: { syncId: string; held: Held }) => (
  <Reason
    title={
      count === null
        ? 'Deletions are held'
        : `${formatCount(count, 'deletion')} ${count === 1 ? 'is' : 'are'} held`
    }
  >
    <p>
      These records are absent in the ERP: they were deleted, or are hidden from the role of the connection.
      They stay until a person approves or rejects their deletion.
    </p>
    <ProposalLink syncId={syncId} id={proposalId} />
  </Reason>
);

/** A problem in the service's own words. */
function PlainReason({
  syncId,
  error: { code, message, fix, proposalId },
}: {
  syncId: string;
  error: NonNullable<Run['error']>;
}) {
  const isConnection = connectionCodes.test(code);
  return (
    <Reason title={message}>
      {isConnection && <p>Once a test of the connection succeeds, paused syncs continue by themselves.</p>}
      <p>
        <TextWithTimes text={fix} />
      </p>
      <p class="fine">
        Code <code>{code}</code>
      </p>
      {isConnection && (
        <div class="actions">
          <a class="button" href={`${base}/connection`}>
            Open the connections
          </a>
        </div>
      )}
      {proposalId !== undefined && <ProposalLink syncId={syncId} id={proposalId} />}
    </Reason>
  );
}

/** The reasons that hold for the sync now, and those of its last run. */
export function Reasons({ sync, run }: { sync: SyncConfig; run: Run | null }) {
  const { id, pausedReason, heldDeletions, staleFields } = sync;
  const rejected = run?.counts?.rejected ?? 0;
  const isLeft = staleFields.length + rejected > 0 || heldDeletions !== null;
  const error = run?.error ?? null;
  const isPartial = error !== null && partialCodes.test(error.code);
  const plain = pausedReason ?? (isPartial ? null : error);
  return (
    <ul class="reasons">
      {plain !== null && <PlainReason syncId={id} error={plain} />}
      {isPartial && !isLeft && (
        <Reason title={error.message}>
          <p>
            This was decided or mended after the run. The next run is green unless it finds something else.
          </p>
          <div class="actions">{may('sync:create') && <TriggerButton sync={sync} label="Run now" />}</div>
        </Reason>
      )}
      {staleFields.length > 0 && <StaleReason sync={sync} />}
      {heldDeletions !== null && <HeldReason syncId={id} held={heldDeletions} />}
      {rejected > 0 && (
        <Reason title={`${formatCount(rejected, 'record')} could not be stored`}>
          <p>
            The last good version stays available. Correct what the reasons name in the ERP; every run reads
            such records again.
          </p>
          <p>
            <a href={`${base}/syncs/${id}?show=rejected`}>See the rejected records</a>
          </p>
        </Reason>
      )}
      {(plain !== null || isLeft) && (
        <Affected syncId={id} whole={plain !== null || rejected > 0 || heldDeletions !== null} />
      )}
    </ul>
  );
}

/** What isn't green, with its reasons as `children`. */
export const Why = ({
  title,
  failed,
  children,
}: {
  title: string;
  failed: boolean;
  children: ComponentChildren;
}) => (
  <section class={`why ${failed ? 'failed' : ''}`} aria-label={title}>
    <h2>{title}</h2>
    {children}
  </section>
);

const unpublished = 'Nothing of this run was published. Callers keep getting the data of the run before.';
const published: Readonly<Partial<Record<Run['status'], string>>> = {
  partial: 'Everything was published, except what is named here.',
  failed: unpublished,
  cancelled: `The run was cancelled. ${unpublished}`,
  waiting: 'The run waits, and continues by itself from where it is.',
};

const titles: Readonly<Partial<Record<Run['status'], string>>> = {
  waiting: 'What the run waits for',
  cancelled: 'Cancelled',
};

/**
 * Says why this run isn't green, with a link to what came after. Without a sync only what the run itself
 * knows.
 */
export function WhyNotGreen({ run, sync }: { run: Run; sync: SyncConfig | undefined }) {
  const { status, error, syncConfigId } = run;
  const newest = sync?.lastRun ?? null;
  const isNewest = newest?.id === run.id;
  return (
    <Why title={titles[status] ?? "Why it isn't green"} failed={status === 'failed'}>
      <p>{published[status]}</p>
      {sync !== undefined && isNewest ? (
        <Reasons sync={sync} run={run} />
      ) : (
        error !== null && (
          <ul class="reasons">
            <PlainReason syncId={syncConfigId} error={error} />
          </ul>
        )
      )}
      {newest !== null && !isNewest && (
        <p>
          <a href={`${base}/runs/${newest.id}`}>A later run</a>{' '}
          {newest.status === 'succeeded' ? 'succeeded: this is mended.' : `is ${newest.status}.`}
        </p>
      )}
    </Why>
  );
}
