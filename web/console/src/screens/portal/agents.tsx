// Agents: models that answer questions about the records of one API version, and the person's own
// conversations with them.
import { type Answer, api, type Item } from '../../api.ts';
import { formatNumber } from '../../format.ts';
import { DeleteButton, ObjectPage, StateBadge, type States, stateFilter } from '../../parts/detail.tsx';
import {
  ageColumn,
  Facts,
  List,
  linkColumn,
  listQuery,
  minorColumn,
  searchFilter,
} from '../../parts/list.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { ActionButton, ConfirmButton, DialogButton, RecordForm } from '../../parts/record-form.tsx';
import { Time } from '../../parts/time.tsx';
import '../../styles/portal.css';
import { invalidate, useGet } from '../../query.ts';
import { useReadSoon } from '../../read-soon.ts';
import { base, go, type ScreenProps } from '../../router.ts';
import { identity, may } from '../../session.ts';
import { filterLiving } from '../../versions.ts';
import { first100, RemoveButton, saveObject } from './objects.tsx';

type Agent = Answer<'/agents/{id}'>;

const states: States<Agent['status']> = {
  provisioning: ['busy', 'Being checked'],
  restarting: ['busy', 'Restarting'],
  running: ['good', 'Running'],
  stopped: ['calm', 'Stopped'],
  failed: ['bad', 'Failed'],
};
const isBeingChecked = ({ status }: Agent): boolean => states[status][0] === 'busy';
const refresh = (): Promise<void> => invalidate('/agents');

const AgentState = ({ agent: { status, statusReason } }: { agent: Agent }) => (
  <StateBadge states={states} state={status} detail={statusReason} />
);

type Values = Readonly<Record<'name' | 'apiVersion' | 'model' | 'description' | 'instructions', string>>;

function AgentForm({ agent, close }: { agent?: Agent; close: () => void }) {
  const models = useGet('/agents/models', first100());
  const versions = useGet(may('api-schema:read') ? '/api-schema' : null, first100());
  if (models.data === undefined || (may('api-schema:read') && versions.data === undefined))
    return <Problem error={models.error ?? versions.error} />;
  const usable = filterLiving(versions.data?.data ?? []);
  return (
    <RecordForm
      label={agent === undefined ? 'Create agent' : 'Save agent'}
      save={(body: Values) => saveObject('/agents', agent?.id, body, close)}
      initial={agent ?? { apiVersion: usable[0]?.version ?? '' }}
      fields={[
        { name: 'name', label: 'Name', required: true },
        {
          name: 'apiVersion',
          label: 'API version',
          required: true,
          known: usable.map(({ version }) => version),
          hint: 'The agent reads nothing else.',
        },
        {
          name: 'model',
          label: 'Model',
          options: models.data.data.map(
            ({ name, builtIn }) => [name, builtIn ? `${name} (built in)` : name] as const,
          ),
          hint: 'The built-in model needs no provider and understands a fixed set of questions.',
        },
        { name: 'description', label: 'Description' },
        {
          name: 'instructions',
          label: 'Instructions',
          rows: 5,
          hint: 'They cannot extend what the agent reads.',
        },
      ]}
    />
  );
}

function Credits() {
  const credits = identity.value?.metrics?.agentCredits;
  if (credits === undefined) return null;
  return (
    <p class="fine">
      {formatNumber(credits.used)} of {formatNumber(credits.granted)} credits are used until{' '}
      <Time at={credits.resetsAt} />.
    </p>
  );
}

export function Agents() {
  const read = useGet('/agents', { query: listQuery<{ q: string; status: Agent['status'] }>('q', 'status') });
  useReadSoon(read.data?.data.some(isBeingChecked), read.reload);
  return (
    <Page
      title="Agents"
      lead="They answer questions about the records of one API version."
      actions={
        may('agent:create') && (
          <DialogButton label="New agent" kind="primary">
            {(close) => <AgentForm close={close} />}
          </DialogButton>
        )
      }
    >
      <div class="stack">
        <List
          label="Agents"
          read={read}
          filters={[searchFilter('Search agents'), stateFilter(states)]}
          next={
            <>
              An agent needs a published version: <a href={`${base}/schemas`}>see the API versions</a>.
            </>
          }
          columns={[
            linkColumn('Agent', '/agents', 'name'),
            { title: 'State', cell: (agent) => <AgentState agent={agent} /> },
            { title: 'Version', cell: ({ apiVersion }) => apiVersion },
            minorColumn('Model', 'model'),
            {
              title: 'Credits this month',
              minor: true,
              align: 'end',
              cell: ({ creditsUsed }) => formatNumber(creditsUsed),
            },
          ]}
        />
        <Credits />
      </div>
    </Page>
  );
}

