// The steps of setting a connection up, by its kind.
import { Page } from '../../parts/page.tsx';
import { CertificateStep } from './certificate-step.tsx';
import { SettingsStep } from './settings-step.tsx';
import { TestStep } from './test-step.tsx';
import {
  addAddress,
  addressOf,
  type Connection,
  findKind,
  listAddress,
  listConnectionSteps,
  openStep,
  type Step,
  titleStep,
} from './words.ts';

type Props = {
  kind: string;
  step: Step;
  /** Null: a new one. */
  connection: Connection | null;
  /** Names of other connections. */
  taken?: readonly string[];
};

/** Where the person is; steps that need an earlier one are no links yet. */
function StepBar({ kind, step: current, connection }: Props) {
  const all = listConnectionSteps(kind, connection);
  const first = connection && openStep(connection);
  const open = connection === null ? 0 : first === null ? all.length : all.indexOf(first);
  return (
    <nav aria-label="Steps">
      <ol class="cx-steps">
        {all.map((step, index) => (
          <li key={step} class={index < open ? 'done' : ''}>
            {index <= open ? (
              <a
                href={connection === null ? addAddress(kind) : addressOf(connection.name, step)}
                aria-current={step === current ? 'step' : undefined}
              >
                {titleStep(kind, step)}
              </a>
            ) : (
              titleStep(kind, step)
            )}
          </li>
        ))}
      </ol>
    </nav>
  );
}

function StepForm({ kind: name, step, connection, taken = [] }: Props) {
  if (connection !== null && step === 'test') return <TestStep connection={connection} />;
  if (connection?.kind === 'netsuite' && step === 'certificate')
    return <CertificateStep connection={connection} />;
  const kind = findKind(name);
  return kind === undefined ? null : <SettingsStep {...{ kind, connection, taken }} />;
}

export function SetUp(props: Props) {
  const { kind, step, connection } = props;
  const isDone = connection !== null && openStep(connection) === null;
  const above = [{ to: listAddress, title: 'Connections' }];
  const ofOne = connection === null ? [] : [{ to: addressOf(connection.name), title: connection.name }];
  return (
    <Page
      title={isDone ? titleStep(kind, step) : `Connect ${findKind(kind)?.title}`}
      lead={
        isDone
          ? undefined
          : `The service reads your account, and writes nothing to it${kind === 'netsuite' ? ' but payments once you turn them on' : ''}.`
      }
      above={isDone ? [...above, ...ofOne] : above}
    >
      <StepBar {...props} />
      <StepForm key={`${kind} ${step}`} {...props} />
    </Page>
  );
}
