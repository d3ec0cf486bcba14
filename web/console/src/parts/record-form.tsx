// Forms from a list of their fields, and buttons that open a form or a question in a dialog.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { ApiError } from '../api.ts';
import { Confirm, Dialog, useAction } from './dialog.tsx';
import { findProblem } from './field-problems.ts';
import { Check, Checks, Field, Form, Labelled, Select } from './form.tsx';
import { Problem } from './problem.tsx';
import { type RowColumn, RowsEditor } from './rows-editor.tsx';

/** Values are texts; that of a check is `true` or empty. */
export type FieldSpec<Name extends string> = {
  readonly name: Name;
  readonly label: string;
  /** Where it is in the request, if not under its name. */
  readonly path?: string;
  readonly hint?: ComponentChildren;
  readonly kind?: 'text' | 'email' | 'number' | 'date' | 'password' | 'check';
  readonly required?: boolean;
  /** Several lines of text. */
  readonly rows?: number;
  /** Any of these; the value has them separated by commas. */
  readonly choices?: readonly string[];
  /** What it means that none of them is chosen. */
  readonly all?: string;
  /** One of these. */
  readonly options?: readonly (readonly [value: string, title: string])[] | undefined;
  /** Offered while typing. */
  readonly known?: readonly string[] | undefined;
  /** A list of small records; the value is its JSON. `item` is what one of them is. */
  readonly list?: { readonly item: string; readonly columns: readonly RowColumn[] };
  /** In place of an input. */
  readonly edit?: (field: { readonly value: string; onChange(value: string): void }) => ComponentChildren;
  /** Shown after the others, folded until someone opens them. */
  readonly advanced?: boolean;
  /** Whether the field is shown with these values. */
  readonly when?: (values: Readonly<Record<Name, string>>) => boolean;
};

type RecordFormProps<Name extends string> = {
  fields: readonly FieldSpec<Name>[];
  initial?: Partial<Readonly<Record<Name, string | null>>>;
  /** What the button says. */
  label: string;
  save: (values: Readonly<Record<Name, string>>) => Promise<unknown>;
  onChange?: (values: Readonly<Record<Name, string>>) => void;
  secondary?: ComponentChildren;
  /** Whether the first field has the focus when the form appears. */
  focusFirst?: boolean;
  children?: ComponentChildren;
};

/** Texts separated by commas, spaces or line ends. */
export const splitList = (text: string): string[] => text.split(/[\s,;]+/).filter((part) => part !== '');

/** Where the service's problems name the field. */
const toPath = ({ path, name }: { readonly path?: string; readonly name: string }): string => path ?? name;

type SpecFieldProps<Name extends string> = {
  spec: FieldSpec<Name>;
  value: string;
  onChange: (value: string) => void;
  error: ApiError | undefined;
};

export function SpecField<Name extends string>({ spec, value, onChange, error }: SpecFieldProps<Name>) {
  const { label, hint: usual, choices, options, kind, required, rows, known, list } = spec;
  const problem = findProblem(error, toPath(spec));
  const hint = problem ?? usual;
  const shared = { label, hint, value, onChange };
  if (spec.edit !== undefined)
    return (
      <Labelled label={label} hint={hint}>
        {spec.edit(shared)}
      </Labelled>
    );
  if (kind === 'check')
    return (
      <Check
        label={label}
        hint={hint}
        checked={value === 'true'}
        onChange={(checked) => onChange(checked ? 'true' : '')}
      />
    );
  if (choices !== undefined)
    return (
      <Checks
        {...shared}
        options={choices.map((one) => ({ name: one }))}
        all={spec.all}
        chosen={splitList(value)}
        onChange={(chosen) => onChange(chosen.join())}
      />
    );
  if (list !== undefined)
    return (
      <RowsEditor
        label={label}
        hint={hint}
        {...list}
        rows={JSON.parse(value || '[]')}
        onChange={(edited) => onChange(JSON.stringify(edited))}
      />
    );
  if (options !== undefined) return <Select {...shared} options={options} problem={problem} />;
  return <Field {...shared} type={kind} required={required} problem={problem} rows={rows} options={known} />;
}

type SpecFieldsProps<Name extends string> = {
  specs: readonly FieldSpec<Name>[];
  values: Readonly<Record<Name, string>>;
  set: (name: Name, value: string) => void;
  error: ApiError | undefined;
};

