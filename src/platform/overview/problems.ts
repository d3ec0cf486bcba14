// What is wrong, in words and numbers, and what to do about it: the worst first. Pure.
import { instantOrNull } from '../../http/fields.ts';
import { type ConnectionName, connectionOf } from '../../sync/index.ts';
import type { Overview, OverviewProblem, SyncOverview, VersionOverview } from './overview.schemas.ts';
import { problemKinds } from './overview.schemas.ts';
import type { DomainRow, KeysRow, PaymentsRow, SyncRow, VersionRow, WebhookRow } from './overview.store.ts';
import { isStale, toProblem } from './sync-state.ts';

const maxProblems = 100;
const certificateDays = { warning: 30, error: 14 };

type Severity = OverviewProblem['severity'];
type Kind = OverviewProblem['kind'];
type Target = OverviewProblem['target'];
const problem = (
  severity: Severity,
  kind: Kind,
  title: string,
  action: string,
  target: Target,
  { since = null, detail = null }: Partial<Pick<OverviewProblem, 'since' | 'detail'>> = {},
): OverviewProblem => ({ severity, kind, title, since, detail, action, target });

const count = (number: number, one: string, several = `${one}s`): string =>
  `${number.toLocaleString('en')} ${number === 1 ? one : several}`;

function duration(seconds: number): string {
  if (seconds < 7_200) return count(Math.floor(seconds / 60), 'minute');
  return seconds < 172_800
    ? count(Math.floor(seconds / 3_600), 'hour')
    : count(Math.floor(seconds / 86_400), 'day');
}
const listed = (names: readonly string[]): string =>
  names.length > 5 ? `${names.slice(0, 5).join(', ')} and ${names.length - 5} more` : names.join(', ');
const sentence = (text: string): string => text.replace(/\.?$/, '.');

/** A connection that is set up; `name` is null for the first one. */
export type ConnectionState = {
  readonly name: ConnectionName;
  readonly view: NonNullable<Overview['connection']>;
};
const titled = (name: ConnectionName): string =>
  name === null ? 'ERP connection' : `ERP connection ${name}`;

/** `stopped`: the syncs that fail for the same reason. */
export function connectionProblems(
  { name, view: { status, lastError, certificate } }: ConnectionState,
  stopped: number,
): OverviewProblem[] {
  const target: Target = { type: 'connection', id: null };
  const found: OverviewProblem[] = [];
  if (status === 'failed') {
    const waiting = stopped === 0 ? '' : ` ${count(stopped, 'sync waits', 'syncs wait')} for it.`;
    found.push(
      problem(
        'error',
        'connection_failed',
        name === null ? 'The connection to the ERP does not work' : `The ${titled(name)} does not work`,
        `Test the connection: the result names a fix for each problem.${waiting}`,
        target,
        { detail: lastError },
      ),
    );
  }
  if (certificate === null || certificate.daysLeft > certificateDays.warning) return found;
  const { daysLeft } = certificate;
  const action = 'Create a new certificate, upload it in NetSuite, and enter its id in the connection.';
  if (daysLeft < 0)
    found.push(
      problem(
        'error',
        'certificate_expired',
        `The certificate of the ${titled(name)} has expired`,
        action,
        target,
      ),
    );
  else {
    const title = `The certificate of the ${titled(name)} expires ${daysLeft === 0 ? 'today' : `in ${count(daysLeft, 'day')}`}`;
    found.push(
      problem(
        daysLeft <= certificateDays.error ? 'error' : 'warning',
        'certificate_expiring',
        title,
        action,
        target,
      ),
    );
  }
  return found;
}

type Failure = {
  readonly row: SyncRow;
  readonly isPaused: boolean;
  readonly message: string;
  readonly fix: string;
};

function listFailures(row: SyncRow): Failure[] {
  const isPaused = row.paused_reason !== null;
  if (!row.enabled || (!isPaused && row.ended_status !== 'failed')) return [];
  const { message, fix } = row.paused_reason ??
    row.ended_error ?? { message: 'the reason is not known', fix: 'See the log of its last run' };
  return [{ row, isPaused, message, fix }];
}

const byTime = (a: Date | null, b: Date | null): number => (a?.getTime() ?? 0) - (b?.getTime() ?? 0);

