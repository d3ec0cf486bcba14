// Labels with their values.
import type { Label, Value } from '../../../../src/portal/view-model.ts';
import { useView } from '../view.ts';
import { ValueView } from './value.tsx';

export const Fields = ({
  fields,
}: {
  fields: readonly { readonly label: Label; readonly value: Value }[];
}) => {
  const view = useView();
  return (
    <dl class="fields">
      {fields.map(({ label, value }, at) => (
        <div key={at}>
          <dt>{view.label(label)}</dt>
          <dd>
            <ValueView value={value} />
          </dd>
        </div>
      ))}
    </dl>
  );
};