function Transitions({ agent: { id, status } }: { agent: Agent }) {
  const params = { path: { id } };
  return (
    <>
      {(status === 'stopped' || status === 'failed') && (
        <ActionButton label="Start" run={() => api.POST('/agents/{id}/start', { params }).then(refresh)} />
      )}
      {status === 'running' && (
        <ActionButton
          label="Restart"
          run={() => api.POST('/agents/{id}/restart', { params }).then(refresh)}
        />
      )}
      {status !== 'stopped' && (
        <ConfirmButton
          label="Stop"
          action="Stop this agent"
          run={() => api.POST('/agents/{id}/stop', { params }).then(refresh)}
        >
          It accepts no messages until it is started again. An answer in progress is finished.
        </ConfirmButton>
      )}
    </>
  );
}

const AgentActions = ({ agent }: { agent: Agent }) => (
  <>
    {may('agent:restart') && <Transitions agent={agent} />}
    {may('agent:update') && (
      <DialogButton label="Edit">{(close) => <AgentForm agent={agent} close={close} />}</DialogButton>
    )}
    {may('agent:delete') && (
      <RemoveButton what="agent" name={agent.name} list="/agents" id={agent.id}>
        All conversations with it are deleted, those of other people too. Credits that were used still count.
      </RemoveButton>
    )}
  </>
);

type Conversation = Item<'/agents/{id}/conversations'>;

const formatTitle = ({ title }: Conversation): string => title || 'New conversation';
const conversationsPath = '/agents/{id}/conversations';

function Conversations({ id: agentId }: Agent) {
  const path = { id: agentId };
  const read = useGet(conversationsPath, { path, query: listQuery() });
  const remove = (id: string): Promise<void> =>
    api.DELETE('/conversations/{id}', { params: { path: { id } } }).then(() => invalidate(conversationsPath));
  const begin = async (): Promise<void> => {
    const { data } = await api.POST(conversationsPath, { params: { path }, body: {} });
    await invalidate(conversationsPath);
    go(`${base}/agents/${agentId}/${data?.id}`);
  };
  return (
    <Section
      title="Your conversations"
      actions={
        may('conversation:create') && <ActionButton label="New conversation" kind="primary" run={begin} />
      }
    >
      <List
        label="Conversations"
        read={read}
        next="Start a conversation. Only you see it."
        columns={[
          {
            title: 'Conversation',
            cell: (one) => <a href={`${base}/agents/${agentId}/${one.id}`}>{formatTitle(one)}</a>,
          },
          ageColumn('Last message', 'lastMessageAt'),
        ]}
        actions={(one) => (
          <DeleteButton what="conversation" name={formatTitle(one)} run={() => remove(one.id)}>
            All of its messages are deleted. Credits that were used still count.
          </DeleteButton>
        )}
      />
    </Section>
  );
}

export function AgentScreen({ params: { id = '' } }: ScreenProps) {
  const read = useGet('/agents/{id}', { path: { id } });
  const agent = read.data;
  useReadSoon(agent && isBeingChecked(agent), read.reload);
  const show = (shown: Agent) => ({
    title: shown.name,
    lead: shown.description,
    actions: <AgentActions agent={shown} />,
    children: (
      <>
        <Facts
          facts={[
            ['State', <AgentState agent={shown} />],
            ['API version', shown.apiVersion],
            ['Model', shown.model],
            ['Instructions', shown.instructions],
            ['Credits this month', formatNumber(shown.creditsUsed)],
            ['Last started', shown.lastStartedAt && <Time at={shown.lastStartedAt} />],
          ]}
        />
        {may('conversation:read') && <Conversations {...shown} />}
      </>
    ),
  });
  return <ObjectPage read={read} kind="Agent" list="/agents" show={show} />;
}
