// Settings of the portal: whom it knows and what it shows. Enabled ones compile into a document that is
// proved and indexed as a version of the public interface is; until then, visitors see what was ready before.
import type { RequestCtx, TenantCtx } from '../../core/ctx.ts';
import { invalid } from '../../core/errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instantOrNull } from '../../http/fields.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { type Available, readAvailable, type SchemaDocument, validateDocument } from '../../public/index.ts';
import { publicationView } from '../api-schemas/api-schemas.service.ts';
import { beginDocument, continueInBackground } from '../api-schemas/publication.ts';
import {
  defaultQuestionsPerDay,
  type PortalAccessInput,
  type PortalSettings,
  type StoredSettings,
} from './access.schemas.ts';
import * as store from './access.store.ts';
import { findCustomerType, listReferences, toDocument } from './access-document.ts';
import { listProblems } from './access-problems.ts';
import { proposeSettings } from './access-proposal.ts';
import { readFigures, startFigures } from './figures.ts';
import { staleRevision } from './revisions.ts';
import { sourceTypes } from './sources.ts';
import { readStatementGaps } from './statement-roles.ts';
import { assertAgentKnown, listAgentProblems } from './visitor-agent.ts';

type Publication = ReturnType<typeof publicationView>;
type Ready = 'off' | 'preparing' | 'failed' | 'on';

function readiness(document: store.DocumentRow | undefined, { enabled }: PortalSettings) {
  const publication: Publication | null =
    document?.publication == null ? null : publicationView(document.publication);
  if (!enabled) return { status: 'off' as Ready, publication: null };
  if (document?.status === 'published') return { status: 'on' as Ready, publication };
  return { status: (publication?.status === 'running' ? 'preparing' : 'failed') as Ready, publication };
}

/** With what settings that were saved earlier lack. */
function toSettings(stored: StoredSettings): PortalSettings {
  const { customerType: _, labels: __, references: ___, timed: ____, ...settings } = stored;
  return { unusedRoles: [], agentId: null, visitorQuestionsPerDay: defaultQuestionsPerDay, ...settings };
}

/** The settings as last saved; before that, a proposal. */
export async function getAccess(ctx: RequestCtx) {
  const available = await readAvailable(ctx);
  const { newest, document } = await inTransaction(ctx, async (tx) => {
    const rows = await store.findAccess(tx, ctx.organizationId);
    const label = rows?.newest.document ?? null;
    return {
      newest: rows?.newest,
      document: label === null ? undefined : await store.findDocument(tx, ctx.organizationId, label),
    };
  });
  const proposal = await proposeSettings(ctx, available);
  const stored: StoredSettings = newest?.settings ?? proposal;
  const settings = toSettings(stored);
  const revision = newest?.revision ?? 0;
  const ready = readiness(document, settings);
  return {
    ...settings,
    revision,
    ...ready,
    statementGaps: await readStatementGaps(ctx, stored),
    figures: ready.status === 'on' ? await readFigures(ctx, revision, { settings }) : null,
    problems:
      newest === undefined
        ? []
        : [...listProblems(settings, available), ...(await listAgentProblems(ctx, settings))],
    proposed: { people: proposal.people, records: proposal.records },
    updatedAt: instantOrNull(newest?.created_at ?? null),
  };
}

const listTimed = ({ records }: PortalSettings, available: Available): string[] =>
  records.flatMap(({ recordType, fields: { date = '' } }) =>
    sourceTypes(available, recordType).get(date) === 'time' ? [recordType] : [],
  );

