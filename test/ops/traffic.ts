// Clients that send requests continuously: they read lists, records and changes, call /whoami, and create
// teams, repeating each request with the same Idempotency-Key until it is acknowledged.
import type { Company, Reply } from './site.ts';

export type Traffic = {
  /** Starts recording replies. */
  begin(): void;
  /** The replies recorded so far. */
  replies(): readonly Reply[];
  /** Waits for one more reply to each client, and returns all since `begin`. */
  end(): Promise<Reply[]>;
  /** Requests without a complete response. */
  broken(): readonly string[];
  /** Names of the teams whose creation was acknowledged. */
  acknowledged(): readonly string[];
  stop(): Promise<void>;
};

const betweenMs = 25;
/** After each team: an organization may have a thousand. */
const betweenTeamsMs = 400;

/** The first response was lost with the database, but the request was executed. */
export const isDone = ({ status, body }: Reply): boolean =>
  status === 422 && body.error.details[0].code === 'answer_lost';
export const isBusy = ({ status, headers }: Reply): boolean =>
  status === 503 && Number(headers.get('retry-after')) > 0;

const exportCaller = 3;

export function openTraffic(company: Company, url: string, version: string): Traffic {
  let stopped = false;
  let kept: Reply[] = [];
  const broken: string[] = [];
  const acknowledged: string[] = [];
  let rounds: number[] = [];

  let made = 0;
  const makers = (): (() => Promise<Reply>) => {
    let name = '';
    return async () => {
      if (name === '') name = `team ${(made += 1)}`;
      const reply = await company.callAs(
        0,
        url,
        'post',
        '/teams',
        { name },
        { 'idempotency-key': name.replace(' ', '-') },
      );
      if (reply.status === 201 || isDone(reply)) {
        acknowledged.push(name);
        name = '';
        await new Promise((resolve) => setTimeout(resolve, betweenTeamsMs));
      }
      return reply;
    };
  };
  const asks: (() => Promise<Reply>)[] = [
    () => company.read(url, `/${version}/invoice?pageSize=20&page=2`),
    () => company.read(url, `/${version}/customer/${(made % 60) + 1}`),
    () => company.read(url, `/${version}/invoice/changes?limit=50`),
    () => company.read(url, `/${version}/invoice`, { accept: 'application/x-ndjson' }),
    () => company.call(url, 'get', '/whoami'),
    () => company.call(url, 'get', '/sync-runs'),
    makers(),
    makers(),
  ];
  rounds = asks.map(() => 0);
  const callers = asks.map(async (next, index) => {
    while (!stopped) {
      try {
        kept.push(await next());
      } catch (error) {
        // An export that had started ends with its connection, so the client knows that it is incomplete.
        if (index === exportCaller && error instanceof TypeError) continue;
        broken.push(
          `caller ${index}: ${error instanceof Error ? `${error.name} ${error.message} ${String(error.cause)}` : String(error)}`,
        );
      }
      rounds[index] = (rounds[index] ?? 0) + 1;
      await new Promise((resolve) => setTimeout(resolve, betweenMs));
    }
  });
  return {
    begin: () => {
      kept = [];
    },
    replies: () => kept,
    end: async () => {
      const before = [...rounds];
      while (rounds.some((round, index) => round === before[index]))
        await new Promise((resolve) => setTimeout(resolve, betweenMs));
      return [...kept];
    },
    broken: () => broken,
    acknowledged: () => acknowledged,
    stop: async () => {
      stopped = true;
      await Promise.all(callers);
    },
  };
}
