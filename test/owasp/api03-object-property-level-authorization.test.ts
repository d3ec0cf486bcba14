// API3:2023 Broken object property level authorization. One unknown field of each operation:
// test/contract/every-route; what a response may contain: test/contract/walk, where every response is
// stripped to its schema; secrets: test/contract/secrets. Here each operation with a body is sent every
// property that any response has and the caller may not set, all in one request, and nested as well.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { platformRoutes } from '../../src/platform/index.ts';
import { SchemaDocument } from '../../src/public/index.ts';
import { authorizedCaller, guardedRoutes, useWalk } from '../contract/walk.ts';

const walk = useWalk();

type Shape = {
  properties?: Record<string, Shape>;
  items?: Shape;
  anyOf?: Shape[];
  oneOf?: Shape[];
  allOf?: Shape[];
  additionalProperties?: unknown;
  type?: string;
};
const listParts = (shape: Shape): Shape[] => [shape.anyOf ?? [], shape.oneOf ?? [], shape.allOf ?? []].flat();
const namesIn = (shape: Shape): string[] => [
  ...listParts(shape).flatMap(namesIn),
  ...Object.entries(shape.properties ?? {}).flatMap(([name, inner]) => [name, ...namesIn(inner)]),
  ...(shape.items === undefined ? [] : namesIn(shape.items)),
];
const topNames = (shape: Shape): string[] => [
  ...listParts(shape).flatMap(topNames),
  ...Object.keys(shape.properties ?? {}),
];
type Whole = { $defs?: Record<string, unknown> };

/** Inlines named schemas; a recursive one is left out. */
function toShape(schema: z.ZodType, io: 'input' | 'output'): Shape {
  const { $defs = {}, ...root } = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as Whole;
  const inline = (value: unknown, within: readonly string[]): unknown => {
    if (Array.isArray(value)) return value.map((item) => inline(item, within));
    if (typeof value !== 'object' || value === null) return value;
    const name = '$ref' in value && typeof value.$ref === 'string' ? value.$ref.split('/').at(-1) : undefined;
    if (name !== undefined) return within.includes(name) ? {} : inline($defs[name], [...within, name]);
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inline(inner, within)]));
  };
  return inline(root, []) as Shape;
}

/** The value that chooses one of a body's forms, where it has several. */
function kindOf({ body }: { readonly body: z.ZodType | undefined }): Record<string, unknown> {
  const [form] = (body instanceof z.ZodDiscriminatedUnion ? body.options : []) as z.ZodObject[];
  return form?.shape['kind'] instanceof z.ZodLiteral ? { kind: [...form.shape['kind'].values][0] } : {};
}

/** Properties that an attacker would guess and that no response has. */
const guessed = ['organization_id', 'owner_id', 'isAdmin', 'admin', 'secretHash', 'constructor', 'prototype'];

describe('a body', () => {
  const withBody = guardedRoutes().filter(({ body }) => body !== undefined);
  const ofAnswers = platformRoutes.flatMap(({ response }) =>
    response === undefined ? [] : namesIn(toShape(response, 'output')),
  );
  const names = [...new Set([...guessed, ...ofAnswers])];

  it('accepts only its own properties, in every operation: each of the others is reported', async () => {
    expect(withBody.length).toBeGreaterThan(40);
    expect(names.length).toBeGreaterThan(200);
    const wrong: string[] = [];
    for (const route of withBody) {
      const own = new Set(topNames(toShape(route.body as z.ZodType, 'input')));
      const foreign = names.filter((name) => !own.has(name));
      const site = await walk.getBuilder(route).site();
      const absent = (name: string): string =>
        name === 'name' || name === 'connection' ? 'absent' : '00000000-0000-4000-8000-000000000000';
      const ids = Object.fromEntries(
        Object.keys(route.params?.shape ?? {}).map((name) => [name, absent(name)]),
      );
      const params = route.path.startsWith('/organizations/{id}')
        ? { ...ids, id: site.organization.id }
        : ids;
      // A response reports at most a hundred problems, so only a few properties at a time; two requests are
      // enough.
      for (const part of [foreign.slice(0, 40), foreign.slice(40, 80)]) {
        const body = { ...Object.fromEntries(part.map((name) => [name, 'x'])), ...kindOf(route) };
        const answer = await walk.send(route, { params, body }, authorizedCaller(route, site));
        const named = new Set(
          (answer.body?.error?.details ?? [])
            .filter(({ code }: { code: string }) => code === 'unknown_field')
            .map(({ path }: { path: string }) => path),
        );
        const silent = part.filter((name) => !named.has(name));
        if (answer.status !== 422 || silent.length > 0)
          wrong.push(`${route.id}: ${answer.status} ${silent.join()}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('is closed at every depth, the definition of a version too', () => {
    const open = (shape: Shape, at: string): string[] => [
      ...(shape.properties !== undefined && shape.additionalProperties !== false ? [at] : []),
      ...listParts(shape).flatMap((part) => open(part, at)),
      ...Object.entries(shape.properties ?? {}).flatMap(([name, inner]) => open(inner, `${at}.${name}`)),
      ...(shape.items === undefined ? [] : open(shape.items, `${at}[]`)),
    ];
    expect(open(toShape(z.object({ a: z.strictObject({}) }), 'input'), 'x')).toEqual(['x']);
    const bodies = withBody.flatMap((route) =>
      route.body === undefined ? [] : open(toShape(route.body, 'input'), route.id),
    );
    expect([...bodies, ...open(toShape(SchemaDocument, 'input'), 'document')]).toEqual([]);
  });
});

describe('a response', () => {
  /** Shown once: by operation. */
  const harmless: Readonly<Record<string, string>> = {
    createApiKey: 'secret',
    rotateApiKey: 'secret',
    createWebhook: 'secret',
    rotateWebhookSecret: 'secret',
    mintApiKeyTokens: 'token',
  };
  /** When the secret of a transferred key ends, and whether there is one. */
  const aboutSecrets = ['secretEndsAt', 'hasClientSecret', 'previousSecretEndsAt'];
  it('has no property named like a secret, except where one is shown once', () => {
    const secretName = /secret|password|private|hash|token$|sealed|cipher/i;
    const found = platformRoutes.flatMap(({ id, response }) => {
      if (response === undefined || Object.hasOwn(harmless, id)) return [];
      return namesIn(toShape(response, 'output'))
        .filter((name) => secretName.test(name) && !aboutSecrets.includes(name))
        .map((name) => `${id}: ${name}`);
    });
    expect(found).toEqual([]);
    for (const id of Object.keys(harmless)) {
      const route = platformRoutes.find((one) => one.id === id);
      expect(route?.response && namesIn(toShape(route.response, 'output'))).toContain(harmless[id]);
    }
  });
});
