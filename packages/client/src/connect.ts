// Connects without a generated client: resources are found out, and records have no types.
import { createResources, type Resource } from './client.ts';
import { toPropertyNames } from './names.ts';
import type { Query } from './query.ts';
import { type ClientOptions, createTransport, type Transport } from './transport.ts';

/** A version that the key reads. */
export type FoundVersion = {
  readonly version: string;
  readonly name: string;
  readonly state: 'published' | 'deprecated';
  /** When it may be retired. */
  readonly sunsetAt: string | null;
  readonly resources: readonly { readonly name: string }[];
};

/** The versions that the key reads. Rejects as `Transport.read` does. */
export async function listVersions(transport: Transport): Promise<readonly FoundVersion[]> {
  const { body } = await transport.read('/api/public');
  return (body as { readonly data: readonly FoundVersion[] }).data;
}

const numberOf = ({ version }: FoundVersion): number => Number(version.slice(1));

/**
 * The version of that name, by default the newest that isn't deprecated, else the newest. Throws a TypeError
 * that lists the versions when there is none.
 */
export function chooseVersion(versions: readonly FoundVersion[], name?: string): FoundVersion {
  const [newest] = versions
    .filter(({ version }) => name === undefined || version === name)
    .sort(
      (one, other) =>
        Number(one.state === 'deprecated') - Number(other.state === 'deprecated') ||
        numberOf(other) - numberOf(one),
    );
  if (newest !== undefined) return newest;
  const known = versions.map(({ version }) => version).join(', ') || 'none';
  throw new TypeError(`The key reads no version ${name ?? 'at all'}. It reads: ${known}`);
}

export type UntypedResource = Resource<{
  record: { readonly id: string; readonly [field: string]: unknown };
  related: { readonly [name: string]: unknown };
  selection: Query;
  summary: { parameters: Query; row: { readonly [name: string]: unknown } };
}>;

/**
 * The resources of a version, by default the newest, under their names: `creditMemos` for `credit-memos`.
 * Rejects with ApiError for a refusal, and with a TypeError when the key doesn't read the version.
 */
export async function connect({
  version,
  ...options
}: ClientOptions & { readonly version?: string }): Promise<{ readonly [resource: string]: UntypedResource }> {
  const transport = createTransport(options);
  const found = chooseVersion(await listVersions(transport), version);
  const names = toPropertyNames(found.resources.map(({ name }) => name));
  const facts = Object.fromEntries([...names].map(([name, property]) => [property, { name }]));
  return createResources<{ readonly [resource: string]: UntypedResource }>(transport, found.version, facts);
}
