/** How to connect with the usual clients. Secrets are placeholders, always. Pure. */
import type { Endpoint } from '@/api/types';

export interface Address {
  host: string;
  port: number;
}

export interface Connection {
  addresses: readonly [Address, ...Address[]];
  cluster: boolean;
  tls: boolean;
  authentication: boolean;
}

export interface Client {
  id: string;
  label: string;
  language: string;
  lines: (to: Connection) => string;
}

const PASSWORD = '<password>';
const CA = 'ca.pem';

/** Those that serve come first; null as long as there is none. */
export function connectionOf(endpoint: Endpoint): Connection | null {
  const serves = (status: string) => (status === 'active' ? 0 : 1);
  const [first, ...rest] = [...endpoint.proxies]
    .sort((a, b) => serves(a.status) - serves(b.status))
    .map(({ address }) => ({ host: address, port: endpoint.port }));
  if (!first) return null;
  const { tls, authentication } = endpoint;
  return {
    addresses: [first, ...rest],
    cluster: endpoint.mode === 'oss_cluster',
    tls,
    authentication,
  };
}

export const hostPort = ({ host, port }: Address): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;

const list = (parts: (string | false)[], separator = ', '): string =>
  parts.filter(Boolean).join(separator);

function cli({ addresses: [{ host, port }], cluster, tls, authentication }: Connection): string {
  return list(
    [
      'valkey-cli',
      cluster && '-c',
      `-h ${host} -p ${port}`,
      tls && `--tls --cacert ${CA}`,
      authentication && `-a '${PASSWORD}'`,
    ],
    ' ',
  );
}

const python =
  (module: string, one: string, many: string) =>
  ({ addresses: [{ host, port }], cluster, tls, authentication }: Connection): string => {
    const options = list([
      `host="${host}", port=${port}`,
      authentication && `password="${PASSWORD}"`,
      tls && `ssl=True, ssl_ca_certs="${CA}"`,
    ]);
    return `import ${module}\ndb = ${module}.${cluster ? many : one}(${options})`;
  };

function glidePython({ addresses, cluster, tls, authentication }: Connection): string {
  const kind = cluster ? 'GlideCluster' : 'Glide';
  const places = addresses.map(({ host, port }) => `NodeAddress("${host}", ${port})`);
  const advanced = `Advanced${kind}ClientConfiguration(tls_config=TlsAdvancedConfiguration(root_pem_cacerts=open("${CA}", "rb").read()))`;
  const options = list([
    `[${(cluster ? places : places.slice(0, 1)).join(', ')}]`,
    authentication && `credentials=ServerCredentials("${PASSWORD}")`,
    tls && `use_tls=True, advanced_config=${advanced}`,
  ]);
  return `from glide import *\ndb = await ${kind}Client.create(${kind}ClientConfiguration(${options}))`;
}

const READ_CA = `{ ca: readFileSync('${CA}') }`;
const IMPORT_READ = "import { readFileSync } from 'node:fs';";

const ioredis =
  (module: string, name: string) =>
  ({ addresses, cluster, tls, authentication }: Connection): string => {
    const secrets = [authentication && `password: '${PASSWORD}'`, tls && `tls: ${READ_CA}`];
    const places = addresses.map(({ host, port }) => `{ host: '${host}', port: ${port} }`);
    const [{ host, port }] = addresses;
    const options = list(secrets);
    const made = cluster
      ? `new ${name}.Cluster(${list([`[${places.join(', ')}]`, options && `{ redisOptions: { ${options} } }`])})`
      : `new ${name}({ ${list([`host: '${host}', port: ${port}`, ...secrets])} })`;
    return list(
      [`import ${name} from '${module}';`, tls && IMPORT_READ, `const db = ${made};`],
      '\n',
    );
  };

function glideNode({ addresses, cluster, tls, authentication }: Connection): string {
  const kind = cluster ? 'GlideClusterClient' : 'GlideClient';
  const places = addresses.map(({ host, port }) => `{ host: '${host}', port: ${port} }`);
  const ca = `advancedConfiguration: { tlsAdvancedConfiguration: { rootCertificates: readFileSync('${CA}') } }`;
  const options = list([
    `addresses: [${(cluster ? places : places.slice(0, 1)).join(', ')}]`,
    authentication && `credentials: { password: '${PASSWORD}' }`,
    tls && `useTLS: true, ${ca}`,
  ]);
  return list(
    [
      `import { ${kind} } from '@valkey/valkey-glide';`,
      tls && IMPORT_READ,
      `const db = await ${kind}.createClient({ ${options} });`,
    ],
    '\n',
  );
}

