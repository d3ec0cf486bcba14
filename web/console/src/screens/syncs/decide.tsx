// Approves or rejects held deletions. The revision that the person looked at goes along: the service refuses
// when the list has changed since.
import { useState } from 'preact/hooks';
import { type Answer, api } from '../../api.ts';
import { formatCount, formatNumber } from '../../format.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { Field } from '../../parts/form.tsx';
import { OpenButton } from '../../parts/record-form.tsx';
import { invalidate } from '../../query.ts';
import { showRun } from './actions.tsx';

export type ProposalDetail = Answer<'/sync-configs/{id}/deletion-proposals/{proposalId}'>;
type Props = { syncId: string; proposal: ProposalDetail };

/** `ids` null: all records of the proposal. */
function Approve({
  syncId,
  proposal,
  ids,
  onClose,
}: Props & { ids: readonly string[] | null; onClose: () => void }) {
  const { id: proposalId, revision, count, recordType, records, evidence } = proposal;
  const approved = ids?.length ?? count;
  const referenced = records.filter(
    ({ id, referencedBy }) => referencedBy.length > 0 && ids?.includes(id) !== false,
  ).length;
  const approve = async (): Promise<void> => {
    const body = { proposalId, revision, ...(ids !== null && { ids: [...ids] }) };
    showRun(
      await api.POST('/sync-configs/{id}/approve-deletions', { params: { path: { id: syncId } }, body }),
    );
  };
  return (
    <Confirm
      title={`Delete ${formatCount(approved, 'record')}`}
      action={`Approve ${formatCount(approved, 'deletion')}`}
      danger
      run={approve}
      onClose={onClose}
    >
      <p>
        A run starts now. It looks up each of these records in the ERP once more and deletes those that are
        still absent
        {evidence.rows !== null && `, out of ${formatNumber(evidence.rows)} stored ${recordType} records`}.
        What is deleted is gone for all callers, and comes back only if the ERP returns it again.
      </p>
      {referenced > 0 && (
        <p>
          Other stored records refer to {formatNumber(referenced)} of the records shown. These references then
          lead nowhere.
        </p>
      )}
      {approved < count && (
        <p>The other {formatCount(count - approved, 'record')} stay and keep waiting for a decision.</p>
      )}
    </Confirm>
  );
}

function Reject({
  syncId,
  proposal: { id: proposalId, revision, count },
  onClose,
}: Props & { onClose: () => void }) {
  const [reason, setReason] = useState('');
  const reject = async (): Promise<void> => {
    await api.POST('/sync-configs/{id}/deletion-proposals/{proposalId}/reject', {
      params: { path: { id: syncId, proposalId } },
      body: { revision, ...(reason !== '' && { reason }) },
    });
    await invalidate('/sync-configs');
  };
  return (
    <Confirm
      title={`Keep ${formatCount(count, 'record')}`}
      action={`Reject ${formatCount(count, 'deletion')}`}
      run={reject}
      onClose={onClose}
    >
      <p>
        Nothing is deleted. While absent in the ERP, the records are served as before, are not proposed again,
        and no longer make runs partial. What the ERP later lists as deleted is deleted.
      </p>
      <Field label="Reason" value={reason} onChange={setReason} hint="For the audit log." />
    </Confirm>
  );
}

/** Buttons for the records that are selected, or for all of them when none is. */
export function Decide({ syncId, proposal, chosen }: Props & { chosen: readonly string[] }) {
  const { count, status } = proposal;
  const isPart = chosen.length > 0 && chosen.length < count;
  const shared = { syncId, proposal };
  return (
    <div class="decide">
      <p class="muted" role="status">
        {chosen.length === 0
          ? 'None selected: a decision applies to all.'
          : `${formatNumber(chosen.length)} of ${formatCount(count, 'record')} selected.`}
      </p>
      <div class="actions">
        <OpenButton
          kind="danger"
          label={
            isPart
              ? `Approve ${formatNumber(chosen.length)} selected…`
              : `Approve all ${formatNumber(count)}…`
          }
        >
          {(close) => <Approve {...shared} ids={isPart ? chosen : null} onClose={close} />}
        </OpenButton>
        {status === 'open' && !isPart && (
          <OpenButton label={`Reject all ${formatNumber(count)}…`}>
            {(close) => <Reject {...shared} onClose={close} />}
          </OpenButton>
        )}
      </div>
      {isPart && status === 'open' && (
        <p class="fine">To keep the rest, approve the selected records, then reject what is left.</p>
      )}
    </div>
  );
}
