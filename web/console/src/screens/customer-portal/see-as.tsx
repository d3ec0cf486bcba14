// The portal as a visitor sees it, in a frame: a code is posted to it from a form, as links must not open it.
import { useEffect, useState } from 'preact/hooks';
import { api } from '../../api.ts';
import { useAction } from '../../parts/dialog.tsx';
import { findProblem } from '../../parts/field-problems.ts';
import { Field, Form } from '../../parts/form.tsx';
import { Section } from '../../parts/page.tsx';
import { useGet } from '../../query.ts';
import { query } from '../../router.ts';
import { may } from '../../session.ts';

const frameName = 'portal-as';

/** What opens the frame, and for whom. */
type Opening = { readonly who: string; readonly code: string; readonly address: string };

function postInto(target: string, { code, address }: Opening): void {
  const form = document.createElement('form');
  const input = document.createElement('input');
  Object.assign(form, { method: 'post', action: address, target, hidden: true });
  Object.assign(input, { type: 'hidden', name: 'code', value: code });
  form.append(input);
  document.body.append(form);
  form.submit();
  form.remove();
}

/** Whether the person may see the portal as a visitor: they see records of customers by it. */
export const maySeeAs = (): boolean => may('portal:view-as') && may('record:read');

export function SeeAs({ isOpen }: { isOpen: boolean }) {
  const [who, setWho] = useState(query.value.get('as') ?? '');
  const [opening, setOpening] = useState<Opening>();
  const visitors = useGet(isOpen ? '/portal/visitors' : null, { query: { pageSize: 100, blocked: false } });
  const action = useAction(async () => {
    const wanted = who.trim();
    const body = wanted.includes('@') ? { email: wanted } : { customer: wanted };
    const { data } = await api.POST('/portal/visitors/view-as', { body });
    if (data !== undefined) setOpening({ who: wanted, ...data });
  });
  useEffect(() => {
    if (opening !== undefined) postInto(frameName, opening);
  }, [opening]);
  if (!isOpen)
    return <p class="note">Once the portal is on, you can see it here as one of your customers would.</p>;
  return (
    <div class="stack">
      <Form action={action} label="See as a customer" paths={['email', 'customer']}>
        <Field
          label="Address or customer id"
          value={who}
          onChange={setWho}
          required
          options={visitors.data?.data.map(({ email }) => email)}
          hint="You see the portal as this visitor would, for 30 minutes and without payments. The audit log says so."
          problem={findProblem(action.error, 'email') ?? findProblem(action.error, 'customer')}
        />
      </Form>
      {opening !== undefined && (
        <iframe class="portal-frame" name={frameName} title={`The portal as ${opening.who} sees it`} />
      )}
    </div>
  );
}

/** Next to the steps. */
export const SeeAsSection = ({ isOpen }: { isOpen: boolean }) => (
  <Section title="As a customer">
    <SeeAs isOpen={isOpen} />
  </Section>
);
