// The connection to the ERP: three steps to set it up, and its state afterwards. The step is in the address;
// what was entered is saved with each step, so that a reload loses nothing.
import '../../styles/connection.css';
import { Unread } from '../../parts/detail.tsx';
import { Empty, Page } from '../../parts/page.tsx';
import { useGet } from '../../query.ts';
import { base, query } from '../../router.ts';
import { may } from '../../session.ts';
import { AccountStep } from './account-step.tsx';
import { CertificateStep } from './certificate-step.tsx';
import { ConnectionState } from './connection-state.tsx';
import { TestStep } from './test-step.tsx';
import {
  type Connection,
  isStep,
  listConnectionSteps,
  openStep,
  type Step,
  stepAddress,
  stepTitles,
} from './words.ts';

/** Where the person is; steps that need an earlier one are no links yet. */
function StepBar({ current, connection }: { current: Step; connection: Connection | null }) {
  const all = listConnectionSteps(connection?.authentication.method ?? 'oauth2');
  const first = openStep(connection);
  const open = first === null ? all.length : all.indexOf(first);
  return (
    <nav aria-label="Steps">
      <ol class="cx-steps">
        {all.map((step, index) => (
          <li key={step} class={index < open ? 'done' : ''}>
            {index <= open ? (
              <a href={stepAddress(step)} aria-current={step === current ? 'step' : undefined}>
                {stepTitles[step]}
              </a>
            ) : (
              stepTitles[step]
            )}
          </li>
        ))}
      </ol>
    </nav>
  );
}

function StepForm({ step, connection }: { step: Step; connection: Connection | null }) {
  if (connection === null || step === 'account') return <AccountStep connection={connection} />;
  if (step === 'certificate') return <CertificateStep connection={connection} />;
  return <TestStep connection={connection} />;
}

function SetUp({ step, connection }: { step: Step; connection: Connection | null }) {
  const shown = connection === null ? 'account' : step;
  const isDone = openStep(connection) === null;
  return (
    <Page
      title={isDone ? stepTitles[shown] : 'Connect NetSuite'}
      lead={
        isDone
          ? undefined
          : 'The service reads your account, and writes nothing to it but payments once you turn them on.'
      }
      above={isDone ? [{ to: `${base}/connection`, title: 'Connection' }] : []}
    >
      <StepBar current={shown} connection={connection} />
      <StepForm key={shown} step={shown} connection={connection} />
    </Page>
  );
}

export function ConnectionScreen() {
  // The overview says whether there is a connection: reading none is an error.
  const overview = useGet('/overview');
  const isMissing = overview.data?.connection?.configured === false;
  const read = useGet(overview.data === undefined || isMissing ? null : '/netsuite/connection');
  const connection = isMissing ? null : read.data;
  if (connection === undefined)
    return <Unread title="Connection" read={overview.data === undefined ? overview : read} above={[]} />;
  const asked = query.value.get('step');
  const step = isStep(asked) ? asked : openStep(connection);
  if (may('netsuite:update') && step !== null) return <SetUp step={step} connection={connection} />;
  if (connection !== null) return <ConnectionState connection={connection} />;
  return (
    <Page title="Connection">
      <Empty title="NetSuite is not connected yet.">
        <p>Connecting it requires the permission netsuite:update.</p>
      </Empty>
    </Page>
  );
}
