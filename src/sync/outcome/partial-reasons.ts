// Why a published run is partial, the most severe reason first. Pure.
import type { StalePlan } from '../../warehouse/record-state.ts';
import type { PublishOutcome } from '../../warehouse/run-state-row.ts';
import type { Health } from '../alerts/alert-mail.ts';
import type { RunError } from '../queue/retry.ts';

const formatFields = (fields: readonly (readonly [string, unknown])[]): string =>
  `${fields.length === 1 ? 'The field' : 'The fields'} ${fields.map(([name]) => name).join(', ')}`;
const describeReasons = (fields: readonly (readonly [string, StalePlan[string]])[]): string =>
  [...new Set(fields.map(([, { message }]) => message))].join('; ');

function staleErrors(stale: StalePlan): RunError[] {
  const fields = Object.entries(stale);
  const unreadable = fields.filter(([, { reason }]) => reason === 'unreadable');
  const empty = fields.filter(([, { reason }]) => reason === 'empty');
  return [
    ...(unreadable.length === 0
      ? []
      : [
          {
            code: 'FIELDS_UNREADABLE',
            message: `${formatFields(unreadable)} can't be read; the last values stay, and new records have none. ${describeReasons(unreadable)}`,
            fix: `Give the integration role access to the field, or to the table that holds it; the next run then updates all records. If it is gone for good, accept that the field is missing.`,
          },
        ]),
    ...(empty.length === 0
      ? []
      : [
          {
            code: 'FIELDS_EMPTY',
            message: `${formatFields(empty)} came empty; the last values stay, and new records have none. ${describeReasons(empty)}`,
            fix: `Check in the ERP whether the field is meant to be empty or is hidden from the integration role. If it is meant to be empty, accept that the field is missing.`,
          },
        ]),
  ];
}

const heldError = (held: number, proposalId: string | null): RunError => ({
  code: 'DELETIONS_HELD',
  message: `${held} records are absent in the ERP; they are kept until their deletion is approved`,
  fix: 'Check in the ERP whether they were deleted or are hidden from the integration role. The deletion proposal of the sync shows them: approve what was deleted, and reject the rest.',
  ...(proposalId !== null && { proposalId }),
});
const rejectedError = (count: number): RunError => ({
  code: 'RECORDS_REJECTED',
  message: `${count} records could not be stored; their last good version stays available`,
  fix: "See the run's rejections for the reasons, and correct the records in the ERP. Every run reads them again; a record without a usable id waits for a full run.",
});

const withoutPeriod = (text: string): string => text.replace(/\.$/, '');

/**
 * One error with the code of the most severe reason, and the messages and fixes of all of them. Null when the
 * run succeeded.
 */
export function findPartialReason({
  stale = {},
  heldDeletions,
  proposalId,
  counts,
}: PublishOutcome): RunError | null {
  const all = [
    ...staleErrors(stale),
    ...(heldDeletions > 0 ? [heldError(heldDeletions, proposalId ?? null)] : []),
    ...(counts.rejected > 0 ? [rejectedError(counts.rejected)] : []),
  ];
  const [first] = all;
  if (first === undefined) return null;
  const held = all.find((reason) => reason.proposalId !== undefined);
  return {
    ...first,
    ...held,
    code: first.code,
    message: all.map(({ message }) => withoutPeriod(message)).join('. '),
    fix: all.map(({ fix }) => fix).join(' '),
  };
}

/** The health of the sync after a published run. */
export function healthAfter({ status, stale = {}, heldDeletions }: PublishOutcome): Health {
  if (status === 'succeeded') return 'green';
  const isHeld = heldDeletions > 0;
  if (Object.keys(stale).length > 0) return isHeld ? 'stale-held' : 'stale';
  return isHeld ? 'held' : 'failing';
}
