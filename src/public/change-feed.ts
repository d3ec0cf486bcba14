// What changed in a resource since a reader last looked: each record once, at its latest change, in the order of commits. Whoever
// begins with nothing and follows `next` holds what the list holds.
import { AppError } from '../core/errors.ts';
import { type ChangePlan, type ChangeRow, changesStatement } from './change-sql.ts';
import { epochMarkOf, readToken, type Standpoint, writeToken } from './change-token.ts';
import { acceptedType, answerPage, type ReadContext } from './exchange.ts';
import { didYouMean } from './nearest.ts';
import { type Freshness, readRow, type StateRow } from './read.ts';
import { parameterProblem, type Query, queryTextOf, readQuery, refuseParameters } from './request.ts';

const mostChanges = 1_000;
const usualChanges = 100;
const known = ['since', 'limit'];

type Wanted = { readonly since: string | null; readonly limit: number };

/** Throws 400 with every problem. */
export function readWanted(query: Query): Wanted {
  const problems = [...query.keys()]
    .filter((name) => !known.includes(name))
    .slice(0, 20)
    .map((name) =>
      parameterProblem(
        name,
        'unknown_parameter',
        `There is no parameter of this name here: "${name.slice(0, 80)}".${didYouMean(name, known)}`,
      ),
    );
  for (const name of known) {
    const values = query.get(name);
    if (values !== undefined && values.length > 1)
      problems.push(parameterProblem(name, 'repeated_parameter', `"${name}" may be given only once`));
    else if (values?.[0] === '') problems.push(parameterProblem(name, 'empty_value', `"${name}" must not be empty`));
  }
  const text = query.get('limit')?.[0] ?? String(usualChanges);
  const limit = /^[1-9]\d{0,3}$/.test(text) ? Number(text) : mostChanges + 1;
  if (text !== '' && limit > mostChanges)
    problems.push(parameterProblem('limit', 'out_of_range', `"limit" must be a whole number from 1 to ${mostChanges}`));
  if (problems.length > 0) throw refuseParameters(problems);
  return { since: query.get('since')?.[0] ?? null, limit };
}

const startAgain = 'begin again: forget what you hold and ask without "since"';

function gone(message: string): AppError {
  return new AppError('NOT_FOUND', message, { status: 410, details: [{ path: 'since', code: 'token_expired', message }] });
}

function standpointOf(read: ReadContext, since: string): Standpoint {
  const { tenant, version, endpoint } = read;
  const standpoint = readToken(tenant, { version, resource: endpoint.name }, endpoint.idType, since);
  if (standpoint !== undefined) return standpoint;
  throw refuseParameters([
    parameterProblem('since', 'invalid_token', '"since" must be a `next` that this very address gave; without it you begin at the start'),
  ]);
}

/** Throws 410 where what happened since can't be told any more. */
function assertFollows({ epochMark, floor }: Standpoint, { epoch }: Freshness, pruned: string): void {
  if (epochMark !== epochMarkOf(epoch)) throw gone(`The records were loaded anew since; ${startAgain}`);
  if (BigInt(floor) < BigInt(pruned)) throw gone(`Deletions are told for 30 days, and this is older; ${startAgain}`);
}

/** Where the reader stands after this page. A page without changes leaves the position where it was. */
function nextStandpoint(from: Standpoint | null, row: ChangeRow, { epoch, generation }: Freshness): Standpoint {
  const { last_generation: last, last_kind: kind, last_id: id } = row;
  const start = { generation: '0', kind: 'upsert', id: '0' } as const;
  const position =
    last === null || id === null ? (from?.position ?? start) : ({ generation: last, kind: kind === 1 ? 'delete' : 'upsert', id } as const);
  return { position, floor: row.more ? (from?.floor ?? generation) : generation, epochMark: epochMarkOf(epoch) };
}

export async function serveChanges(read: ReadContext): Promise<void> {
  const { tenant, version, endpoint, reader, exchange } = read;
  acceptedType(exchange.req, ['application/json']);
  const { since, limit } = readWanted(readQuery(queryTextOf(exchange.req.url ?? '')));
  const from = since === null ? null : standpointOf(read, since);
  await answerPage(read, 'changes', JSON.stringify([since, limit]), async () => {
    const plan: ChangePlan = { endpoint, after: from?.position ?? null, limit };
    const { row, freshness } = await readRow<StateRow & ChangeRow>(reader, endpoint.recordType, (place) => changesStatement(place, plan));
    if (from !== null) assertFollows(from, freshness, row.pruned);
    const next = writeToken(tenant, { version, resource: endpoint.name }, nextStandpoint(from, row, freshness));
    const address = `${exchange.baseUrl}/${version}/${endpoint.name}/changes`;
    return {
      text: `{"data":[${row.changes}],"next":"${next}","hasMore":${row.more}}`,
      records: row.changes,
      links: row.more ? `<${address}?since=${next}&limit=${limit}>; rel="next"` : '',
      freshness,
    };
  });
}