/** Throws 422 for settings that can't be enabled. */
async function compile(ctx: TenantCtx, settings: PortalSettings) {
  const available = await readAvailable(ctx);
  const problems = [...listProblems(settings, available), ...(await listAgentProblems(ctx, settings))];
  if (problems.length > 0) throw invalid('The portal can not be enabled with these settings', problems);
  const document = toDocument(settings, available);
  const unready = validateDocument(document, available);
  if (unready.length > 0) throw invalid('The portal can not be enabled with these settings', unready);
  const customerType = findCustomerType(settings, available);
  const labels = Object.fromEntries(
    settings.records.map(({ recordType }) => [recordType, available[recordType]?.label ?? recordType]),
  );
  return {
    ...document,
    settings: {
      ...settings,
      labels,
      references: listReferences(settings, available),
      timed: listTimed(settings, available),
      ...(customerType !== undefined && { customerType }),
    },
  };
}

type Rows = store.AccessRows | undefined;
/** The settings to save, with the label of their document and the content of one that has to be made ready. */
type Change = {
  readonly settings: StoredSettings;
  readonly document: string | null;
  readonly endpoints?: SchemaDocument['endpoints'];
};

async function save(
  ctx: RequestCtx,
  action: 'portal.update-access' | 'portal.cancel-preparation',
  expected: number | undefined,
  decide: (tx: Tx, rows: Rows, revision: number) => Promise<Change>,
) {
  const { organizationId } = ctx;
  const started = await inTransaction(ctx, async (tx) => {
    await store.lockAccess(tx, organizationId);
    const rows = await store.findAccess(tx, organizationId);
    const current = rows?.newest.revision ?? 0;
    if (expected !== undefined && expected !== current)
      throw staleRevision('The settings have changed in the meantime', `They are at revision ${current}`);
    const revision = current + 1;
    const { settings, document, endpoints } = await decide(tx, rows, revision);
    await store.insertAccess(tx, organizationId, { revision, settings, document });
    const job =
      endpoints && document !== null
        ? await beginDocument(tx, ctx, { label: document, endpoints })
        : undefined;
    await store.deleteFormer(tx, organizationId, [revision, ...(rows?.live ? [rows.live.revision] : [])]);
    const changes = {
      revision,
      enabled: settings.enabled,
      publicApi: settings.publicApi,
      agentId: settings.agentId ?? null,
      visitorQuestionsPerDay: settings.visitorQuestionsPerDay,
      unusedRoles: settings.unusedRoles,
      people: settings.people.map(({ recordType }) => recordType),
      records: settings.records.map(({ recordType }) => recordType),
    };
    await writeAudit(tx, ctx, action, ['portal-access', null], changes);
    return job;
  });
  if (started !== undefined) startFigures(ctx, continueInBackground(ctx, started));
  return getAccess(ctx);
}

/** Throws 422 for enabled settings with problems, `unknown_agent`, and `stale_revision` when they are at another revision. */
export async function putAccess(ctx: RequestCtx, { revision: expected, ...settings }: PortalAccessInput) {
  const compiled = settings.enabled ? await compile(ctx, settings) : undefined;
  return save(ctx, 'portal.update-access', expected, async (tx, rows, revision) => {
    if (compiled === undefined) {
      await assertAgentKnown(tx, ctx, settings, rows?.newest.settings);
      return { settings, document: null };
    }
    const ready = await store.findReadyDocument(tx, ctx.organizationId, compiled.endpoints);
    return ready === undefined
      ? { ...compiled, document: `p${revision}` }
      : { settings: compiled.settings, document: ready };
  });
}

/** Back to the settings in use; without any, the portal is off. Throws 422 `not_preparing` if none wait. */
export const cancelPreparation = (ctx: RequestCtx) =>
  save(ctx, 'portal.cancel-preparation', undefined, async (tx, rows) => {
    const label = rows?.newest.document ?? null;
    const document = label === null ? undefined : await store.findDocument(tx, ctx.organizationId, label);
    if (rows === undefined || document === undefined || document.status !== 'draft')
      throw invalid('Nothing is being made ready', [
        { path: '', code: 'not_preparing', message: 'There is nothing to cancel' },
      ]);
    const { live, newest } = rows;
    return live === undefined
      ? { settings: { ...newest.settings, enabled: false }, document: null }
      : { settings: live.settings, document: live.document };
  });
