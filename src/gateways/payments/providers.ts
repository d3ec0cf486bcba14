// The payment providers of this service. A name has 1 to 20 lower-case letters, is stored with each account
// and is part of its webhook's address. Schemas, types and the API description follow from this table;
// CONTRIBUTING.md lists what else a new provider takes.
import type { ProviderKind } from './provider.ts';
import { sandbox } from './sandbox/sandbox.ts';
import { stripe } from './stripe/stripe.ts';

export const providers = { sandbox, stripe } satisfies Record<string, ProviderKind>;

export type ProviderName = keyof typeof providers;
export const providerNames = Object.keys(providers) as [ProviderName, ...ProviderName[]];

const byName = new Map<string, ProviderKind>(Object.entries(providers));
/** Undefined for a provider that this installation doesn't include, which a stored account may name. */
export const findProviderKind = (name: string): ProviderKind | undefined => byName.get(name);
