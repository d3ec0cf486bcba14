// The payment providers of this service. Adding one takes:
// 1. its name in `providerNames` (provider.ts); the schemas and types of src/platform/pay follow,
// 2. a folder next to this file that exports a `ProviderKind`, and its entry in `kinds` below,
// 3. its secrets in the description of `PayConfigInput.secrets` (src/platform/pay/pay.schemas.ts) and in docs/pay.md,
// 4. docs/openapi.json, generated again with `npm run openapi`,
// 5. if it needs settings, such as an address: src/core/settings.ts, src/config.ts, .env.example, test/setup/database.ts, and
//    docs/security.md for an address that must be https,
// 6. if it calls `fetch` itself or brings a library: the lists in test/contract/architecture.test.ts.
// The database needs no migration: `pay_accounts.provider` is free text.
import type { ProviderKind, ProviderName } from './provider.ts';
import { sandbox } from './sandbox/sandbox.ts';
import { stripe } from './stripe/stripe.ts';

const kinds: readonly ProviderKind[] = [sandbox, stripe];

/** Undefined for a provider that this installation doesn't include. */
export const findProviderKind = (name: ProviderName): ProviderKind | undefined => kinds.find((kind) => kind.name === name);
