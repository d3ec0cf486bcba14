// How the portal looks: the company's name, colour and logo, and whom visitors can ask.
import { useId } from 'preact/hooks';
import { type ApiError, api } from '../../api.ts';
import { Unread } from '../../parts/detail.tsx';
import { useAction } from '../../parts/dialog.tsx';
import { findProblem } from '../../parts/field-problems.ts';
import { Field, Form } from '../../parts/form.tsx';
import { NewerRevision, useRevised } from '../../parts/newer-revision.tsx';
import { Page } from '../../parts/page.tsx';
import { RowsEditor } from '../../parts/rows-editor.tsx';
import { invalidate, useGet } from '../../query.ts';
import { base } from '../../router.ts';
import { identity, may } from '../../session.ts';
import '../../styles/customer-portal.css';
import { type Branding as BrandingData, brandingPath, useAccess, usePlaces } from './data.ts';
import { type LogoChange, LogoInput, toBase64 } from './logo-input.tsx';

const textNames = [
  'name',
  'accent',
  'supportAddress',
  'senderName',
  'postalAddress',
  'documentNote',
] as const;
type Texts = Readonly<Record<(typeof textNames)[number], string>>;
type Edited = Texts & {
  readonly legalLinks: BrandingData['legalLinks'];
  readonly logo: LogoChange;
};

const toEdited = (branding: BrandingData): Edited => ({
  name: branding.name ?? '',
  accent: branding.accent ?? '',
  supportAddress: branding.supportAddress ?? '',
  senderName: branding.senderName ?? '',
  postalAddress: branding.postalAddress ?? '',
  documentNote: branding.documentNote ?? '',
  legalLinks: branding.legalLinks,
  logo: undefined,
});

const orNull = (text: string): string | null => text.trim() || null;

function send({ legalLinks, logo, ...texts }: Edited, revision: number) {
  const file = toBase64(logo);
  return api.PUT(brandingPath, {
    body: {
      name: orNull(texts.name),
      accent: orNull(texts.accent),
      supportAddress: orNull(texts.supportAddress),
      senderName: orNull(texts.senderName),
      postalAddress: orNull(texts.postalAddress),
      documentNote: orNull(texts.documentNote),
      legalLinks,
      revision,
      ...(file !== undefined && { logo: file }),
    },
  });
}

type AccentProps = { value: string; onChange: (value: string) => void; error: ApiError | undefined };

/** The colour as a text and in the browser's own choice; a colour that can't be read is answered with one that can. */
function Accent({ value, onChange, error }: AccentProps) {
  const id = useId();
  const problem = findProblem(error, 'accent');
  const nearest = problem?.match(/#[0-9a-f]{6}/gi)?.at(-1);
  return (
    <>
      <div class="row accent">
        <Field
          label="Colour of links and buttons"
          value={value}
          onChange={onChange}
          placeholder="#2457d6"
          hint="Such as #0b6e4f; empty for that of the service."
          problem={problem}
        />
        <input
          id={id}
          type="color"
          aria-label="Choose the colour"
          value={/^#[0-9a-f]{6}$/i.test(value) ? value : '#2457d6'}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      </div>
      {nearest !== undefined && nearest !== value && (
        <p>
          <button type="button" onClick={() => onChange(nearest)}>
            Use {nearest}
          </button>
        </p>
      )}
    </>
  );
}

const linkColumns = [
  { name: 'label', label: 'Label' },
  { name: 'url', label: 'Address (https)' },
] as const;

/** Where the stored logo is served, which is while the portal is on. */
function useLogoAddress(revision: number): string | undefined {
  const { own } = usePlaces();
  return useAccess().data?.status === 'on' ? `${own}/brand/${revision}/logo` : undefined;
}

type TextField = { value: string; onChange: (next: string) => void; problem: string | undefined };
const MailFields = ({ text }: { text: (name: keyof Texts) => TextField }) => (
  <>
    <Field
      {...text('supportAddress')}
      label="Support address"
      type="email"
      hint="Whom visitors can ask; empty for no one."
    />
    <Field
      {...text('senderName')}
      label="Sender of mails"
      hint="The name from which visitors get mails; empty for the name of the company."
    />
  </>
);

const DocumentFields = ({ text }: { text: (name: keyof Texts) => TextField }) => (
  <>
    <Field
      {...text('postalAddress')}
      label="Postal address"
      rows={3}
      hint="On PDF documents, below the name of the company."
    />
    <Field
      {...text('documentNote')}
      label="Note on documents"
      rows={3}
      hint="Below the totals of PDF documents, such as bank details."
    />
  </>
);

type LegalLinksProps = {
  links: Edited['legalLinks'];
  problem: string | undefined;
  onChange: (links: Edited['legalLinks']) => void;
};
const LegalLinks = ({ links, problem, onChange }: LegalLinksProps) => (
  <RowsEditor
    label="Legal links"
    hint={problem ?? 'Below each page, such as the imprint and the terms.'}
    item="link"
    columns={linkColumns}
    rows={links}
    onChange={(rows) => onChange(rows.map(({ label = '', url = '' }) => ({ label, url })))}
  />
);

function BrandingForm({ branding }: { branding: BrandingData }) {
  const { revision, logo } = branding;
  const revised = useRevised({ value: toEdited(branding), revision }, () => invalidate(brandingPath));
  const action = useAction(() => revised.save(send));
  const address = useLogoAddress(revision);
  const { value, change } = revised;
  const organization = identity.value?.organization?.name ?? '';
  const text = (name: keyof Texts) => ({
    value: value[name],
    onChange: (next: string) => change({ ...value, [name]: next }),
    problem: findProblem(action.error, name),
  });
  return (
    <Form
      action={action}
      label="Save"
      paths={[...textNames, 'legalLinks', 'logo']}
      secondary={
        <span role="status" class="saved">
          {revised.isSaved ? 'Saved' : ''}
        </span>
      }
    >
      <Field
        {...text('name')}
        label="Name of the company"
        placeholder={organization}
        hint={`Empty for ${organization}.`}
      />
      <Accent {...text('accent')} error={action.error} />
      <LogoInput
        key={revision}
        logo={logo}
        address={address}
        change={value.logo}
        onChange={(changed) => change({ ...value, logo: changed })}
        problem={findProblem(action.error, 'logo')}
      />
      <MailFields text={text} />
      <DocumentFields text={text} />
      <LegalLinks
        links={value.legalLinks}
        problem={findProblem(action.error, 'legalLinks')}
        onChange={(legalLinks) => change({ ...value, legalLinks })}
      />
      <NewerRevision
        newer={revised.newer}
        mine={revised.revision}
        discard={revised.discard}
        replace={() => void revised.save(send, revision)}
      />
    </Form>
  );
}

const above = [{ to: `${base}/portal`, title: 'Portal' }];

/** The screen of the branding. */
export function Branding() {
  const read = useGet(brandingPath);
  if (read.data === undefined) return <Unread read={read} title="Brand" above={above} />;
  return (
    <Page title="Brand" above={above} lead="What pages and mails of the portal show of your company.">
      {may('portal:update') ? (
        <BrandingForm branding={read.data} />
      ) : (
        <p class="muted">
          The portal carries the name {read.data.name ?? identity.value?.organization?.name}.
        </p>
      )}
    </Page>
  );
}
