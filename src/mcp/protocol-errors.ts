// The protocol's errors in this service's words. The library fills them with texts of its validator and
// exceptions; callers get the names of the parameters that are wrong, or one text for each error code.
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  ProtocolErrorCode,
  SUPPORTED_PROTOCOL_VERSIONS,
  specTypeSchemas,
} from '@modelcontextprotocol/server';

type Json = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;

/** The requests that this service answers. */
const requestSchemas = new Map<unknown, (typeof specTypeSchemas)[keyof typeof specTypeSchemas]>([
  ['initialize', specTypeSchemas.InitializeRequest],
  ['ping', specTypeSchemas.PingRequest],
  ['server/discover', specTypeSchemas.DiscoverRequest],
  ['tools/list', specTypeSchemas.ListToolsRequest],
  ['tools/call', specTypeSchemas.CallToolRequest],
]);

const { InvalidParams, InternalError, UnsupportedProtocolVersion } = ProtocolErrorCode;

const texts = new Map<unknown, string>([
  [ProtocolErrorCode.ParseError, 'Parse error: the body is not a JSON-RPC message'],
  [
    ProtocolErrorCode.InvalidRequest,
    'Invalid request: send one JSON-RPC 2.0 message, or a batch of at most 100 messages without initialize',
  ],
  [
    ProtocolErrorCode.MethodNotFound,
    'Method not found: this service has tools only (tools/list and tools/call)',
  ],
  [InvalidParams, 'Invalid params'],
  [UnsupportedProtocolVersion, 'Unsupported protocol version'],
  [
    -32_020,
    'The headers MCP-Protocol-Version, Mcp-Method and Mcp-Name must be present and agree with the body',
  ],
  [
    -32_000,
    `Unsupported protocol version in the header MCP-Protocol-Version; supported are ${SUPPORTED_PROTOCOL_VERSIONS.join(', ')}`,
  ],
]);
const textsOfMethods = new Map<unknown, string>([
  [`tools/call ${InvalidParams}`, 'Unknown tool: tools/list has the names of the tools'],
  [`subscriptions/listen ${InternalError}`, 'Subscriptions are not supported: the tools never change'],
]);

const maxNamed = 10;
const maxNameLength = 100;

/** The paths of the parameters of a request that are missing or wrong, such as `clientInfo.version`. */
function findWrongParams(request: Json): string[] {
  const result = requestSchemas.get(request['method'])?.['~standard'].validate(request);
  const paths = (result?.issues ?? []).map(({ path = [] }) =>
    path
      .slice(path.length > 1 ? 1 : 0)
      .map((part) => String(typeof part === 'object' ? part.key : part))
      .join('.')
      .slice(0, maxNameLength),
  );
  return [...new Set(paths)].slice(0, maxNamed);
}

const envelopeText = `Invalid params: _meta must have ${PROTOCOL_VERSION_META_KEY}, ${CLIENT_INFO_META_KEY} and ${CLIENT_CAPABILITIES_META_KEY}`;

function ownError({ code, data }: Json, request: Json): Json {
  const wrong = code === InvalidParams || code === InternalError ? findWrongParams(request) : [];
  if (wrong.length > 0)
    return {
      code: InvalidParams,
      message: `Invalid params: missing or of a wrong type: ${wrong.join(', ')}`,
    };
  if (isObject(data) && 'envelope' in data) return { code, message: envelopeText };
  const message =
    textsOfMethods.get(`${String(request['method'])} ${String(code)}`) ?? texts.get(code) ?? 'Internal error';
  // Clients choose another version by the ones that this error lists.
  return { code, message, ...(code === UnsupportedProtocolVersion && { data }) };
}

/** `answer` is the response to `sent`, or a list of responses to the batch `sent`. Pure. */
export function inOwnWords(answer: unknown, sent: unknown): unknown {
  if (Array.isArray(answer)) return answer.map((one) => inOwnWords(one, sent));
  if (!isObject(answer) || !isObject(answer['error'])) return answer;
  const request = [sent].flat().find((message) => isObject(message) && message['id'] === answer['id']);
  return { ...answer, error: ownError(answer['error'], isObject(request) ? request : {}) };
}
