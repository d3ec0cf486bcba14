// A step, and next to it what to do in NetSuite, with the names that its pages have.
import type { ComponentChildren } from 'preact';

const newIntegration = 'Setup > Integration > Manage Integrations > New:';
const texts: Readonly<Record<string, readonly string[]>> = {
  oauth2: [
    `${newIntegration} name the integration record, for example Portal Service.`,
    'Under Authentication, choose Client Credentials (Machine to Machine) Grant, and the scope REST Web Services.',
    'Save, and copy the client id. NetSuite shows it this once.',
  ],
  tba: [
    `${newIntegration} choose Token-Based Authentication, save, and copy consumer key and secret.`,
    'Setup > Users/Roles > Access Tokens > New: choose the integration, a user and a role, save, and copy token id and secret.',
  ],
  upload: [
    'Setup > Integration > Manage Authentication > OAuth 2.0 Client Credentials (M2M) Setup > Create New.',
    'Choose the user and the role whose permissions the service has, and the integration record as application.',
    'Upload the certificate, save, and copy the certificate id from the list.',
  ],
};

/** `help`: what to do meanwhile, for the kinds that need it. */
export const StepFrame = ({
  help = '',
  children,
}: {
  help?: string | undefined;
  children: ComponentChildren;
}) => (
  <div class="cx-step">
    {children}
    {texts[help] && (
      <aside class="card stack" aria-label="In NetSuite">
        <h2>In NetSuite</h2>
        <ol class="bullets">
          {texts[help].map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ol>
        {help !== 'upload' && (
          <details>
            <summary>Permissions of the role</summary>
            <p>
              REST Web Services, SuiteAnalytics Workbook, Log in using OAuth 2.0 Access Tokens (with TBA: Log
              in using Access Tokens), and View on the records that you want to sync. The service sees what
              the role sees.
            </p>
          </details>
        )}
      </aside>
    )}
  </div>
);