/** The same failure of several syncs is one problem. */
function sharedFailure(group: readonly Failure[]): OverviewProblem[] {
  const [first] = group;
  if (first === undefined) return [];
  const { row, isPaused, message, fix } = first;
  const kind = isPaused ? 'sync_paused' : 'sync_failing';
  const oldest = group.map(({ row: { published_at: at } }) => at).toSorted(byTime)[0];
  const about = { since: instantOrNull(oldest ?? null), detail: message };
  if (group.length > 1) {
    const title = `${count(group.length, 'sync')} ${isPaused ? 'are paused' : 'failed'} for the same reason`;
    return [problem('error', kind, title, sentence(fix), { type: 'sync', id: null }, about)];
  }
  const title = `${row.name} ${isPaused ? 'is paused' : 'failed'}`;
  const run: Target | null =
    isPaused || row.ended_id === null ? null : { type: 'run', id: row.ended_id, syncConfigId: row.id };
  const target = run ?? { type: 'sync', id: row.id };
  return [problem('error', kind, title, sentence(toProblem(row)?.fix ?? fix), target, about)];
}

const failures = (failed: readonly Failure[]): OverviewProblem[] =>
  [...Map.groupBy(failed, ({ isPaused, message }) => `${isPaused} ${message}`).values()].flatMap(
    sharedFailure,
  );

function behind(rows: readonly SyncRow[]): OverviewProblem[] {
  const isReported = (row: SyncRow): boolean =>
    row.paused_reason !== null || (row.enabled && row.ended_status === 'failed');
  const late = rows.filter(
    (row) => !isReported(row) && (row.enabled ? isStale(row) : row.stale_since !== null),
  );
  return late.map((row) => {
    const title =
      row.stale_since === null
        ? `${row.name} is ${duration(row.behind_seconds ?? 0)} behind its schedule`
        : `The data of ${row.name} are older than ${count(row.freshness_target ?? 0, 'minute')}`;
    if (!row.enabled)
      return problem('error', 'sync_stale', title, 'Enable its schedule, or start a run.', {
        type: 'sync',
        id: row.id,
      });
    if (row.is_open && row.run_id !== null)
      return problem('error', 'sync_stale', title, 'See what its open run waits for.', {
        type: 'run',
        id: row.run_id,
        syncConfigId: row.id,
      });
    return problem('error', 'sync_stale', title, 'See why its runs did not succeed, then start one.', {
      type: 'sync',
      id: row.id,
    });
  });
}

function findings({
  id,
  label,
  state,
  heldDeletions,
  staleFields,
  rejectedRecords,
}: SyncOverview): OverviewProblem[] {
  if (state === 'disabled') return [];
  const target: Target = { type: 'sync', id };
  const found: OverviewProblem[] = [];
  if (heldDeletions !== null) {
    const { proposalId, count: records } = heldDeletions;
    const title = `${label}: ${count(records, 'deletion waits', 'deletions wait')} for approval`;
    const proposal: Target = { type: 'deletion-proposal', id: proposalId, syncConfigId: id };
    found.push(
      problem(
        'warning',
        'deletions_held',
        title,
        'Review the records, then approve or reject their deletion.',
        proposal,
      ),
    );
  }
  if (staleFields.length > 0) {
    const title = `${label}: ${count(staleFields.length, 'field is', 'fields are')} missing in the ERP: ${listed(staleFields)}`;
    const action = 'Give the integration role access to them, or accept that they are missing.';
    found.push(problem('warning', 'fields_missing', title, action, target));
  }
  if (rejectedRecords > 0) {
    const title = `${label}: ${count(rejectedRecords, 'record')} could not be stored`;
    found.push(
      problem(
        'warning',
        'records_rejected',
        title,
        'See why, correct the values in the ERP, then retry.',
        target,
      ),
    );
  }
  return found;
}

/** Syncs that fail with the error of their connection are only counted, as `stopped`: the connection has that problem. */
export function syncProblems(
  rows: readonly SyncRow[],
  syncs: readonly SyncOverview[],
  connections: readonly ConnectionState[],
): { problems: OverviewProblem[]; stopped: ReadonlyMap<ConnectionName, number> } {
  const errors = new Map(connections.map(({ name, view }) => [name, view.lastError]));
  const stopped = new Map<ConnectionName, number>();
  const own = rows.flatMap((row) => {
    const connection = connectionOf(row.record_type);
    const failed = listFailures(row);
    const others = failed.filter(({ message }) => message !== errors.get(connection));
    stopped.set(connection, (stopped.get(connection) ?? 0) + failed.length - others.length);
    return others;
  });
  return { problems: [...failures(own), ...behind(rows), ...syncs.flatMap(findings)], stopped };
}

