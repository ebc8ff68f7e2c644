/** The settings of an endpoint in words. */
import { PROXY_POLICIES } from '@/api/endpoints';
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
    ? 'OSS Cluster API: clients speak the cluster protocol and send each command to the node that has its slot'
    : 'One address: the proxies know where each key lives, so that any client works';
}

export function policyText({ proxy_policy: policy }: Endpoint): string {
  return PROXY_POLICIES.find(({ value }) => value === policy)?.label ?? policy;
}

export const tlsText = ({ tls }: Endpoint): string =>
  tls ? 'On: connections are encrypted' : 'Off: connections are not encrypted';

export const authenticationText = ({ authentication }: Endpoint): string =>
  authentication ? 'Password required' : 'None: open to whoever reaches the port';

/** Addresses that clients must leave, while they answer. */
export const oldAddresses = ({ endpoints }: Pick<Bdb, 'endpoints'>, zone: Zone): string[] =>
  (endpoints?.[0]?.old_addr ?? []).map(
    ({ addr, until }) =>
      `${addr}:${endpoints[0]?.port} answers until ${clock(Date.parse(until), zone)}, unless its node leaves earlier; clients must change`,
  );
