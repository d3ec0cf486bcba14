// The portal at a glance: whether it is on and where, its five steps, and itself as a customer sees it.
import { Badge, type Tone } from '../../parts/badge.tsx';
import { Copy } from '../../parts/copy.tsx';
import { Pending, StateLead } from '../../parts/detail.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { useGet } from '../../query.ts';
import { base } from '../../router.ts';
import { identity } from '../../session.ts';
import { portalStates } from '../../states.ts';
import '../../styles/customer-portal.css';
import { type Access, brandingPath, toAddress, useAccess, usePlaces } from './data.ts';
import { Use } from './figures.tsx';
import { Preparation } from './preparation.tsx';
import { maySeeAs, SeeAsSection } from './see-as.tsx';
import { listPortalSteps, type PortalStep } from './steps.ts';

const about: Readonly<Record<Access['status'], string>> = {
  off: 'No one can sign in yet.',
  preparing: 'Its reads are made ready. Visitors see what was ready before.',
  failed: 'It could not be made ready. Visitors see what was ready before.',
  on: 'Your customers sign in with a code that is mailed to them.',
};

const words: Readonly<Record<PortalStep['state'], readonly [tone: Tone, word: string]>> = {
  done: ['good', 'Done'],
  missing: ['warn', 'Missing'],
  proposed: ['calm', 'Proposed'],
  optional: ['calm', 'Optional'],
  broken: ['bad', 'Needs attention'],
};

function StepRow({ step, number, isNext }: { step: PortalStep; number: number; isNext: boolean }) {
  const { title, text, state, to, label } = step;
  const [tone, word] = isNext && state !== 'broken' ? (['busy', 'Next'] as const) : words[state];
  return (
    <li
      class={state === 'done' ? 'done' : isNext ? 'next' : 'later'}
      aria-current={isNext ? 'step' : undefined}
    >
      <span class="marker" aria-hidden="true">
        {state === 'done' ? '✓' : number}
      </span>
      <div>
        <p class="row">
          <strong>{title}</strong>
          <Badge tone={tone}>{word}</Badge>
        </p>
        <p class="muted">{text}</p>
      </div>
      {to !== undefined && (
        <a class={isNext ? 'button primary' : 'button'} href={base + to}>
          {label}
        </a>
      )}
    </li>
  );
}

const Steps = ({ steps }: { steps: readonly PortalStep[] }) => {
  const next = steps.findIndex(({ state }) => ['missing', 'proposed', 'broken'].includes(state));
  return (
    <Section
      title="Steps"
      actions={
        <span class="muted">
          {steps.filter(({ state }) => state === 'done').length} of {steps.length} done
        </span>
      }
    >
      <ol class="steps">
        {steps.map((step, index) => (
          <StepRow key={step.title} step={step} number={index + 1} isNext={index === next} />
        ))}
      </ol>
    </Section>
  );
};

/** The screen of the portal. */
export function Portal() {
  const { data: access, error, reload } = useAccess();
  const pages = useGet('/portal/pages', { query: { pageSize: 100 } });
  const sidebar = useGet('/portal/sidebar');
  const branding = useGet(brandingPath);
  const places = usePlaces();
  if (access === undefined)
    return (
      <Page title="Portal">
        <Pending error={error} reload={reload} />
      </Page>
    );
  const sources = { access, pages: pages.data?.data, sidebar: sidebar.data, branding: branding.data, places };
  const isOn = access.status === 'on';
  const address = toAddress(places);
  return (
    <Page
      title="Portal"
      lead={<StateLead state={portalStates[access.status]}>{about[access.status]}</StateLead>}
      actions={
        isOn && (
          <a class="button" href={address} target="_blank" rel="noreferrer">
            Open the portal
          </a>
        )
      }
    >
      <div class="portal-pair">
        <div class="stack">
          <Preparation access={access} />
          <Section title={isOn ? 'Its address' : 'Its address, once it is on'}>
            <Copy text={address} label="Copy the address" />
          </Section>
          {isOn && <Use />}
          <Steps steps={listPortalSteps(sources, identity.value?.organization?.name ?? '')} />
        </div>
        {maySeeAs() && <SeeAsSection isOpen={access.status !== 'off'} />}
      </div>
    </Page>
  );
}
