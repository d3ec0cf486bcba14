import { globSync } from 'node:fs';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { chooseSlice } from './test/setup/slice.ts';
import { SlowFirst } from './test/setup/slow-first.ts';

type Project = TestProjectInlineConfiguration;

const project = (name: string, test: NonNullable<Project['test']>): Project => ({
  test: {
    name,
    globalSetup: ['test/setup/global.ts'],
    setupFiles: ['test/setup/seed.ts'],
    // No test relies on these timeouts; they only end a test that hangs, also on a busy machine.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    // Each file has its own database and shares nothing else. Loading the whole service for each file would
    // take an eighth of the time.
    isolate: false,
    // Node.js runs the sources as it does in production; nothing is mocked.
    experimental: { viteModuleRunner: false },
    ...test,
  },
});

const others = ['access', 'browser', 'erp', 'green', 'ops', 'profiles', 'scale'];
/** Played with each profile, too. */
const sharedByOps = ['test/ops/chaos.test.ts', 'test/ops/days.test.ts'];
const filesIn = (folder: string): string => `${folder}/**/*.test.ts`;

type Environment = Readonly<Record<string, string>>;
type Parts = {
  readonly everywhere: Environment;
  readonly env: Partial<Record<string, Environment>>;
  readonly profiles: readonly string[];
  /** The files of a project that are played. */
  readonly choose: (project: string, pattern: string) => string[];
  /** The projects that replay the demo's days. */
  readonly replaying: readonly string[];
};

const hasCluster = Boolean(process.env['CITUS_KIT'] ?? process.env['CITUS_URL']);
const profiles = ['single', 'oneworld'];
/** The service's own tests, with its database on a Citus cluster, and what is different there. */
const onCitus = `test/{${['warehouse', 'public', 'story', 'sync', 'db', 'platform', 'admin', 'mcp', 'identity', 'http', 'operate', 'scale/citus'].join()}}/**/*.test.ts`;
const whole: Parts = {
  everywhere: {},
  env: {},
  profiles,
  choose: (_project, pattern) => [pattern],
  replaying: ['ops', ...profiles],
};

/** `npm run test:all`. */
const long: Parts = {
  ...whole,
  env: {
    unit: { PROPERTY_INPUTS: '100', HISTORIES: '12', CLIENT_VERSIONS: '50' },
    scale: { SEEDS: '50' },
    citus: { SEEDS: '20' },
    ops: { CHAOS_SEEDS: '100', REPLAY_DAYS: 'all' },
    single: { CHAOS_SEEDS: '30', BOOKS_FROM: '2011-08-01' },
    oneworld: { CHAOS_SEEDS: '30', BOOKS_FROM: '2011-08-01' },
  },
};

/** In continuous integration, one in so many files of a project is played. */
const parts: Readonly<Record<string, number>> = {
  simulator: 3,
  green: 4,
  access: 4,
  ops: 4,
  scale: 4,
  browser: 4,
  single: 3,
  oneworld: 3,
  citus: 12,
};

/** What .ci/run runs: `unit`, and of the others what fits in a quarter of an hour. */
function chooseParts(): Parts {
  const slice = chooseSlice();
  const playing = slice.isWhole ? profiles : [profiles[slice.pick('profile', 2)] ?? ''];
  const sharing = ['ops', ...playing];
  const from = 1 + slice.pick('parts', 10_000);
  const replaying = sharing[slice.pick('days', sharing.length)] ?? '';
  console.log(
    `SLICE=${slice.hash}: part ${from}, ${playing.join(' and ')}, days on ${replaying}, of each project one in so many files: ${JSON.stringify(parts)}`,
  );
  return {
    everywhere: {
      SLICE_NUMBER: String(from),
      BOOKS_FROM: '2011-08-29',
      REPLAY_DAYS: '3',
      SEEDS: '2',
    },
    env: {
      unit: { PROPERTY_INPUTS: '30', HISTORIES: '12', CLIENT_VERSIONS: '50' },
      ...Object.fromEntries(
        sharing.map((name, index) => [name, { CHAOS_SHARE: `${index}/${sharing.length}` }]),
      ),
    },
    profiles: playing,
    choose(name, pattern) {
      const count = parts[name] ?? 1;
      const first = slice.pick(name, count);
      return globSync(pattern)
        .sort()
        .filter((_file, index) => index % count === first);
    },
    replaying: [replaying],
  };
}

/** docs/development.md says what each project proves. */
const listProjects = ({ everywhere, env, profiles, choose, replaying }: Parts): Project[] =>
  [
    project('unit', {
      include: [filesIn('test'), filesIn('packages/client/test')],
      exclude: others.map((folder) => filesIn(`test/${folder}`)),
    }),
    project('simulator', {
      include: choose('simulator', filesIn('packages/{netsuite,odata}-simulator/test')),
    }),
    project('green', { include: choose('green', filesIn('test/green')) }),
    project('erp', { include: [filesIn('test/erp')] }),
    project('access', { include: choose('access', filesIn('test/access')) }),
    project('ops', { include: [...choose('ops', filesIn('test/ops')), ...sharedByOps] }),
    project('scale', {
      include: choose('scale', filesIn('test/scale')),
      exclude: [filesIn('test/scale/citus')],
    }),
    project('browser', {
      globalSetup: ['test/setup/global.ts', 'test/browser/global.ts'],
      include: choose('browser', filesIn('test/browser')),
    }),
    project('citus', {
      globalSetup: ['test/scale/citus/harness/global.ts'],
      // Without a cluster these say so.
      include: hasCluster ? choose('citus', onCitus) : ['test/scale/citus/*.test.ts'],
      // What the commands of a cluster answer on one server.
      exclude: ['test/admin/placement.test.ts'],
    }),
    ...profiles.map((name) =>
      project(name, {
        include: [
          ...choose(name, filesIn('test/connectors/netsuite')),
          ...sharedByOps,
          filesIn('test/profiles'),
        ],
        env: { ERP_PROFILE: name },
      }),
    ),
  ].map(({ test = {} }) => {
    const name = test.name as string;
    const without = replaying.includes(name) ? [] : ['test/ops/days.test.ts'];
    return {
      test: {
        ...test,
        exclude: [...(test.exclude ?? []), ...without],
        env: { ...everywhere, ...test.env, ...env[name] },
      },
    };
  });

const args = process.argv.slice(2);
/** Those whose tests no other project has, and so are found by the name of a file. */
const plain = ['unit', 'simulator', 'green', 'access', 'ops', 'scale', 'browser', 'erp'];

/** Without a project: `unit`, and the project of a file that is named. */
function chooseProjects(mode: string): Project[] {
  const all = listProjects(mode === 'ci' ? chooseParts() : mode === 'all' ? long : whole);
  if (['ci', 'all'].includes(mode) || args.some((arg) => arg.startsWith('--project'))) return all;
  const found = args.some((arg) => /^(?:test|packages)\//.test(arg)) ? plain : ['unit'];
  return all.filter(({ test }) => found.includes(test?.name as string));
}

export default defineConfig(({ mode }) => ({
  test: {
    projects: chooseProjects(mode),
    maxWorkers: 3,
    slowTestThreshold: 30_000,
    sequence: { sequencer: SlowFirst },
    reporters: ['default', './test/setup/folder-reporter.ts'],
  },
}));
