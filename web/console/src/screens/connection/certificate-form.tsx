// The id under which NetSuite lists the uploaded certificate.
import { useKept } from '../../kept.ts';
import { useAction } from '../../parts/dialog.tsx';
import { findProblem } from '../../parts/field-problems.ts';
import { Field, Form, Select } from '../../parts/form.tsx';
import { type Certificate, type Netsuite, saveConnection } from './words.ts';

const formatTitle = ({ slot, certificateId, active }: Certificate): string =>
  `Certificate ${slot}: ${certificateId ?? 'waits for its id'}${active ? ', active' : ''}`;

const path = 'authentication.certificateId';
/** By the certificate, so that what was typed for one isn't offered for another. */
const toDraft = ({ name }: Netsuite, { slot }: Certificate): string => `certificate ${slot} of ${name}`;

type Props = { connection: Netsuite; certificate: Certificate };

/** `certificate` is the one that the person works on. */
export function CertificateForm({ connection, certificate }: Props) {
  const { kind, certificates, settings } = connection;
  const draft = toDraft(connection, certificate);
  const [{ slot, id }, setEntered] = useKept(draft, {
    slot: String(certificate.slot),
    id: certificate.certificateId ?? '',
  });
  const action = useAction(() => {
    const { clientId = '' } = settings.authentication;
    const authentication = {
      ...{ method: 'oauth2' as const, clientId },
      ...{ certificateId: id, certificateSlot: Number(slot) },
    };
    return saveConnection(
      { kind, settings: { ...settings, authentication } },
      { draft, before: connection, next: 'test' },
    );
  });
  const findId = (of: string): string =>
    certificates.find((one) => String(one.slot) === of)?.certificateId ?? '';
  return (
    <Form action={action} label="Save and test" paths={[path]}>
      {certificates.length > 1 && (
        <Select
          label="Certificate"
          value={slot}
          onChange={(next) => setEntered({ slot: next, id: findId(next) })}
          options={certificates.map((one) => [String(one.slot), formatTitle(one)])}
          hint="The one that gets this id becomes active."
        />
      )}
      <Field
        label="Certificate id"
        value={id}
        onChange={(next) => setEntered({ slot, id: next })}
        required
        problem={findProblem(action.error, path)}
        hint="NetSuite lists it after the upload. It is not the client id."
      />
    </Form>
  );
}
