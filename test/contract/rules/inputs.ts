// Inputs generated from each operation's own schemas. Valid inputs succeed, inputs that the schema or the
// OpenAPI document forbids are rejected, and no input makes the service fail.
import fc from 'fast-check';
import type { Route } from '../../../src/http/route/route.ts';
import {
  createArbitrary,
  fillAsBuilt,
  type Json,
  spoiled,
  spoiledQuery,
  toWireSchema,
} from '../arbitrary.ts';
import type { Builder, Fields, Sent } from '../builder.ts';
import type { Answer } from '../http.ts';
import { authorizedCaller, type Raw, type Site, type Walk } from '../walk.ts';
import { answerProblems } from './responses.ts';

/** Of each kind for each operation; `npm run test:all` sends more. */
export const wantedInputs = Number(process.env['PROPERTY_INPUTS'] ?? 10);
const batchSize = 8;
/** Types with hardly any inputs get the same ones again, for other objects and concurrently. */
const fewestInputs = 8;
/** Rules between fields that no schema expresses may reject a few. */
const enough = 0.8;

export type InputsReport = { readonly failures: string[]; readonly valid: number; readonly invalid: number };

type Given = { readonly query: Json; readonly body: unknown };

/** Distinct inputs of the route's type; fewer than wanted only if there are no more. */
function validInputs(route: Route, fields: Fields, count: number, seed: number): Given[] {
  const of = (schema: Route['body'] | Route['query'], place: string): fc.Arbitrary<unknown> => {
    if (schema === undefined) return fc.constant(undefined);
    const wire = toWireSchema(schema);
    return createArbitrary(wire, wire, place, fields);
  };
  const made = fc.sample(fc.record({ query: of(route.query, 'query'), body: of(route.body, 'body') }), {
    numRuns: count * 3,
    seed,
  });
  const distinct = new Map(
    made.map((given) => [
      JSON.stringify(given, (_, value) => (typeof value === 'symbol' ? 'as built' : value)),
      given,
    ]),
  );
  return [...distinct.values()].slice(0, count) as Given[];
}

const asQuery = (query: unknown): Record<string, string> =>
  Object.fromEntries(Object.entries((query ?? {}) as Json).map(([name, value]) => [name, String(value)]));

function combine(route: Route, built: Sent, { query, body }: Given): Sent {
  return {
    ...(built.params !== undefined && { params: built.params }),
    ...(route.query !== undefined && { query: asQuery(fillAsBuilt(query, built.query)) }),
    ...(route.body !== undefined && { body: fillAsBuilt(body, built.body) as Record<string, unknown> }),
  };
}

async function inBatches<T>(
  items: readonly T[],
  size: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  for (let start = 0; start < items.length; start += size)
    await Promise.all(items.slice(start, start + size).map(work));
}

type Ground = {
  walk: Walk;
  route: Route;
  builder: Builder;
  siteFor: () => Promise<Site>;
  fields: Fields;
  seed: number;
};

type Outcome = { readonly count: number; readonly failures: string[] };

async function sendValid({ walk, route, builder, siteFor, fields, seed }: Ground): Promise<Outcome> {
  const distinct = validInputs(route, fields, builder.inputs ?? wantedInputs, seed);
  const rounds = Math.ceil(Math.min(fewestInputs, builder.inputs ?? fewestInputs) / distinct.length);
  const inputs = Array.from({ length: rounds }, () => distinct).flat();
  const repeatable = builder.repeatable ?? ['GET', 'PUT', 'PATCH'].includes(route.method);
  const once = repeatable ? await builder.build(await siteFor()) : undefined;
  const failures: string[] = [];
  const refused: string[] = [];
  await inBatches(inputs, builder.alone === true ? 1 : batchSize, async (input) => {
    const site = await siteFor();
    const sent = combine(route, once ?? (await builder.build(site)), input);
    const answer = await walk.send(route, sent, authorizedCaller(route, site));
    const shown = JSON.stringify({ query: sent.query, body: sent.body });
    failures.push(...answerProblems(walk, route, answer).map((problem) => `${problem} for ${shown}`));
    if (answer.status >= 300) refused.push(`${answer.status} ${answer.text} for ${shown}`);
  });
  if (inputs.length - refused.length < inputs.length * enough)
    failures.push(
      `only ${inputs.length - refused.length} of ${inputs.length} valid inputs were answered well, such as not: ${refused.slice(0, 3).join('; ')}`,
    );
  return { count: inputs.length, failures };
}

