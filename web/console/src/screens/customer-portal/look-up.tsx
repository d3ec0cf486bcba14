// Which customers an address sees, as the ERP and the entries of visitors name them.
import { useState } from 'preact/hooks';
import { type Answer, api } from '../../api.ts';
import { useAction } from '../../parts/dialog.tsx';
import { findProblem } from '../../parts/field-problems.ts';
import { Field, Form } from '../../parts/form.tsx';
import { DialogButton } from '../../parts/record-form.tsx';
import { base } from '../../router.ts';
import { maySeeAs } from './see-as.tsx';

type Found = Answer<'/portal/visitors/address'>;

function Result({ found: { email, customers } }: { found: Found }) {
  if (customers.length === 0)
    return (
      <p class="note">
        {email} sees nothing: no customer has it, or it is blocked. Who enters it gets no code.
      </p>
    );
  return (
    <>
      <p>
        {email} sees the records of {customers.length === 1 ? 'this customer' : 'these customers'}:
      </p>
      <ul class="bullets">
        {customers.map(({ id, name }) => (
          <li key={id}>
            {name} <code>{id}</code>
          </li>
        ))}
      </ul>
      {maySeeAs() && (
        <p>
          <a class="button" href={`${base}/portal?as=${encodeURIComponent(email)}`}>
            See as this visitor
          </a>
        </p>
      )}
    </>
  );
}

function LookUp() {
  const [email, setEmail] = useState('');
  const [found, setFound] = useState<Found>();
  const action = useAction(async () => {
    setFound(undefined);
    setFound((await api.GET('/portal/visitors/address', { params: { query: { email } } })).data);
  });
  return (
    <div class="stack">
      <Form action={action} label="Look up" paths={['email']}>
        <Field
          label="Address"
          type="email"
          required
          value={email}
          onChange={setEmail}
          problem={findProblem(action.error, 'email')}
        />
      </Form>
      <div class="stack" role="status">
        {found !== undefined && <Result found={found} />}
      </div>
    </div>
  );
}

export const LookUpButton = () => (
  <DialogButton label="Look up an address" title="What an address sees">
    {() => <LookUp />}
  </DialogButton>
);