export function versionProblems(
  rows: readonly VersionRow[],
  versions: readonly VersionOverview[],
): OverviewProblem[] {
  return versions.flatMap((version, index) => {
    const target: Target = { type: 'version', id: version.id };
    if (version.status === 'draft' && version.publication === 'failed') {
      const action = 'See the problems in its report, change the draft, and publish it again.';
      return [
        problem('warning', 'publication_failed', `${version.version} could not be published`, action, target),
      ];
    }
    const { callers7Days: callers, requests7Days: requests } = version;
    if (
      version.status !== 'deprecated' ||
      rows[index]?.is_past_sunset !== true ||
      callers === null ||
      requests === null ||
      callers === 0
    )
      return [];
    const title = `${version.version} is past its sunset and still has ${count(callers, 'caller')}: ${count(requests, 'request')} in 7 days`;
    return [
      problem('warning', 'version_past_sunset', title, 'Notify its callers, or set a later sunset.', target),
    ];
  });
}

export function keyProblems({ expiring, unused }: KeysRow): OverviewProblem[] {
  const ending = expiring.map(({ id, name, days_left: days }) => {
    const title = `The API key ${name} expires ${days === 0 ? 'today' : `in ${count(days, 'day')}`}`;
    return problem('warning', 'key_expiring', title, 'Extend its expiry, or give its holder a new key.', {
      type: 'key',
      id,
    });
  });
  if (unused === 0) return ending;
  const title = `${count(unused, 'API key has', 'API keys have')} not been used for 30 days`;
  return [
    ...ending,
    problem('warning', 'keys_unused', title, 'Revoke keys that are no longer needed.', {
      type: 'key',
      id: null,
    }),
  ];
}

export function paymentProblems(row: PaymentsRow): OverviewProblem[] {
  const of = (
    severity: Severity,
    kind: Kind,
    number: number,
    id: string | null,
    text: string,
    action: string,
  ): OverviewProblem[] =>
    number === 0
      ? []
      : [
          problem(severity, kind, `${count(number, 'payment')} ${text}`, action, {
            type: 'payment',
            id: number === 1 ? id : null,
          }),
        ];
  const isOne = (number: number, one: string, several: string): string => (number === 1 ? one : several);
  const { failed, unapplied, waiting, unsettled } = row;
  return [
    ...of(
      'error',
      'write_back_failed',
      failed,
      row.failed_id,
      'could not be written to the ERP',
      'Open each: it names the fix. Then retry.',
    ),
    ...of(
      ...(['warning', 'write_back_unapplied', unapplied, row.unapplied_id] as const),
      `${isOne(unapplied, 'is', 'are')} in the ERP, but not applied to all invoices`,
      'Apply the rest in the ERP.',
    ),
    ...of(
      ...(['warning', 'write_back_waiting', waiting, row.waiting_id] as const),
      `${isOne(waiting, 'has', 'have')} waited for the ERP for more than an hour`,
      'Check the ERP connection, and whether the write-back is enabled.',
    ),
    ...of(
      ...(['warning', 'payment_unsettled', unsettled, row.unsettled_id] as const),
      `${isOne(unsettled, 'has', 'have')} no outcome yet`,
      'Check them at the payment provider, and that its webhook is set up.',
    ),
  ];
}

export const domainProblems = (rows: readonly DomainRow[]): OverviewProblem[] =>
  rows.map(({ id, hostname }) =>
    problem(
      'warning',
      'domain_failing',
      `The hostname ${hostname} could not be verified`,
      'Set its DNS record, then verify it again.',
      { type: 'domain', id },
    ),
  );

export const webhookProblems = (rows: readonly WebhookRow[]): OverviewProblem[] =>
  rows.map(({ id, url, enabled }) => {
    const { host } = new URL(url);
    return enabled
      ? problem(
          'warning',
          'webhook_failing',
          `The webhook to ${host} has not been taken for an hour`,
          'See in its log what the receiver answers.',
          { type: 'webhook', id },
        )
      : problem(
          'error',
          'webhook_failing',
          `The webhook to ${host} was disabled`,
          'See why, then enable it again: it gets what changed in the meantime.',
          { type: 'webhook', id },
        );
  });

const rank = ({ severity, kind }: OverviewProblem): number =>
  (severity === 'error' ? 0 : problemKinds.length) + problemKinds.indexOf(kind);

/** The worst first, cut to 100, with the exact numbers. */
export function summarizeProblems(
  all: readonly OverviewProblem[],
): Pick<Overview, 'problems' | 'problemCounts'> {
  const errors = all.filter(({ severity }) => severity === 'error').length;
  return {
    problems: all.toSorted((a, b) => rank(a) - rank(b)).slice(0, maxProblems),
    problemCounts: { errors, warnings: all.length - errors },
  };
}
