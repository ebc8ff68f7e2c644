/** The settings of an endpoint in words. */
import { type Endpoint, PROXY_POLICIES, type ProxyStatus } from '@/api/endpoints';
import type { Tone } from '@/ui/Status';

export const PROXY_STATES: Readonly<Record<ProxyStatus, { tone: Tone; text: string }>> = {
  active: { tone: 'ok', text: 'Active' },
  pending: { tone: 'progress', text: 'Starting' },
  down: { tone: 'broken', text: 'Down' },
  idle: { tone: 'unknown', text: 'Idle' },
  unknown: { tone: 'unknown', text: 'Unknown' },
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
