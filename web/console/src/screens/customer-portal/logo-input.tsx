// The logo of the portal: what is stored, and a file to replace it.
import { useId } from 'preact/hooks';
import { formatBytes } from '../../format.ts';
import type { Branding } from './data.ts';

/** What is sent: a file as a data URL, null to remove the logo, undefined to keep it. */
export type LogoChange = string | null | undefined;

const readFile = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });

/** The file in base64, as the service takes it. */
export const toBase64 = (change: LogoChange): string | null | undefined =>
  typeof change === 'string' ? change.slice(change.indexOf(',') + 1) : change;

const describe = ({ contentType, bytes, width, height }: NonNullable<Branding['logo']>): string =>
  [
    contentType.replace(/^image\/|\+xml$/g, '').toUpperCase(),
    formatBytes(bytes),
    width !== null && height !== null && `${width} × ${height} px`,
  ]
    .filter(Boolean)
    .join(', ');

type LogoInputProps = {
  logo: Branding['logo'];
  /** Where the stored logo is served; undefined while the portal is off. */
  address: string | undefined;
  change: LogoChange;
  onChange: (change: LogoChange) => void;
  problem: string | undefined;
};

function Stored({ logo, address, change }: Pick<LogoInputProps, 'logo' | 'address' | 'change'>) {
  if (typeof change === 'string') return <img class="logo" src={change} alt="The new logo" />;
  if (logo === null || change === null)
    return <p class="muted">No logo: the portal shows the first letter of the name.</p>;
  return (
    <p class="row">
      {address !== undefined && <img class="logo" src={address} alt="The logo" />}
      <span class="muted">{describe(logo)}</span>
    </p>
  );
}

export function LogoInput({ logo, address, change, onChange, problem }: LogoInputProps) {
  const id = useId();
  const choose = async (file: File | undefined): Promise<void> => {
    if (file !== undefined) onChange(await readFile(file));
  };
  return (
    <div class="field">
      <label for={id}>Logo</label>
      <Stored logo={logo} address={address} change={change} />
      <input
        id={id}
        type="file"
        accept="image/png,image/webp,image/svg+xml"
        aria-describedby={`${id}-hint`}
        aria-invalid={problem !== undefined}
        onChange={(event) => void choose(event.currentTarget.files?.[0])}
      />
      <p class="fine" id={`${id}-hint`}>
        {problem ?? 'PNG, WebP or SVG, at most 256 kB.'}
      </p>
      {(change !== undefined || logo !== null) && (
        <p>
          <button
            type="button"
            class="link"
            onClick={() => onChange(change === undefined ? null : undefined)}
          >
            {change === undefined ? 'Remove the logo' : 'Keep the stored logo'}
          </button>
        </p>
      )}
    </div>
  );
}
