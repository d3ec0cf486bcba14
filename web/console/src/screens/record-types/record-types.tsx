// The record types of the account: search, filters, and the choice of many to sync at once.
import { recordTypePath } from '../../parts/record-type.ts';
import '../../styles/record-types.css';
import { api } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { useAction } from '../../parts/dialog.tsx';
import { Empty, Page } from '../../parts/page.tsx';
import { Working } from '../../parts/plot.tsx';
import { Problem } from '../../parts/problem.tsx';
import { Time } from '../../parts/time.tsx';
import { invalidate } from '../../query.ts';
import { base, query } from '../../router.ts';
import { may } from '../../session.ts';
import { useCatalogue } from './catalogue.ts';
import { Plan } from './plan.tsx';
import { TypeList } from './type-table.tsx';

const Lead = ({ count, at }: { count: number; at: string | null }) => (
  <>
    {formatCount(count, 'record type')} of the account, read <Time at={at} relative />. Open one to choose its
    fields, or mark several to sync all of their fields.
  </>
);

export function RecordTypes() {
  const read = useCatalogue();
  const { data: catalogue, error, reload } = read;
  const refresh = useAction(async () => {
    await api.POST('/netsuite/metadata/refresh');
    await invalidate('/netsuite/metadata', recordTypePath);
  });
  const isListed = catalogue !== undefined && catalogue.notListed === null;
  if (isListed && query.value.get('plan') !== null) return <Plan heads={catalogue.heads} />;
  const refreshButton = (label: string, kind: string) =>
    may('netsuite:update') && (
      <button type="button" class={kind} disabled={refresh.busy} onClick={refresh.submit}>
        {label}
      </button>
    );
  const lead = isListed && <Lead count={catalogue.heads.length} at={catalogue.refreshedAt} />;
  return (
    <Page title="Record types" lead={lead} actions={isListed && refreshButton('Refresh from NetSuite', '')}>
      {refresh.busy && (
        <Working label="Reading the record types of the account, which takes up to a few minutes" />
      )}
      <Problem error={refresh.error} />
      {catalogue === undefined && <Problem error={error} retry={() => void reload()} />}
      {catalogue?.notListed?.code === 'no_metadata' && (
        <Empty title="The record types of the account are not read yet.">
          {refreshButton('Read the record types', 'primary')}
        </Empty>
      )}
      {catalogue?.notListed?.code === 'no_connection' && (
        <Empty title="NetSuite is not connected yet.">
          <a class="button primary" href={`${base}/connection`}>
            Connect NetSuite
          </a>
        </Empty>
      )}
      {isListed && catalogue.lastError !== null && (
        <p class="note warn">The last refresh failed, the list is of an earlier one: {catalogue.lastError}</p>
      )}
      {isListed && <TypeList read={read} heads={catalogue.heads} />}
    </Page>
  );
}
