// /services/rest/record/v1/metadata-catalog. It lists every type whose feature is on, be it hidden from the role or not.
import { type Request, type Response, Router } from 'express';
import type { RoleView } from '../tables/role-view.ts';
import { originOf, Refusal, sendCollection, sendJson, sendSingle } from '../wire.ts';
import { catalogEntry, linkSchema, schemaOf } from './metadata.ts';
import { openApiOf } from './open-api.ts';
import { requireKnownType } from './record-path.ts';
import { RECORD_TYPES } from './record-types.ts';

const SCHEMA = 'application/schema+json';
const SWAGGER = 'application/swagger+json';

export function catalogRoutes(role: RoleView): Router {
  const router = Router();
  router.get('/metadata-catalog', (request, response) => listCatalog(role, request, response));
  router.get('/metadata-catalog/:type', (request, response) => describeType(role, request, response));
  return router;
}

async function listCatalog(role: RoleView, request: Request, response: Response): Promise<void> {
  const select = request.query['select'];
  if (select !== undefined && (typeof select !== 'string' || /\s/.test(select))) {
    const detail = 'Invalid value for the query parameter select.';
    throw new Refusal(400, { detail, 'o:errorQueryParam': 'select', 'o:errorCode': 'INVALID_REQUEST' });
  }
  const all = RECORD_TYPES.filter(({ table }) => role.isSwitchedOn(table));
  const types = select === undefined ? all : select.split(',').map((name) => requireKnownType(role, request, name));
  const origin = originOf(request);
  await sendCollection(response, {
    items: types.map((type) => catalogEntry(type, origin)),
    links: [{ rel: 'self', href: `${origin}${request.baseUrl}/metadata-catalog` }],
  });
}

async function describeType(role: RoleView, request: Request, response: Response): Promise<void> {
  const accept = request.get('accept') ?? '*/*';
  if (String(request.params['type']).toLowerCase() === 'nslink') return sendJson(response, 200, SCHEMA, linkSchema);
  const type = requireKnownType(role, request);
  if (accept.includes(SWAGGER)) await sendJson(response, 200, SWAGGER, openApiOf(type, originOf(request)));
  else if (accept.includes(SCHEMA)) await sendJson(response, 200, SCHEMA, schemaOf(type));
  else await sendSingle(response, catalogEntry(type, originOf(request)));
}
