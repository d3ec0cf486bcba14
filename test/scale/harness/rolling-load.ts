// Clients of several processes of the service, each request to any of those that are in service, as behind a
// proxy. Every answer is kept and compared: an entity tag names one body whichever process answers, a 304
// only repeats what the client has, and nothing fails.
import type { Company, Reply } from '../../ops/site.ts';
import { until } from '../../setup/until.ts';

export type RollingLoad = ReturnType<typeof startRollingLoad>;
type Options = {
  readonly company: Company;
  readonly version: string;
  readonly customers: string;
  readonly roleId: string;
  /** An address of one of the processes in service. */
  pick(): string;
  /** Someone changes a customer in the ERP. */
  change(): Promise<void>;
};
type Known = { readonly path: string; readonly text: string };

/** Judges each answer of a list, a record or an export. */
function openTags() {
  const bodies = new Map<string, Known>();
  const totals = new Map<string, number>();
  const last = new Map<string, string>();
  let notModified = 0;
  return {
    headersFor: (path: string): Record<string, string> => ({
      ...(last.has(path) && { 'if-none-match': last.get(path) ?? '' }),
    }),
    judge(
      path: string,
      { status, headers, text, body }: Reply,
      asked: string | undefined,
    ): string | undefined {
      const tag = headers.get('etag') ?? '';
      if (status === 304) {
        notModified += 1;
        return tag === asked && bodies.has(tag) ? undefined : `${path}: 304 with ${tag} for ${asked}`;
      }
      if (status !== 200) return `${path}: ${status} ${text.slice(0, 300)}`;
      const known = bodies.get(tag);
      if (known !== undefined && (known.path !== path || known.text !== text))
        return `${path}: ${tag} names two bodies`;
      bodies.set(tag, { path, text });
      last.set(path, tag);
      const total = body?.pagination?.total;
      if (total === undefined) return undefined;
      const at = `${path.split('?')[0]} ${headers.get('x-data-generation')}`;
      const before = totals.get(at) ?? total;
      totals.set(at, before);
      return before === total ? undefined : `${path}: total ${total} instead of ${before} in one generation`;
    },
    get size() {
      return bodies.size;
    },
    get notModified() {
      return notModified;
    },
  };
}

/** Follows the feed by its tokens. */
function openFollower({ company, version, pick }: Options) {
  const copy = new Map<string, unknown>();
  let next: string | undefined;
  return {
    copy,
    /** Resolves to whether more follows, or what went wrong. */
    async step(): Promise<boolean | string> {
      const { status, body, text } = await company.read(
        pick(),
        `/${version}/customer/changes?limit=25${next === undefined ? '' : `&since=${next}`}`,
      );
      if (status !== 200) return `changes: ${status} ${text.slice(0, 300)}`;
      for (const { op, id, record } of body.data) {
        if (op === 'upsert') copy.set(id, record);
        else copy.delete(id);
      }
      next = encodeURIComponent(body.next);
      return body.hasMore === true;
    },
  };
}

/** Triggers one run after the other; each must succeed, whichever process works on it. */
async function syncOnce({ company, customers, pick, change }: Options): Promise<string | undefined> {
  await change();
  const begun = await company.call(pick(), 'post', `/sync-configs/${customers}/trigger`, {});
  if (begun.status !== 202) return `trigger: ${begun.status} ${begun.text}`;
  const ended = await until(async () => {
    const run = await company.call(pick(), 'get', `/sync-runs/${begun.body.id}`);
    if (run.status !== 200) return `run: ${run.status} ${run.text}`;
    return ['succeeded', 'partial', 'failed', 'cancelled'].includes(run.body.status) ? run.body : undefined;
  }, 200_000);
  if (typeof ended === 'string') return ended;
  return ended.status === 'succeeded' ? undefined : `run: ${JSON.stringify(ended)}`;
}

/** Fewer than an organization may have, however fast the machine is. */
const maxTeams = 900;

