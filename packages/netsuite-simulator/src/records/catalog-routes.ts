// /services/rest/record/v1/metadata-catalog: every type whose feature is on, even if the role can't read it.
// What the control interface hides is absent.
import { type Request, type Response, Router } from 'express';
import type { RoleVisibility } from '../tables/role-visibility.ts';
import { getOrigin, RestError, sendCollection, sendJsonBody, sendSingle } from '../wire.ts';
import { catalogEntry, linkSchema, recordJsonSchema } from './metadata.ts';
import { recordOpenApi } from './open-api.ts';
import { getCatalogType } from './record-path.ts';
import { listCatalogTypes } from './record-types.ts';

const SCHEMA = 'application/schema+json';
const SWAGGER = 'application/swagger+json';

/** The routes throw RestError: 400 for a bad `select`, 404 for an unknown type. */
export function catalogRoutes(role: RoleVisibility): Router {
  const router = Router();
  router.get('/metadata-catalog', (request, response) => listCatalog(role, request, response));
  router.get('/metadata-catalog/:type', (request, response) => describeType(role, request, response));
  return router;
}

async function listCatalog(role: RoleVisibility, request: Request, response: Response): Promise<void> {
  const select = request.query['select'];
  if (select !== undefined && (typeof select !== 'string' || /\s/.test(select))) {
    const detail = 'Invalid value for the query parameter select.';
    throw new RestError(400, { detail, 'o:errorQueryParam': 'select', 'o:errorCode': 'INVALID_REQUEST' });
  }
  const types =
    select === undefined
      ? listCatalogTypes(role)
      : select.split(',').map((name) => getCatalogType(role, request, name));
  const origin = getOrigin(request);
  await sendCollection(response, {
    items: types.map((type) => catalogEntry(type, origin)),
    links: [{ rel: 'self', href: `${origin}${request.baseUrl}/metadata-catalog` }],
  });
}

async function describeType(role: RoleVisibility, request: Request, response: Response): Promise<void> {
  const accept = request.get('accept') ?? '*/*';
  if (String(request.params['type']).toLowerCase() === 'nslink')
    return sendJsonBody(response, 200, SCHEMA, linkSchema);
  const type = getCatalogType(role, request);
  if (accept.includes(SWAGGER))
    await sendJsonBody(response, 200, SWAGGER, recordOpenApi(type, getOrigin(request)));
  else if (accept.includes(SCHEMA)) await sendJsonBody(response, 200, SCHEMA, recordJsonSchema(type));
  else await sendSingle(response, catalogEntry(type, getOrigin(request)));
}
