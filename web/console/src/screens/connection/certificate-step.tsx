// Step 2: the certificate that the service created, to upload in NetSuite, and the id that NetSuite gives it; and
// its renewal.
import { Copy } from '../../parts/copy.tsx';
import { ActionButton } from '../../parts/record-form.tsx';
import { Time } from '../../parts/time.tsx';
import { CertificateForm } from './certificate-form.tsx';
import { StepFrame } from './instructions.tsx';
import { type Certificate, createCertificate, currentCertificate, type Netsuite } from './words.ts';

/** A link that saves the certificate as a file. */
export const DownloadCertificate = ({ certificate, kind }: { certificate: Certificate; kind?: 'button' }) => (
  <a
    class={kind}
    href={`data:application/x-pem-file,${encodeURIComponent(certificate.certificatePem)}`}
    download={`portal-service-certificate-${certificate.slot}.pem`}
  >
    Download .pem
  </a>
);

/** One that waits for its id, or the active one; and its id. */
function Created({ certificate, connection }: { certificate: Certificate; connection: Netsuite }) {
  const { certificateId: id, certificatePem, notAfter, slot } = certificate;
  return (
    <>
      <p>
        The certificate {id} is valid until <Time at={notAfter} />.{' '}
        {id === null
          ? 'Upload it in NetSuite, and enter the id that NetSuite then shows.'
          : 'If it was revoked in NetSuite, upload it again and enter the id that NetSuite then shows.'}
        {id === null &&
          connection.hasCredentials &&
          ' The active certificate keeps signing in until this one has its id.'}
      </p>
      <Copy text={certificatePem} label="Copy certificate" />
      <div class="row">
        <DownloadCertificate certificate={certificate} kind="button" />
      </div>
      <CertificateForm key={slot} {...{ connection, certificate }} />
    </>
  );
}

export function CertificateStep({ connection }: { connection: Netsuite }) {
  const certificate = currentCertificate(connection);
  const isNew = certificate === undefined;
  return (
    <StepFrame help="upload">
      <div class="stack">
        {!isNew && <Created {...{ certificate, connection }} />}
        {certificate?.certificateId !== null && (
          <>
            {!isNew && <h2>Renew</h2>}
            <p>
              {isNew
                ? 'The service creates a key pair, of which you upload the certificate in NetSuite.'
                : 'A new certificate is valid for two years. The active one keeps signing in until the new one has its id: no run fails.'}
            </p>
            <div>
              <ActionButton
                label={isNew ? 'Create certificate' : 'Create a new certificate'}
                kind={isNew ? 'primary' : ''}
                run={() => createCertificate(connection.name)}
              />
            </div>
          </>
        )}
      </div>
    </StepFrame>
  );
}