function SpecFields<Name extends string>({ specs, values, set, error }: SpecFieldsProps<Name>) {
  const [usual, advanced] = [false, true].map((wanted) =>
    specs
      .filter(({ advanced: is = false }) => is === wanted)
      .map((spec) => (
        <SpecField
          key={spec.name}
          spec={spec}
          value={values[spec.name]}
          error={error}
          onChange={(value) => set(spec.name, value)}
        />
      )),
  );
  return (
    <>
      {usual}
      {advanced?.length !== 0 && (
        <details>
          <summary>More settings</summary>
          {advanced}
        </details>
      )}
    </>
  );
}

/** A form with these fields. Says that it was saved when it stays on screen. */
export function RecordForm<Name extends string>({
  fields,
  initial = {},
  label,
  save,
  onChange,
  secondary,
  focusFirst,
  children,
}: RecordFormProps<Name>) {
  const first = fields.map(({ name, options }) => [name, initial[name] ?? options?.[0]?.[0] ?? '']);
  const [values, setValues] = useState<Record<Name, string>>(Object.fromEntries(first));
  const [saved, setSaved] = useState(false);
  const action = useAction(async () => {
    setSaved(false);
    await save(values);
    setSaved(true);
  });
  const shown = fields.filter(({ when }) => when === undefined || when(values));
  const set = (name: Name, value: string): void => {
    setSaved(false);
    const changed = { ...values, [name]: value };
    setValues(changed);
    onChange?.(changed);
  };
  return (
    <Form
      action={action}
      label={label}
      paths={shown.map(toPath)}
      focusFirst={focusFirst}
      secondary={
        <>
          {secondary}
          <span role="status" class="saved">
            {saved ? 'Saved' : ''}
          </span>
        </>
      }
    >
      <SpecFields {...{ values, set }} specs={shown} error={action.error} />
      {children}
    </Form>
  );
}

type Kind = '' | 'primary' | 'danger' | 'link';
type OpenButtonProps = {
  label: string;
  kind?: Kind | undefined;
  disabled?: boolean | undefined;
  children: (close: () => void) => ComponentChildren;
};

/** A button that opens what `children` makes. */
export function OpenButton({ label, kind = '', disabled, children }: OpenButtonProps) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" class={kind} disabled={disabled} onClick={() => setOpen(true)}>
        {label}
      </button>
      {open && children(() => setOpen(false))}
    </>
  );
}

/** A button that opens a dialog. */
export const DialogButton = ({
  label,
  kind,
  title = label,
  children,
}: OpenButtonProps & { title?: string | undefined }) => (
  <OpenButton label={label} kind={kind}>
    {(close) => (
      <Dialog title={title} onClose={close}>
        {children(close)}
      </Dialog>
    )}
  </OpenButton>
);

type FormButtonProps<Name extends string> = Omit<RecordFormProps<Name>, 'label'> & {
  label: string;
  kind?: Kind;
  title?: string;
  /** What the button of the form says. */
  action: string;
};

/** A button that opens a form in a dialog, which closes once it is saved. */
export const FormButton = <Name extends string>({
  label,
  kind,
  title,
  action,
  save,
  ...form
}: FormButtonProps<Name>) => (
  <DialogButton label={label} kind={kind} title={title}>
    {(close) => <RecordForm {...form} label={action} save={(values) => save(values).then(close)} />}
  </DialogButton>
);

type ConfirmButtonProps = {
  label: string;
  /** Of the dialog; the action where it isn't given, which is the label where it isn't. */
  title?: string;
  action?: string;
  danger?: boolean;
  kind?: Kind;
  disabled?: boolean;
  run: () => Promise<unknown>;
  children: ComponentChildren;
};

/** A button that asks first. `children` says what will happen: a sentence, or paragraphs. */
export const ConfirmButton = ({
  label,
  action = label,
  title = action,
  danger = true,
  kind,
  disabled,
  run,
  children,
}: ConfirmButtonProps) => (
  <OpenButton label={label} kind={kind} disabled={disabled}>
    {(close) => (
      <Confirm title={title} action={action} danger={danger} run={run} onClose={close}>
        {children}
      </Confirm>
    )}
  </OpenButton>
);

type ActionButtonProps = {
  label: string;
  /** What it says while it works. */
  busyLabel?: string;
  /** What it acts on, where several buttons say the same. */
  about?: string;
  kind?: Kind;
  run: () => Promise<unknown>;
};

/** A button that acts at once; a failure is shown next to it. */
export function ActionButton({ label, busyLabel = label, about, kind = '', run }: ActionButtonProps) {
  const { busy, error, submit } = useAction(run);
  return (
    <>
      <button
        type="button"
        class={kind}
        disabled={busy}
        onClick={submit}
        aria-label={about && `${label}: ${about}`}
      >
        {busy ? busyLabel : label}
      </button>
      <Problem error={error} />
    </>
  );
}
