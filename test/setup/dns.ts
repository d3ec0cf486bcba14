// A real DNS server on loopback, over UDP and TCP on one port, whose answers a test sets by name.
import dgram from 'node:dgram';
import net, { isIPv6 } from 'node:net';
import { type DecodedPacket, decode, encode, type Packet, type TxtAnswer } from 'dns-packet';

type Addresses = {
  /** IPv4 and IPv6 addresses, returned for A and AAAA queries. */
  readonly addresses: readonly string[];
};
type Texts = {
  /** Each record is one text, or several strings. */
  readonly txt: readonly (string | readonly string[])[];
  /** The records are at this name, and the queried name is a CNAME of it. */
  readonly alias?: string;
};
type Trouble = 'nxdomain' | 'nodata' | 'servfail' | 'refused' | 'silent' | 'wrong-id' | 'garbage' | 'cut-off';
type Behaviour = Texts | Addresses | Trouble;

export type DnsServer = {
  /** For `settings.dnsServers`. */
  readonly address: string;
  /** The queried names, in order, with the transport. */
  readonly asked: { readonly name: string; readonly by: 'udp' | 'tcp' }[];
  /** Names that aren't set don't exist. */
  set(name: string, behaviour: Behaviour): void;
  /** Called for each query; the answer waits for it. */
  onAsked(listener: (name: string) => unknown): void;
  stop(): Promise<void>;
};

const rcodes = { nxdomain: 3, servfail: 2, refused: 5 } as const;
const maxUdpBytes = 512;
/** The flag TC (truncated): the client must repeat the query over TCP. */
const truncated = 1 << 9;

function createAddressAnswers(
  name: string,
  type: string | undefined,
  { addresses }: Addresses,
): Packet['answers'] {
  const fitting = addresses.filter((address) => (isIPv6(address) ? 'AAAA' : 'A') === type);
  return fitting.map((data) => ({ type: isIPv6(data) ? 'AAAA' : 'A', name, ttl: 0, data }));
}

function createTextAnswers(name: string, { txt, alias }: Texts): Packet['answers'] {
  const records = txt.map(
    (text): TxtAnswer => ({
      type: 'TXT',
      name: alias ?? name,
      ttl: 0,
      data: typeof text === 'string' ? text : [...text],
    }),
  );
  return alias === undefined ? records : [{ type: 'CNAME', name, ttl: 0, data: alias }, ...records];
}

/** The bytes of the response; undefined for none. */
function reply(query: DecodedPacket, behaviour: Behaviour): Buffer | undefined {
  const name = query.questions?.[0]?.name ?? '';
  const packet: Packet = {
    type: 'response',
    id: query.id ?? 0,
    flags: 0x0180,
    questions: query.questions ?? [],
  };
  if (behaviour === 'silent') return undefined;
  if (behaviour === 'garbage') return Buffer.from('not a DNS message');
  if (behaviour === 'nodata') return encode(packet);
  const forged = { ...packet, answers: createTextAnswers(name, { txt: ['forged'] }) };
  if (behaviour === 'wrong-id') return encode({ ...forged, id: ((query.id ?? 0) + 1) % 65_536 });
  if (behaviour === 'cut-off') return encode(forged).subarray(0, -4);
  if (typeof behaviour === 'string') return encode({ ...packet, flags: 0x0180 | rcodes[behaviour] });
  if ('addresses' in behaviour)
    return encode({ ...packet, answers: createAddressAnswers(name, query.questions?.[0]?.type, behaviour) });
  return encode({ ...packet, answers: createTextAnswers(name, behaviour) });
}

/**
 * Binds the same port for both. The system chooses one for TCP; it may be in use for UDP, then another one is
 * tried.
 */
async function bound(): Promise<{ udp: dgram.Socket; tcp: net.Server; port: number }> {
  const tcp = net.createServer();
  await new Promise<void>((resolve, reject) => tcp.once('error', reject).listen(0, '127.0.0.1', resolve));
  const { port } = tcp.address() as net.AddressInfo;
  const udp = dgram.createSocket('udp4');
  const problem = await new Promise<Error | null>((resolve) =>
    udp.once('error', resolve).bind(port, '127.0.0.1', () => resolve(null)),
  );
  if (problem === null) return { udp, tcp, port };
  udp.close();
  tcp.close();
  if ('code' in problem && problem.code === 'EADDRINUSE') return bound();
  throw problem;
}

export async function startDns(): Promise<DnsServer> {
  const behaviours = new Map<string, Behaviour>();
  const asked: { name: string; by: 'udp' | 'tcp' }[] = [];
  const sockets = new Set<net.Socket>();
  let listener: (name: string) => unknown = () => undefined;
  const { udp, tcp, port } = await bound();

  const handle = async (bytes: Buffer, by: 'udp' | 'tcp'): Promise<Buffer | undefined> => {
    const query = decode(bytes);
    const name = (query.questions?.[0]?.name ?? '').toLowerCase();
    asked.push({ name, by });
    await listener(name);
    const whole = reply(query, behaviours.get(name) ?? 'nxdomain');
    if (by === 'tcp' || whole === undefined || whole.length <= maxUdpBytes) return whole;
    return encode({
      type: 'response',
      id: query.id ?? 0,
      flags: 0x0180 | truncated,
      questions: query.questions ?? [],
    });
  };
  udp.on('message', async (bytes, from) => {
    const answer = await handle(bytes, 'udp');
    if (answer !== undefined) udp.send(answer, from.port, from.address);
  });
  tcp.on('connection', (socket) => {
    sockets.add(socket);
    let buffered = Buffer.alloc(0);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', async (chunk) => {
      buffered = Buffer.concat([buffered, chunk]);
      while (buffered.length >= 2 && buffered.length >= 2 + buffered.readUInt16BE(0)) {
        const end = 2 + buffered.readUInt16BE(0);
        const query = buffered.subarray(2, end);
        buffered = buffered.subarray(end);
        const answer = await handle(query, 'tcp');
        if (answer === undefined) continue;
        const length = Buffer.alloc(2);
        length.writeUInt16BE(answer.length);
        socket.write(Buffer.concat([length, answer]));
      }
    });
  });
  return {
    address: `127.0.0.1:${port}`,
    asked,
    set: (name, behaviour) => void behaviours.set(name, behaviour),
    onAsked: (given) => void (listener = given),
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await Promise.all([
        new Promise<void>((resolve) => udp.close(resolve)),
        new Promise((resolve) => tcp.close(resolve)),
      ]);
    },
  };
}
