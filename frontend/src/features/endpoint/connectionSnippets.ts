/** Connection snippets for common clients. Secrets are always placeholders. Pure functions. */
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
  snippet: (to: Connection) => string;
}

const PASSWORD = '<password>';
const CA = 'ca.pem';

/** Return how to connect, with the addresses of active proxies first; null if there are no proxies. */
export function connectionOf(endpoint: Endpoint): Connection | null {
  const rank = (status: string) => (status === 'active' ? 0 : 1);
  const [first, ...rest] = [...endpoint.proxies]
    .sort((a, b) => rank(a.status) - rank(b.status))
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

const joined = (parts: (string | false)[], separator = ', '): string =>
  parts.filter(Boolean).join(separator);

function cli({ addresses: [{ host, port }], cluster, tls, authentication }: Connection): string {
  return joined(
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
    const options = joined([
      `host="${host}", port=${port}`,
      authentication && `password="${PASSWORD}"`,
      tls && `ssl=True, ssl_ca_certs="${CA}"`,
    ]);
    return `import ${module}\ndb = ${module}.${cluster ? many : one}(${options})`;
  };

function glidePython({ addresses, cluster, tls, authentication }: Connection): string {
  const kind = cluster ? 'GlideCluster' : 'Glide';
  const nodes = addresses.map(({ host, port }) => `NodeAddress("${host}", ${port})`);
  const advanced = `Advanced${kind}ClientConfiguration(tls_config=TlsAdvancedConfiguration(root_pem_cacerts=open("${CA}", "rb").read()))`;
  const options = joined([
    `[${(cluster ? nodes : nodes.slice(0, 1)).join(', ')}]`,
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
    const nodes = addresses.map(({ host, port }) => `{ host: '${host}', port: ${port} }`);
    const [{ host, port }] = addresses;
    const options = joined(secrets);
    const call = cluster
      ? `new ${name}.Cluster(${joined([`[${nodes.join(', ')}]`, options && `{ redisOptions: { ${options} } }`])})`
      : `new ${name}({ ${joined([`host: '${host}', port: ${port}`, ...secrets])} })`;
    return joined(
      [`import ${name} from '${module}';`, tls && IMPORT_READ, `const db = ${call};`],
      '\n',
    );
  };

function glideNode({ addresses, cluster, tls, authentication }: Connection): string {
  const kind = cluster ? 'GlideClusterClient' : 'GlideClient';
  const nodes = addresses.map(({ host, port }) => `{ host: '${host}', port: ${port} }`);
  const ca = `advancedConfiguration: { tlsAdvancedConfiguration: { rootCertificates: readFileSync('${CA}') } }`;
  const options = joined([
    `addresses: [${(cluster ? nodes : nodes.slice(0, 1)).join(', ')}]`,
    authentication && `credentials: { password: '${PASSWORD}' }`,
    tls && `useTLS: true, ${ca}`,
  ]);
  return joined(
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
  const options = joined([
    authentication && `password: '${PASSWORD}'`,
    tls && `socket: { tls: true, ca: readFileSync('${CA}') }`,
  ]);
  const roots = addresses.map((address) => `{ url: ${url(address)} }`).join(', ');
  const call = cluster
    ? `createCluster({ ${joined([`rootNodes: [${roots}]`, options && `defaults: { ${options} }`])} })`
    : `createClient({ ${joined([`url: ${url(addresses[0])}`, options])} })`;
  return joined(
    [
      `import { ${cluster ? 'createCluster' : 'createClient'} } from 'redis';`,
      tls && IMPORT_READ,
      `const db = await ${call}.connect();`,
    ],
    '\n',
  );
}

const GO_CA = `pem, _ := os.ReadFile("${CA}")
ca := x509.NewCertPool()
ca.AppendCertsFromPEM(pem)`;

function goRedis({ addresses, cluster, tls, authentication }: Connection): string {
  const quoted = addresses.map((address) => `"${hostPort(address)}"`);
  const options = joined([
    cluster ? `Addrs: []string{${quoted.join(', ')}}` : `Addr: ${quoted[0]}`,
    authentication && `Password: "${PASSWORD}"`,
    tls && 'TLSConfig: &tls.Config{RootCAs: ca}',
  ]);
  const call = cluster ? 'NewClusterClient(&redis.ClusterOptions' : 'NewClient(&redis.Options';
  const lines = ['import "github.com/redis/go-redis/v9"', tls && GO_CA];
  return joined([...lines, `db := redis.${call}{${options}})`], '\n');
}

function goValkey({ addresses, cluster, tls, authentication }: Connection): string {
  const quoted = addresses.map((address) => `"${hostPort(address)}"`);
  const options = joined([
    `InitAddress: []string{${(cluster ? quoted : quoted.slice(0, 1)).join(', ')}}`,
    !cluster && 'ForceSingleClient: true',
    authentication && `Password: "${PASSWORD}"`,
    tls && 'TLSConfig: &tls.Config{RootCAs: ca}',
  ]);
  const lines = ['import "github.com/valkey-io/valkey-go"', tls && GO_CA];
  return joined([...lines, `db, err := valkey.NewClient(valkey.ClientOption{${options}})`], '\n');
}

/** Clients grouped by language, Valkey clients first. */
export const CLIENTS: readonly Client[] = [
  { id: 'valkey-cli', label: 'valkey-cli', language: 'Command line', snippet: cli },
  {
    id: 'valkey-py',
    label: 'valkey-py',
    language: 'Python',
    snippet: python('valkey', 'Valkey', 'ValkeyCluster'),
  },
  { id: 'glide-python', label: 'Valkey GLIDE (Python)', language: 'Python', snippet: glidePython },
  {
    id: 'redis-py',
    label: 'redis-py',
    language: 'Python',
    snippet: python('redis', 'Redis', 'RedisCluster'),
  },
  {
    id: 'iovalkey',
    label: 'iovalkey',
    language: 'Node.js',
    snippet: ioredis('iovalkey', 'Valkey'),
  },
  { id: 'glide-node', label: 'Valkey GLIDE (Node.js)', language: 'Node.js', snippet: glideNode },
  { id: 'ioredis', label: 'ioredis', language: 'Node.js', snippet: ioredis('ioredis', 'Redis') },
  { id: 'node-redis', label: 'node-redis', language: 'Node.js', snippet: nodeRedis },
  { id: 'valkey-go', label: 'valkey-go', language: 'Go', snippet: goValkey },
  { id: 'go', label: 'go-redis', language: 'Go', snippet: goRedis },
];

export const LANGUAGES: readonly string[] = [...new Set(CLIENTS.map(({ language }) => language))];

/** Return the command that downloads the CA for endpoints. It uses `-k` because clients may not trust the console CA yet. */
export const caDownloadCommand = (console: string): string =>
  `curl -k -o ca.pem ${console}/v1/ca/bundle`;
