// NetSuite's set-up pages for integration records and OAuth 2.0 certificates, as JSON for the page in this
// folder. Part of the control listener, mounted at /set-up behind its token.
import { Router } from 'express';
import { z } from 'zod';
import { ControlError } from '../control/control-error.ts';
import { parseBody } from '../control/parse.ts';
import type { Integrations } from '../sign-in/integrations.ts';

export type SetUpParts = {
  accountId: string;
  accountUrl: string;
  integrations: Pick<Integrations, 'list' | 'create' | 'uploadCertificate' | 'revokeCertificate'>;
};

const NewIntegration = z.strictObject({ name: z.string().trim().min(1).max(100) });
const NewCertificate = z.strictObject({ certificatePem: z.string() });
const Nothing = z.strictObject({});

/** Rejects with ControlError 422 for what the account refuses. */
const asRefusal = async <T>(work: Promise<T>): Promise<T> =>
  work.catch((error: unknown) => {
    throw error instanceof RangeError ? new ControlError(422, error.message, [], { cause: error }) : error;
  });

/** The routes reject with ControlError for an invalid body and for what the account refuses. */
export function createSetUpRoutes({ accountId, accountUrl, integrations }: SetUpParts): Router {
  const router = Router({ caseSensitive: true });
  router.get('/integrations', async (_request, response) => {
    response.json({ account: { id: accountId, url: accountUrl }, integrations: await integrations.list() });
  });
  router.post('/integrations', async (request, response) => {
    const { name } = parseBody(NewIntegration, request);
    response.status(201).json(await integrations.create(name));
  });
  router.post('/integrations/:clientId/certificates', async (request, response) => {
    const { certificatePem } = parseBody(NewCertificate, request);
    response
      .status(201)
      .json(await asRefusal(integrations.uploadCertificate(request.params.clientId, certificatePem)));
  });
  router.post('/certificates/:certificateId/revoke', async (request, response) => {
    parseBody(Nothing, request);
    const { certificateId } = request.params;
    await asRefusal(integrations.revokeCertificate(certificateId));
    response.json({ certificateId });
  });
  return router;
}