function nodeRedis({ addresses, cluster, tls, authentication }: Connection): string {
  const url = (address: Address) => `'${tls ? 'rediss' : 'redis'}://${hostPort(address)}'`;
  const options = list([
    authentication && `password: '${PASSWORD}'`,
    tls && `socket: { tls: true, ca: readFileSync('${CA}') }`,
  ]);
  const roots = addresses.map((address) => `{ url: ${url(address)} }`).join(', ');
  const made = cluster
    ? `createCluster({ ${list([`rootNodes: [${roots}]`, options && `defaults: { ${options} }`])} })`
    : `createClient({ ${list([`url: ${url(addresses[0])}`, options])} })`;
  return list(
    [
      `import { ${cluster ? 'createCluster' : 'createClient'} } from 'redis';`,
      tls && IMPORT_READ,
      `const db = await ${made}.connect();`,
    ],
    '\n',
  );
}

const GO_CA = `pem, _ := os.ReadFile("${CA}")
ca := x509.NewCertPool()
ca.AppendCertsFromPEM(pem)`;

function goRedis({ addresses, cluster, tls, authentication }: Connection): string {
  const quoted = addresses.map((address) => `"${hostPort(address)}"`);
  const options = list([
    cluster ? `Addrs: []string{${quoted.join(', ')}}` : `Addr: ${quoted[0]}`,
    authentication && `Password: "${PASSWORD}"`,
    tls && 'TLSConfig: &tls.Config{RootCAs: ca}',
  ]);
  const made = cluster ? 'NewClusterClient(&redis.ClusterOptions' : 'NewClient(&redis.Options';
  const lines = ['import "github.com/redis/go-redis/v9"', tls && GO_CA];
  return list([...lines, `db := redis.${made}{${options}})`], '\n');
}

function goValkey({ addresses, cluster, tls, authentication }: Connection): string {
  const quoted = addresses.map((address) => `"${hostPort(address)}"`);
  const options = list([
    `InitAddress: []string{${(cluster ? quoted : quoted.slice(0, 1)).join(', ')}}`,
    !cluster && 'ForceSingleClient: true',
    authentication && `Password: "${PASSWORD}"`,
    tls && 'TLSConfig: &tls.Config{RootCAs: ca}',
  ]);
  const lines = ['import "github.com/valkey-io/valkey-go"', tls && GO_CA];
  return list([...lines, `db, err := valkey.NewClient(valkey.ClientOption{${options}})`], '\n');
}

/** By language; those of Valkey first. */
export const CLIENTS: readonly Client[] = [
  { id: 'valkey-cli', label: 'valkey-cli', language: 'Command line', lines: cli },
  {
    id: 'valkey-py',
    label: 'valkey-py',
    language: 'Python',
    lines: python('valkey', 'Valkey', 'ValkeyCluster'),
  },
  { id: 'glide-python', label: 'Valkey GLIDE (Python)', language: 'Python', lines: glidePython },
  {
    id: 'redis-py',
    label: 'redis-py',
    language: 'Python',
    lines: python('redis', 'Redis', 'RedisCluster'),
  },
  { id: 'iovalkey', label: 'iovalkey', language: 'Node.js', lines: ioredis('iovalkey', 'Valkey') },
  { id: 'glide-node', label: 'Valkey GLIDE (Node.js)', language: 'Node.js', lines: glideNode },
  { id: 'ioredis', label: 'ioredis', language: 'Node.js', lines: ioredis('ioredis', 'Redis') },
  { id: 'node-redis', label: 'node-redis', language: 'Node.js', lines: nodeRedis },
  { id: 'valkey-go', label: 'valkey-go', language: 'Go', lines: goValkey },
  { id: 'go', label: 'go-redis', language: 'Go', lines: goRedis },
];

export const LANGUAGES: readonly string[] = [...new Set(CLIENTS.map(({ language }) => language))];

/** Saves the certificate that endpoints are checked with; the console's own may be one that nobody knows yet. */
export const caLine = (console: string): string => `curl -k -o ca.pem ${console}/v1/ca/bundle`;
