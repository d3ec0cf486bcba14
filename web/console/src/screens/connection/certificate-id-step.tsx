// Step 3: the id under which NetSuite lists the uploaded certificate.
import { useKept } from '../../kept.ts';
import { useAction } from '../../parts/dialog.tsx';
import { Field, Form, Select } from '../../parts/form.tsx';
import { Empty } from '../../parts/page.tsx';
import { StepFrame } from './instructions.tsx';
import {
  type Certificate,
  type Connection,
  currentCertificate,
  saveConnection,
  stepAddress,
} from './words.ts';

const formatTitle = ({ slot, certificateId, active }: Certificate): string =>
  `Certificate ${slot}: ${certificateId ?? 'waits for its id'}${active ? ', active' : ''}`;

const draft = 'connection certificate';

export function CertificateIdStep({ connection }: { connection: Connection }) {
  const { certificates, accountId, baseUrl, authentication } = connection;
  const current = currentCertificate(connection);
  const [{ slot, id }, setEntered] = useKept(draft, {
    slot: String(current?.slot),
    id: current?.certificateId ?? '',
  });
  const action = useAction(() => {
    const { clientId = '' } = authentication;
    const ids = { method: 'oauth2' as const, clientId, certificateId: id, certificateSlot: Number(slot) };
    return saveConnection({ accountId, baseUrl, authentication: ids }, draft, 'test');
  });
  if (current === undefined)
    return (
      <Empty title="There is no certificate yet.">
        <a href={stepAddress('certificate')}>Create the certificate</a>
      </Empty>
    );
  const showAgain = (
    <a class="button" href={stepAddress('certificate')}>
      Show the certificate again
    </a>
  );
  return (
    <StepFrame help="upload">
      <Form action={action} label="Save and test" secondary={showAgain}>
        {certificates.length > 1 && (
          <Select
            label="Certificate"
            value={slot}
            onChange={(next) =>
              setEntered({
                slot: next,
                id: certificates.find((one) => String(one.slot) === next)?.certificateId ?? '',
              })
            }
            options={certificates.map((one) => [String(one.slot), formatTitle(one)])}
            hint="The one that gets this id becomes active."
          />
        )}
        <Field
          label="Certificate id"
          value={id}
          onChange={(next) => setEntered({ slot, id: next })}
          required
          hint="NetSuite lists it after the upload. It is not the client id."
        />
      </Form>
    </StepFrame>
  );
}
