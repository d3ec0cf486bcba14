// The first step: the settings of a connection, in a form that is made from the fields of its kind.
import { useState } from 'preact/hooks';
import type { Kind } from '../../../connection-kinds.ts';
import { keep, readKept } from '../../kept.ts';
import { RecordForm } from '../../parts/record-form.tsx';
import { may } from '../../session.ts';
import { StepFrame } from './instructions.tsx';
import { type KindValues, toKindInput, toKindValues, toSpecs } from './kind-values.ts';
import { type Connection, currentCertificate, type Entered, type Step, saveConnection } from './words.ts';

/** The name of the connection; `kind`: its example. */
const createNameField = (kind: string) => ({
  name: 'name',
  label: 'Name of the connection',
  required: true,
  hint: `It can't change. The names of the record types begin with it, as in ${kind}:customers, unless it is the first connection.`,
});

/** The kind's own name, or the first free one with a number. */
function suggestName(kind: string, taken: readonly string[]): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? kind : `${kind}-${number}`;
    if (!taken.includes(name)) return name;
  }
}

/** Of the sign-in to NetSuite; undefined for other kinds. */
const methodIn = (values: KindValues): string | undefined => values['authentication.method'];

function nextStep(values: KindValues, connection: Connection | null): Step {
  if (methodIn(values) !== 'oauth2') return 'test';
  const waits = connection !== null && currentCertificate(connection)?.certificateId === null;
  return connection?.hasCredentials && !waits ? 'test' : 'certificate';
}

type Props = { kind: Kind; connection: Connection | null; taken: readonly string[] };

export function SettingsStep({ kind: { kind, fields: all }, connection: before, taken }: Props) {
  // Certificates have a step of their own: a draft of an earlier id would activate that one again.
  const fields = all.filter(({ name }) => !name.startsWith('authentication.certificate'));
  const draft = `connection ${before?.name ?? `+ ${kind}`}`;
  const stored = before && toKindValues(fields, before.settings);
  const hint = before?.credentialHint ? `, ends in ${before.credentialHint}` : '';
  const specs = toSpecs(fields, before?.hasCredentials ? stored : null, hint);
  const first = stored ?? { name: suggestName(kind, taken), ...toKindValues(fields) };
  const [initial] = useState({ ...first, ...readKept<KindValues>(draft) });
  const [method, setMethod] = useState(methodIn(initial));
  /** Creates the first certificate as well, which the next step shows. */
  const save = ({ name, ...values }: KindValues): Promise<void> => {
    const next = nextStep(values, before);
    const creates = next === 'certificate' && (before?.certificates.length ?? 0) === 0;
    const named = before === null && { name: name?.trim() ?? kind };
    const entered = { kind, ...named, ...toKindInput(fields, values) };
    return saveConnection(entered as Entered, { draft, before, next, creates });
  };
  return (
    <StepFrame help={method}>
      <RecordForm
        fields={before === null && may('connection:create') ? [createNameField(kind), ...specs] : specs}
        initial={initial}
        label="Save and continue"
        focusFirst
        save={save}
        onChange={(values) => {
          keep(draft, Object.fromEntries(Object.entries(values).filter(([name]) => !/^secrets/.test(name))));
          setMethod(methodIn(values));
        }}
      />
    </StepFrame>
  );
}
