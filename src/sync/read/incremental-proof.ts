// What an incremental run says it compared, check by check: which records, which of their fields, no more.
import type { RunPlan, RunState } from '../../warehouse/run-state-row.ts';
import { pagesMessage, passed } from '../prove/run-proof.ts';
import type { RunProofCheck } from '../queue/runs.store.ts';
import type { RunReadContext } from '../stage/read-context.ts';

type Facts = RunPlan['facts'][string];
type Known = Pick<RunReadContext['prepared'], 'rollingRead' | 'rowCount'>;

const maxNamed = 3;

/** Such as "status, closedate, entity and 12 more fields". */
function nameFields(fields: Facts[string] | undefined): string {
  const names = Array.isArray(fields) ? fields.map(String) : [];
  const more = names.length - maxNamed;
  const named = names.slice(0, maxNamed).join(', ');
  return more <= 0 ? named : `${named} and ${more} more ${more === 1 ? 'field' : 'fields'}`;
}

function describeChanged({ facts, since, changeToken = null }: RunPlan): RunProofCheck {
  const { changed = {} } = facts;
  if (changeToken !== null) {
    const message = `${changed['read'] ?? 0} records that the ERP reports as changed since the last run were read in full`;
    return passed('changed', message, changed);
  }
  const read = `${changed['read'] ?? 0} records were read in full that changed since ${since} or whose modification time differs`;
  const listed = `${changed['listed'] ?? 0} records that the ERP lists as changed since ${changed['listedSince'] ?? since} were compared by id and modification time`;
  return passed('changed', `${read}; ${listed}`, { ...changed, since });
}

function describeOpen({ facts }: RunPlan): RunProofCheck {
  const { open = {} } = facts;
  const [checked, closed, whole] = [
    Number(open['checked'] ?? 0),
    Number(open['closed'] ?? 0),
    Number(open['whole'] ?? 0),
  ];
  const stillOpen = checked - closed;
  const which = `${stillOpen} open ${stillOpen === 1 ? 'record' : 'records'} and ${closed} that were closed recently`;
  const how =
    checked > whole
      ? ` were compared by ${nameFields(open['fields'])}`
      : whole > 0
        ? ' were read in full'
        : ': none was to be compared';
  const some = checked > whole && whole > 0 ? `, except ${whole} that were read in full` : '';
  return passed('open', `${which}${how}${some}; ${open['read'] ?? 0} were read again`, open);
}

function describeRolling({ rolling, facts }: RunPlan, { rollingRead, rowCount }: Known): RunProofCheck[] {
  if (rolling === null || rolling.pages === 0) return [];
  const { from, to, records, startedAt, ended } = rolling;
  const passRecords = rollingRead.records + records;
  const range = `${from === null ? 'Records' : `Records after id ${from}`}${to === null ? ' to the last one' : ` up to id ${to}`}`;
  const progress = ended
    ? `which ends the pass that began at ${startedAt}`
    : `${passRecords} of ${rowCount} in the pass that began at ${startedAt}`;
  const { onlyHere = 0, requests = 0, absent = 0 } = facts['rolling'] ?? {};
  const missing = Number(absent) === 0 ? '' : `; ${absent} stored records of this range could not be read`;
  return [
    passed('rolling', `${range} were read in full: ${records} in this run, ${progress}${missing}`, {
      ...{ from, to, records, passRecords, passStartedAt: startedAt, ended, stored: rowCount },
      ...{ onlyHere, requests, absent },
    }),
  ];
}

function describeFeed({ facts, feed }: RunPlan): RunProofCheck {
  const found = facts['feed'];
  if (found === undefined) return passed('feed', 'The ERP has no list of deletions', {});
  const list =
    feed === 'hidden' && found['available'] === false
      ? 'The ERP does not show its list of deletions to the integration role'
      : `The ERP lists ${found['listed'] ?? 0} deletions`;
  return passed(
    'feed',
    `${list}; ${found['deleted'] ?? 0} records stored here are confirmed as deleted`,
    found,
  );
}

/** A scan compares only some fields: the message says how old the others may be. */
function describeCount(
  { counters, plan: { facts, scanned } }: RunState,
  { completeSince }: Known['rollingRead'],
): RunProofCheck {
  const { count = {}, scan = {} } = facts;
  const kept = Number(count['kept'] ?? 0);
  const those = kept === 0 ? '' : `: these, and ${kept} that the ERP lacks and that are kept`;
  if (!scanned)
    return passed(
      'count',
      `The ERP counts ${count['erp'] ?? 0} records, and ${count['here'] ?? 0} are stored here${those}; only the numbers were compared`,
      count,
    );
  const compared = `All ${scan['listed'] ?? 0} records: ${nameFields(scan['fields'])} were compared, ${scan['fetched'] ?? 0} fetched, ${scan['absent'] ?? 0} stored here but absent in the ERP`;
  const others =
    completeSince === null
      ? 'When all other fields of records whose modification time did not move were last read in full is not known'
      : `All other fields of records whose modification time did not move were last read in full between ${completeSince} and ${counters.erpStartedAt}`;
  return passed('scan', `${compared}. ${others}`, { ...count, ...scan, completeSince });
}

/** Only for runs that read requested records. */
function describeRequested({ facts, mode }: RunPlan): RunProofCheck[] {
  const found = facts['requested'];
  if (found === undefined && mode !== 'reread') return [];
  const { requested = 0, absent = 0 } = found ?? {};
  const message = `${requested} requested records were read by id; the ERP lacks ${absent} of them`;
  return [passed('requested', message, { requested, absent })];
}

/** What each step of an incremental run did, in order. Called only after every step passed. */
export function buildIncrementalProof(
  { prepared }: Pick<RunReadContext, 'prepared'>,
  state: RunState,
): RunProofCheck[] {
  const { plan, counters } = state;
  if (plan.mode === 'reread')
    return [
      ...describeRequested(plan),
      ...(plan.facts['feed'] === undefined ? [] : [describeFeed(plan)]),
      ...(plan.scanned ? [describeCount(state, prepared.rollingRead)] : []),
    ];
  return [
    passed('pages', pagesMessage(plan.facts['changed']?.['pages'] ?? 0), {
      ...plan.facts['pages'],
      pages: counters.pages,
    }),
    describeChanged(plan),
    ...describeRequested(plan),
    describeOpen(plan),
    ...describeRolling(plan, prepared),
    describeFeed(plan),
    describeCount(state, prepared.rollingRead),
  ];
}
