import { z } from 'zod';
import { IdParams } from '../../http/fields.ts';
import { defineRoute, inGroup } from '../../http/route/define.ts';
import { MintedTokens, NewTokens, Subject } from './tokens.schemas.ts';
import { mintTokens, revokeTokens } from './tokens.service.ts';

export const tokenRoutes = inGroup('API Keys', [
  defineRoute('mintApiKeyTokens', 'POST /api-keys/{id}/tokens', {
    permission: 'api-key:update',
    readsRecords: true,
    openToOwnKey: true,
    summary: 'Mint tokens of an API key',
    description:
      'Each token reads at most what the key reads at the time of a request, narrowed by its scopes. The public interface and the record tools ' +
      'of `/mcp` accept it. It ends at its expiry, within a second after the secret that minted it ends, and when the tokens of its subject are ' +
      "revoked; minted by a person, it is bound to the key's current secret and ends with their membership too. Reading masked fields as they " +
      'are requires `scopes.unmasked` of both the key and the token.',
    params: IdParams,
    body: NewTokens,
    example: {
      tokens: [
        {
          subject: 'customer:1042',
          expiresInSeconds: 900,
          scopes: { rows: { invoices: [{ field: 'customerId', in: ['1042'] }] } },
        },
      ],
    },
    response: MintedTokens,
    status: 201,
    shownOnce: ['tokens'],
    handler: (ctx, { params, body }) => mintTokens(ctx, params.id, body),
  }),
  defineRoute('revokeApiKeyTokens', 'DELETE /api-keys/{id}/tokens', {
    permission: 'api-key:update',
    openToOwnKey: true,
    summary: 'Revoke the tokens of a subject',
    description:
      'Takes effect everywhere within one second. Tokens that are minted for the subject afterwards work.',
    params: IdParams,
    query: z.strictObject({ subject: Subject }),
    handler: (ctx, { params, query }) => revokeTokens(ctx, params.id, query.subject),
  }),
]);
