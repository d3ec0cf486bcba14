// The providers that there are. Adding one is its file and its line here.
import type { ProviderKind, ProviderName } from './provider.ts';
import { sandbox } from './sandbox/sandbox.ts';
import { stripe } from './stripe/stripe.ts';

const kinds: readonly ProviderKind[] = [sandbox, stripe];

/** Undefined for one that this installation does not have. */
export const findProviderKind = (name: ProviderName): ProviderKind | undefined => kinds.find((kind) => kind.name === name);
