/** Settings of an endpoint as text. */
import { PROXY_POLICIES } from '@/api/databases/endpoints';
import type { Bdb, Endpoint, EndpointProxy } from '@/api/types';
import { clock, type Zone } from '@/lib/time';
import type { Tone } from '@/ui/Status';

export const PROXY_STATES: Readonly<Record<EndpointProxy['status'], { tone: Tone; text: string }>> =
  {
    active: { tone: 'ok', text: 'Active' },
    pending: { tone: 'progress', text: 'Starting' },
    closed: { tone: 'attention', text: 'Closed' },
    down: { tone: 'broken', text: 'Down' },
  };

export function modeText({ mode }: Endpoint): string {
  return mode === 'oss_cluster'
    ? 'OSS Cluster API: clients use the cluster protocol and send each command to the node that owns its slot'
    : 'One address: the proxies route each command to its shard, so any client works';
}

export function policyText({ proxy_policy: policy }: Endpoint): string {
  return PROXY_POLICIES.find(({ value }) => value === policy)?.label ?? policy;
}

export const tlsText = ({ tls }: Endpoint): string =>
  tls ? 'On: connections are encrypted' : 'Off: connections are not encrypted';

export const authenticationText = ({ authentication }: Endpoint): string =>
  authentication ? 'Password required' : 'None: anyone who can reach the port can use the database';

/** Return earlier addresses that still work for a limited time, each with a note for the user. */
export const oldAddresses = ({ endpoints }: Pick<Bdb, 'endpoints'>, zone: Zone): string[] =>
  (endpoints?.[0]?.old_addr ?? []).map(
    ({ addr, until }) =>
      `${addr}:${endpoints[0]?.port} (works until ${clock(Date.parse(until), zone)}, unless its node is shut down or removed earlier; update your clients)`,
  );
