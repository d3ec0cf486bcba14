// Rules for the success response of every operation: as described, rate limited, audited once, free of
// secrets, and replayable by its key.
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { createId } from '../../../src/core/id.ts';
import { type Route, successStatus } from '../../../src/http/route/route.ts';
import { createArbitrary, toWireSchema } from '../arbitrary.ts';
import type { Sent } from '../builder.ts';
import type { Answer } from '../http.ts';
import { authorizedCaller, isWrite, type Site, type Walk } from '../walk.ts';

/**
 * A validator's default messages, which must never be sent. Our own "Unknown …" names what is unknown, or
 * what is available.
 */
const rawMessages =
  /^(Invalid|Too |Unrecognized|Unknown (?!(?:field|query parameter|parameter) "|model\. Available: )|No matching)|\bexpected\b|\breceived\b/;

/** Rules for every response of an operation, success or error. */
export function answerProblems(walk: Walk, route: Route, answer: Answer): string[] {
  const problems: string[] = [];
  if (answer.status >= 500) problems.push(`answered ${answer.status} ${answer.text}`);
  const undescribed = walk.description.findProblem(route.id, answer);
  if (undescribed !== undefined) problems.push(undescribed);
  if (typeof answer.headers['x-request-id'] !== 'string') problems.push('has no X-Request-Id');
  if (answer.status >= 400 && answer.body?.error?.requestId !== answer.headers['x-request-id'])
    problems.push('names another request id in its body than in its header');
  if (
    answer.status !== 401 &&
    (answer.headers['ratelimit'] === undefined || answer.headers['ratelimit-policy'] === undefined)
  )
    problems.push(`${answer.status} has no RateLimit headers`);
  const unplain = (answer.body?.error?.details ?? []).find(({ message }: { message: string }) =>
    rawMessages.test(message),
  );
  if (unplain !== undefined) problems.push(`sends a default message of the validator: ${unplain.message}`);
  if ([...walk.secrets].some((secret) => answer.text.includes(secret)))
    problems.push('its answer holds a secret');
  return problems;
}

/** Every string that was sent in a field whose name marks it as secret. */
function noteSentSecrets(walk: Walk, sent: Sent): void {
  const look = (value: unknown, name: string): void => {
    if (typeof value === 'string' && value.length >= 8 && /secret|password|privatekey|token$/i.test(name))
      walk.secrets.add(value);
    if (typeof value === 'object' && value !== null)
      for (const [key, item] of Object.entries(value)) look(item, key);
  };
  look(sent.body, '');
}
/** A value that is shown once is a secret from then on. */
function noteShownSecrets(walk: Walk, route: Route, answer: Answer): void {
  for (const name of route.shownOnce ?? []) {
    const shown: unknown = answer.body?.[name];
    for (const value of Array.isArray(shown) ? shown.map(({ token }: { token: unknown }) => token) : [shown])
      if (typeof value === 'string') walk.secrets.add(value);
  }
}

/** The success response: its status, its type, one audit log row for a write and none for a read. */
export async function successResponse(walk: Walk, route: Route): Promise<string[]> {
  const { builder, site: openSite } = walk.getBuilder(route);
  const site = await openSite();
  const sent = await builder.build(site);
  noteSentSecrets(walk, sent);
  const answer = await walk.send(route, sent, authorizedCaller(route, site));
  const problems = answerProblems(walk, route, answer);
  noteShownSecrets(walk, route, answer);
  if (answer.status !== successStatus(route))
    problems.push(`the builder's request was answered ${answer.status} ${answer.text}`);
  const rows = await walk.auditRows(String(answer.headers['x-request-id']));
  const wanted = builder.auditRows ?? (isWrite(route) ? 1 : 0);
  if (rows.length !== wanted) problems.push(`left ${rows.length} rows in the audit log instead of ${wanted}`);
  for (const { action, ip } of rows) {
    if (!/^[a-z-]+\.[a-z-]+$/.test(action)) problems.push(`its audit action is called ${action}`);
    if (ip !== '127.0.0.1') problems.push(`its audit row names the address ${ip}`);
  }
  for (const secret of walk.secrets) {
    if (rows.some(({ text }) => text.includes(secret))) problems.push('its audit row holds a secret');
  }
  if (route.method === 'GET') problems.push(...(await headAnswer(walk, route, site, sent, answer)));
  return problems;
}

async function headAnswer(walk: Walk, route: Route, site: Site, sent: Sent, got: Answer): Promise<string[]> {
  const head = await walk.send(route, sent, authorizedCaller(route, site), { method: 'HEAD' });
  if (head.status === got.status && head.text === '') return [];
  return [`answers HEAD with ${head.status} and ${head.text.length} characters`];
}

/** A different body of the same type. */
function otherBody(route: Route, body: Sent['body']): unknown {
  if (route.body === undefined) return body === undefined ? {} : undefined;
  const { body: schema } = route;
  const wire = toWireSchema(schema);
  const same = JSON.stringify(body ?? {});
  return fc
    .sample(createArbitrary(wire, wire, 'body', {}), { numRuns: 50, seed: 7 })
    .find((made) => JSON.stringify(made) !== same && schema.safeParse(made).success);
}

/**
 * The same Idempotency-Key gets the stored response without the values that are shown once; with another body
 * it gets 422.
 */
export async function repeated(walk: Walk, route: Route): Promise<string[]> {
  const { builder, site: openSite } = walk.getBuilder(route);
  const site = await openSite();
  const sent = await builder.build(site);
  const headers = { 'idempotency-key': createId() };
  const first = await walk.send(route, sent, authorizedCaller(route, site), { headers });
  noteShownSecrets(walk, route, first);
  const second = await walk.send(route, sent, authorizedCaller(route, site), { headers });
  const problems: string[] = [];
  if (first.status !== successStatus(route))
    problems.push(`the builder's request was answered ${first.status} ${first.text}`);
  if (second.headers['idempotency-replayed'] !== 'true')
    problems.push('a repeated request was carried out again');
  if (first.headers['idempotency-replayed'] !== undefined)
    problems.push('a first request was answered as a repeated one');
  const hidden = Object.fromEntries((route.shownOnce ?? []).map((name) => [name, null]));
  const expected = first.body === undefined ? undefined : { ...first.body, ...hidden };
  if (second.status !== first.status || !isDeepStrictEqual(second.body, expected))
    problems.push(
      `a repeated request was answered ${second.status} ${second.text} after ${first.status} ${first.text}`,
    );
  const body = otherBody(route, sent.body);
  const other = await walk.send(route, sent, authorizedCaller(route, site), {
    headers,
    body: JSON.stringify(body),
  });
  if (other.status !== 422 || other.body?.error?.details?.[0]?.code !== 'key_reused')
    problems.push(`another body with the same key was answered ${other.status} ${other.text}`);
  return [...problems, ...answerProblems(walk, route, second)];
}

/** Private keys and signed tokens of any owner. */
const neverKept = /PRIVATE KEY|eyJ[\w-]{8,}\.eyJ/;

/** After everything else: no secret is in any row or log line. */
export async function leakedSecrets(walk: Walk): Promise<string[]> {
  const places = { 'the database': await walk.storedText(), 'the log': walk.lines.join('') };
  return Object.entries(places).flatMap(([place, text]) => [
    ...[...walk.secrets]
      .filter((secret) => text.includes(secret))
      .map((secret) => `${place} holds ${secret.slice(0, 8)}…`),
    ...(neverKept.test(text) ? [`${place} holds a private key or a token`] : []),
  ]);
}
