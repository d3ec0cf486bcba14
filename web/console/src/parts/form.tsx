import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import type { Action } from './dialog.tsx';
import { withoutFields } from './field-problems.ts';
import { Problem } from './problem.tsx';

type FormProps = {
  action: Action;
  label: string;
  /** The paths of the fields that say what is wrong with them. */
  paths?: readonly string[];
  /** Whether the first field, of those without a value, has the focus when the form appears. */
  focusFirst?: boolean | undefined;
  children: ComponentChildren;
  secondary?: ComponentChildren;
};

/** A form whose button runs `action`. After a failure the first field that is wrong has the focus. */
export function Form({ action, label, paths = [], focusFirst, children, secondary }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (!focusFirst) return;
    const inputs = [...(form.current?.querySelectorAll<HTMLInputElement>('input, select, textarea') ?? [])];
    (inputs.find(({ value }) => value === '') ?? inputs[0])?.focus();
  }, []);
  useEffect(() => {
    if (action.error !== undefined)
      form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [action.error]);
  return (
    <form
      ref={form}
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        action.submit();
      }}
    >
      {children}
      <Problem error={withoutFields(action.error, paths)} />
      <div class="form-foot">
        <button type="submit" class="primary" disabled={action.busy}>
          {label}
        </button>
        {secondary}
      </div>
    </form>
  );
}

type Options = readonly (readonly [value: string, title: string])[];
type ChoiceProps = {
  value: string;
  onChange: (value: string) => void;
  options: Options;
  id?: string;
  'aria-invalid'?: boolean;
  'aria-label'?: string;
  'aria-describedby'?: string;
};

/** One of a few values, without a label. */
export const Choice = ({ onChange, options, ...attributes }: ChoiceProps) => (
  <select {...attributes} onChange={(event) => onChange(event.currentTarget.value)}>
    {options.map(([value, title]) => (
      <option key={value} value={value}>
        {title}
      </option>
    ))}
  </select>
);

/** Values that the input with this `list` offers while one types. */
export const Suggestions = ({ id, values }: { id: string; values: readonly string[] | undefined }) =>
  values !== undefined && (
    <datalist id={id}>
      {values.map((value) => (
        <option key={value} value={value} />
      ))}
    </datalist>
  );

type FieldProps = {
  label: string;
  value: string;
  onChange: (value: string) => void;
  /** One sentence below the input. */
  hint?: ComponentChildren;
  type?: 'text' | 'email' | 'url' | 'number' | 'date' | 'time' | 'password' | 'search' | undefined;
  required?: boolean | undefined;
  placeholder?: string;
  /** Known values, offered while typing. */
  options?: readonly string[] | undefined;
  /** Several lines of text. */
  rows?: number | undefined;
  problem?: string | undefined;
};

export function Field({
  label,
  value,
  onChange,
  hint,
  type = 'text',
  required = false,
  placeholder,
  options,
  rows,
  problem,
}: FieldProps) {
  const id = useId();
  // `object`: the types of JSX know an input by its type, which is a variable here.
  const common: object = {
    id,
    value,
    required,
    placeholder,
    spellcheck: false,
    'aria-describedby': `${id}-hint`,
    'aria-invalid': problem !== undefined,
    onInput: (event: { readonly currentTarget: { readonly value: string } }) =>
      onChange(event.currentTarget.value),
  };
  const input: object = {
    ...common,
    type,
    list: options === undefined ? undefined : `${id}-options`,
    autoComplete: 'off',
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {rows === undefined ? <input {...input} /> : <textarea {...common} rows={rows} />}
      <Suggestions id={`${id}-options`} values={options} />
      <p class="fine" id={`${id}-hint`}>
        {problem ?? hint}
      </p>
    </div>
  );
}

/** Something that isn't one input, with the label and the hint of a field. */
export const Labelled = ({
  label,
  hint,
  children,
}: {
  label: string;
  hint?: ComponentChildren;
  children: ComponentChildren;
}) => (
  <fieldset class="rows">
    <legend>{label}</legend>
    {children}
    <p class="fine">{hint}</p>
  </fieldset>
);

type SelectProps = {
  label: string;
  value: string;
  onChange: (value: string) => void;
  options: Options;
  hint?: ComponentChildren;
  problem?: string | undefined;
};

export function Select({ label, value, onChange, options, hint, problem }: SelectProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <Choice
        id={id}
        value={value}
        onChange={onChange}
        options={options}
        aria-describedby={`${id}-hint`}
        aria-invalid={problem !== undefined}
      />
      <p class="fine" id={`${id}-hint`}>
        {problem ?? hint}
      </p>
    </div>
  );
}

export function Check({
  label,
  checked,
  onChange,
  hint,
  disabled = false,
}: {
  label: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
  hint?: ComponentChildren;
  disabled?: boolean;
}) {
  const id = useId();
  return (
    <div class="check">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <label for={id}>
        {label}
        {hint !== undefined && <span class="fine">{hint}</span>}
      </label>
    </div>
  );
}

type ChecksProps = {
  label: string;
  hint?: ComponentChildren;
  options: readonly { readonly name: string; readonly description?: string }[];
  chosen: readonly string[];
  onChange: (chosen: readonly string[]) => void;
  /** What it means that none is chosen: a choice of its own. */
  all?: string | undefined;
};

/** Any of these names. */
export const Checks = ({ label, hint, options, chosen, onChange, all }: ChecksProps) => (
  <fieldset class="rows">
    <legend>{label}</legend>
    {hint !== undefined && <p class="fine">{hint}</p>}
    <div class="checks">
      {all !== undefined && <Check label={all} checked={chosen.length === 0} onChange={() => onChange([])} />}
      {options.map(({ name, description }) => (
        <Check
          key={name}
          label={name}
          hint={description || undefined}
          checked={chosen.includes(name)}
          onChange={(isOn) => onChange(isOn ? [...chosen, name] : chosen.filter((one) => one !== name))}
        />
      ))}
    </div>
  </fieldset>
);
