// A few numbers that say how the organization does at a glance.
import type { ComponentChildren } from 'preact';
import { formatCompact, formatCount, formatNumber } from '../../format.ts';
import { Time } from '../../parts/time.tsx';
import { base } from '../../router.ts';
import { connectionStates } from '../../states.ts';
import type { OverviewData } from './data.ts';

const Stat = ({
  title,
  value,
  children,
}: {
  title: string;
  value: ComponentChildren;
  children?: ComponentChildren;
}) => (
  <div>
    <dt>{title}</dt>
    <dd>{value}</dd>
    {children !== undefined && <dd class="fine">{children}</dd>}
  </div>
);

/** A certificate that lasts longer is not worth a word. */
const certificateDays = 60;

type ConnectionStatProps = {
  connection: NonNullable<OverviewData['connection']>;
  /** This one, or another. */
  hasFailed: boolean;
};

function ConnectionStat({ connection, hasFailed }: ConnectionStatProps) {
  const { configured, kind, status, accountId, certificate } = connection;
  const [tone, word] = connectionStates[hasFailed ? 'failed' : (status ?? 'untested')];
  const daysLeft = certificate?.daysLeft ?? certificateDays;
  const ends =
    daysLeft >= certificateDays ? '' : ` · certificate ends in ${formatCount(Math.max(0, daysLeft), 'day')}`;
  return (
    <Stat
      title="ERP connection"
      value={<span class={`words state ${tone}`}>{configured ? word : 'Not connected'}</span>}
    >
      <a href={`${base}/connection`}>
        {kind === 'netsuite' ? accountId : configured ? 'Show the connections' : 'Connect'}
      </a>
      {ends}
    </Stat>
  );
}

/** The oldest data of the syncs that run. */
function findOldest({
  configs,
}: NonNullable<OverviewData['syncs']>): { label: string; at: string } | undefined {
  const dated = configs.flatMap(({ state, label, syncedAt }) =>
    state === 'disabled' || syncedAt === null ? [] : [{ label, at: syncedAt }],
  );
  return dated.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at))[0];
}

function SyncStats({ syncs }: { syncs: NonNullable<OverviewData['syncs']> }) {
  const oldest = findOldest(syncs);
  const records = syncs.configs.reduce((sum, one) => sum + one.records, 0);
  const isCut = syncs.total > syncs.configs.length;
  return (
    <>
      <Stat title="Records" value={formatNumber(records)}>
        in {isCut && `${formatNumber(syncs.configs.length)} of `}
        {formatCount(syncs.total, 'sync')}
      </Stat>
      <Stat
        title="Oldest data"
        value={
          <span class="words">
            <Time at={oldest?.at ?? null} relative none="None yet" />
          </span>
        }
      >
        {oldest === undefined ? 'No sync has finished' : oldest.label}
      </Stat>
    </>
  );
}

function KeyStats({ keys }: { keys: NonNullable<OverviewData['keys']> }) {
  const { requestsToday, requests7Days, refused7Days, failed7Days, active } = keys;
  const unanswered = [
    refused7Days > 0 && `${formatCompact(refused7Days)} refused`,
    failed7Days > 0 && `${formatCompact(failed7Days)} failed`,
  ].filter(Boolean);
  const parts = [
    `${formatCompact(requests7Days)} in 7 days${unanswered.length === 0 ? '' : `, ${unanswered.join(' and ')} of them`}`,
    formatCount(active, 'active key'),
  ];
  return (
    <Stat title="Requests today" value={formatCompact(requestsToday)}>
      {parts.join(' · ')}
    </Stat>
  );
}

function PaymentStats({ payments }: { payments: NonNullable<OverviewData['payments']> }) {
  const {
    failedWriteBacks: failed,
    unappliedWriteBacks: unapplied,
    waitingWriteBacks: waiting,
    unsettled,
  } = payments;
  const stuck = failed + unapplied + waiting + unsettled;
  return (
    <Stat title="Stuck payments" value={formatNumber(stuck)}>
      <a href={`${base}/payments`}>{stuck === 0 ? 'All are in the ERP' : 'Show the payments'}</a>
    </Stat>
  );
}

/** Of the parts that the person may see. */
export function Numbers({ data }: { data: OverviewData }) {
  const { connection, syncs, keys, payments, problems } = data;
  const hasFailed = problems.some(({ kind }) => kind === 'connection_failed');
  const hasAny = [connection, syncs, keys, payments].some((part) => part !== null);
  if (!hasAny) return null;
  return (
    <dl class="stats">
      {connection !== null && <ConnectionStat {...{ connection, hasFailed }} />}
      {syncs !== null && <SyncStats syncs={syncs} />}
      {keys !== null && <KeyStats keys={keys} />}
      {payments?.enabled === true && <PaymentStats payments={payments} />}
    </dl>
  );
}
