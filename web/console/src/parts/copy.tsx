import { useState } from 'preact/hooks';
import { platformBase } from '../api.ts';
import { organizationId } from '../session.ts';

// One line in double quotes, which sh, PowerShell 7 and cmd read alike; each writes variables in another way.
const request = (address: string, secret: string, headers = ''): string =>
  `curl -H "Authorization: Bearer ${secret}"${headers} "${location.origin}${address}"`;

/** A request to the public interface as a command; `path` is below /api/public. */
export const publicRequest = (path: string, secret = 'YOUR_API_KEY'): string =>
  request(`/api/public${path}`, secret, ` -H "x-tenant-id: ${organizationId()}"`);

/** A request to the management interface as a command; `path` is below its base. */
export const platformRequest = (path: string): string => request(platformBase + path, 'YOUR_API_KEY');

/** A text to copy, with its button. */
export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 2_000);
  };
  return (
    <div class="copy">
      <pre>
        <code>{text}</code>
      </pre>
      <button type="button" onClick={() => void copy()}>
        <span aria-live="polite">{copied ? 'Copied' : label}</span>
      </button>
    </div>
  );
}