type Spoiled = {
  readonly sent: Sent;
  readonly raw: Partial<Raw>;
  readonly forbidden: boolean;
  readonly shown: string;
};

/** JSON text of any depth: JSON.stringify recurses, and its stack ends before the parser's does. */
const bodyText = (body: unknown): string => JSON.stringify(body) ?? 'null';

function spoiledInputs({ walk, route, fields, seed }: Ground, built: Sent): Spoiled[] {
  const inputs = validInputs(route, fields, wantedInputs, seed + 1);
  const known = Object.keys(route.query?.shape ?? {});
  const base = (index: number): Sent =>
    combine(route, built, inputs[index % inputs.length] ?? { query: {}, body: {} });
  const forbiddenBody = (body: unknown): boolean => {
    if (route.body === undefined) return true;
    return !route.body.safeParse(body).success || walk.description.allowsBody(route.id, body) === false;
  };
  const found: Spoiled[] = [];
  for (
    let index = 0;
    found.filter(({ forbidden }) => forbidden).length < wantedInputs && index < wantedInputs * 4;
    index += 1
  ) {
    const sent = base(index);
    if (route.method !== 'GET' && index % 3 !== 0) {
      const [body] = fc.sample(spoiled(sent.body ?? {}), { numRuns: 1, seed: seed + index });
      const text = bodyText(body);
      const isEmpty = route.body === undefined && text === '{}';
      if (!isEmpty)
        found.push({ sent, raw: { body: text }, forbidden: forbiddenBody(body), shown: text.slice(0, 400) });
      continue;
    }
    const [pairs = []] = fc.sample(spoiledQuery(sent.query ?? {}, known), { numRuns: 1, seed: seed + index });
    const repeated = new Set(pairs.map(([name]) => name)).size < pairs.length;
    const stranger = pairs.some(([name]) => !known.includes(name));
    const forbidden =
      stranger || repeated || route.query?.safeParse(Object.fromEntries(pairs)).success === false;
    const search = new URLSearchParams(pairs).toString();
    found.push({ sent, raw: { search }, forbidden, shown: search.slice(0, 400) });
  }
  return found;
}

async function sendInvalid(ground: Ground): Promise<Outcome> {
  const { walk, route, builder } = ground;
  const site = await ground.siteFor();
  const credential = authorizedCaller(route, site);
  // Rejected inputs change nothing, so one prepared request serves all; inputs that the schema happens to
  // allow may change it.
  const inputs = spoiledInputs(ground, await builder.build(site));
  const failures: string[] = [];
  await inBatches(inputs, builder.alone === true ? 1 : batchSize, async ({ sent, raw, forbidden, shown }) => {
    const answer = await walk.send(route, sent, credential, raw);
    if (forbidden && (answer.status < 400 || answer.status === 404))
      failures.push(`answered ${answer.status} for the forbidden ${shown}`);
    failures.push(...unexpected(walk, route, answer).map((problem) => `${problem} for ${shown}`));
  });
  return { count: inputs.filter(({ forbidden }) => forbidden).length, failures };
}

/** 404 and 413 have nothing to do with the input's type. */
const unexpected = (walk: Walk, route: Route, answer: Answer): string[] =>
  [404, 413].includes(answer.status) ? [] : answerProblems(walk, route, answer);

export async function checkInputs(walk: Walk, route: Route, seed: number): Promise<InputsReport> {
  const { builder, site: siteFor } = walk.getBuilder(route);
  const fields =
    typeof builder.fields === 'function' ? await builder.fields(await siteFor()) : (builder.fields ?? {});
  const ground: Ground = { walk, route, builder, siteFor, fields, seed };
  const valid = await sendValid(ground);
  const invalid = await sendInvalid(ground);
  return {
    failures: [...valid.failures, ...invalid.failures].slice(0, 10),
    valid: valid.count,
    invalid: invalid.count,
  };
}
