// Whom the portal reaches: customers with and without an address, and addresses that several of them share. And how
// many use it.
import { formatAmount, formatCount, formatNumber } from '../../format.ts';
import { Stats } from '../../parts/list.tsx';
import { Section } from '../../parts/page.tsx';
import { Time } from '../../parts/time.tsx';
import { useGet } from '../../query.ts';
import type { Access } from './data.ts';

type Figures = NonNullable<Access['figures']>;
type Shared = Figures['sharedAddresses'];

function Examples({ title, shared: { count, examples } }: { title: string; shared: Shared }) {
  if (examples.length === 0) return null;
  return (
    <details>
      <summary>
        {title}: {formatNumber(count)}
      </summary>
      <ul class="bullets">
        {examples.map(({ email, customers }) => (
          <li key={email}>
            {email}: {customers.map(({ id, name }) => name || id).join(', ')}
          </li>
        ))}
        {count > examples.length && <li>and {formatNumber(count - examples.length)} more</li>}
      </ul>
    </details>
  );
}

/** How many use the portal. */
export function Use() {
  const used = useGet('/overview').data?.portal;
  if (!used) return null;
  return (
    <Section title="Use">
      <Stats
        values={[
          ['Visitors this month', formatNumber(used.monthlyActiveVisitors)],
          ['Sign-ins in 7 days', formatNumber(used.signIns7Days)],
          ['Refused in 7 days', formatNumber(used.refusedSignIns7Days)],
          ...(used.paid7Days ?? []).map(({ amount, currency }): [string, string] => [
            'Paid in 7 days',
            formatAmount(amount, currency),
          ]),
          ['Mails in 7 days', formatNumber(used.mails7Days)],
          ['Statements mailed in 7 days', formatNumber(used.statements7Days)],
        ]}
      />
    </Section>
  );
}

export function Reach({ figures }: { figures: Figures | null }) {
  if (figures === null) return null;
  const { customers, withAddress, withoutAddress, addresses, sharedAddresses, sharedMailboxes } = figures;
  return (
    <Section title="Who can sign in">
      <div class="stack">
        <Stats
          values={[
            ['Customers', formatNumber(customers)],
            ['Can sign in', formatNumber(withAddress)],
            ['Without an address', formatNumber(withoutAddress)],
            ['Addresses', formatNumber(addresses)],
          ]}
        />
        <Examples title="Addresses of several customers" shared={sharedAddresses} />
        <Examples title="Mailboxes that several people may read" shared={sharedMailboxes} />
        <p class="fine">
          Counted <Time at={figures.asOf} relative />
          {figures.truncated && `, of the first ${formatCount(200_000, 'person', 'people')}`}.
        </p>
      </div>
    </Section>
  );
}