function openWriters({ company, roleId, pick }: Options) {
  const teams: string[] = [];
  const invited: string[] = [];
  let made = 0;
  const post = async (path: string, body: object): Promise<string | undefined> => {
    const { status, text } = await company.callAs(1, pick(), 'post', path, body, {
      'idempotency-key': `rolling-${made}`,
    });
    return status === 201 ? undefined : `${path}: ${status} ${text}`;
  };
  return {
    teams,
    invited,
    async write(): Promise<string | undefined> {
      if (made === maxTeams) return undefined;
      made += 1;
      const [team, email] = [`team ${made}`, `person-${made}@example.test`];
      const wrong =
        (await post('/teams', { name: team })) ??
        (await post(`/organizations/${company.id}/invitations`, { email, roleId }));
      if (wrong !== undefined) return wrong;
      teams.push(team);
      invited.push(email);
      return undefined;
    },
  };
}

const betweenMs = 20;

export function startRollingLoad(options: Options) {
  const { company, version, pick } = options;
  const tags = openTags();
  const follower = openFollower(options);
  const writers = openWriters(options);
  const wrong: string[] = [];
  let [isStopped, answers, runs] = [false, 0, 0];
  const read =
    (path: string, headers: Record<string, string> = {}) =>
    async (): Promise<string | undefined> => {
      const asked = tags.headersFor(path);
      return tags.judge(
        path,
        await company.read(pick(), path.replace(/#.*/, ''), { ...headers, ...asked }),
        asked['if-none-match'],
      );
    };
  const clients: (() => Promise<string | undefined>)[] = [
    read(`/${version}/customer?pageSize=20&page=2`),
    read(`/${version}/customer?pageSize=7&page=5`),
    read(`/${version}/customer?pageSize=1000`),
    read(`/${version}/invoice?pageSize=20&page=2`),
    read(`/${version}/customer/1`),
    read(`/${version}/customer#csv`, { accept: 'text/csv' }),
    async () => {
      const more = await follower.step();
      return typeof more === 'string' ? more : undefined;
    },
    async () => {
      const { status, text } = await company.call(pick(), 'get', '/whoami');
      return status === 200 ? undefined : `whoami: ${status} ${text}`;
    },
    writers.write,
    async () => {
      runs += 1;
      return syncOnce(options);
    },
  ];
  const rounds = clients.map(() => 0);
  const callers = clients.map(async (ask, index) => {
    while (!isStopped) {
      const problem = await ask().catch(
        (error: Error) => `client ${index}: ${error.name} ${error.message} ${String(error.cause)}`,
      );
      if (problem !== undefined) wrong.push(problem);
      answers += 1;
      rounds[index] = (rounds[index] ?? 0) + 1;
      await new Promise((resolve) => setTimeout(resolve, betweenMs));
    }
  });
  return {
    /** Resolves when every client has had this many more answers. */
    passed: async (more: number): Promise<void> => {
      const goal = rounds.map((round) => round + more);
      await until(async () => rounds.every((round, index) => round >= (goal[index] ?? 0)), 300_000);
    },
    /** Ends the clients, and resolves with what went wrong. */
    stop: async (): Promise<readonly string[]> => {
      isStopped = true;
      await Promise.all(callers);
      return wrong;
    },
    /** Reads the changes to their end. Rejects when they are refused. */
    follow: async (): Promise<void> => {
      for (let more: boolean | string = true; more !== false; more = await follower.step())
        if (typeof more === 'string') throw new Error(more);
    },
    get answers() {
      return answers;
    },
    get notModified() {
      return tags.notModified;
    },
    get tags() {
      return tags.size;
    },
    get runs() {
      return runs;
    },
    /** Names of the teams whose creation was acknowledged, and addresses of people who were invited. */
    teams: writers.teams,
    invited: writers.invited,
    /** The copy of a client that follows the changes of customers. */
    copy: follower.copy,
  };
}
