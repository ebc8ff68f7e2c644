/** Properties of a node: machine and software. */
import { outOfServiceReason } from '@/api/cluster/nodes';
import type { Node } from '@/api/types';
import { Elapsed } from '@/ui/Ago';
import { Bytes } from '@/ui/Bytes';
import { Card } from '@/ui/Card';
import { Dash } from '@/ui/Dash';
import { Facts } from '@/ui/Facts';
import { Status } from '@/ui/Status';
import { LastSeen } from './LastSeen';
import classes from './nodes.module.css';
import { coresText, pinningText } from './pinning/cpuPinning';

const PROBE_RATE_HELP =
  'The agent probes its shards less often when many shards share few cores, so that monitoring uses at most 5% of the CPU.';

const size = (bytes: number | undefined) => <Bytes value={bytes} />;

export function NodeFacts({ node }: { node: Node }) {
  return (
    <div className={classes.facts}>
      <Card title="Machine">
        <Facts
          items={[
            ['Address', node.addr],
            ['Host', node.hostname],
            ['Zone', <Zone key="zone" node={node} />],
            ['System', node.os_name],
            ['Architecture', node.architecture],
            ['Cores', coresText(node)],
            ['CPU pinning', <Pinning key="pinning" node={node} />],
            ['Memory for shards', size(node.total_memory)],
            ['Persistent storage', size(node.persistent_storage_size)],
          ]}
        />
      </Card>
      <Card title="Software">
        <Facts
          items={[
            ['Agent version', node.agent_version],
            ['Agent', node.agent_status === 'lost' ? 'Disconnected' : 'Connected'],
            ['Last seen', <LastSeen key="seen" node={node} />],
            ['Machine uptime', <Uptime key="up" node={node} />],
            ['Engine', node.engine_version],
            ['Accepts new shards', acceptsShards(node)],
            ['Ports of shards', <ShardPorts key="ports" node={node} />],
            ['Probes', <Probes key="probes" perSecond={node.probes_per_second} />],
          ]}
        />
      </Card>
    </div>
  );
}

function Zone({ node: { rack_id: zone, second_rack_id: second } }: { node: Node }) {
  if (!zone && !second) return <Dash reason="The node has no zone" />;
  return [zone, second].filter(Boolean).join(' and ');
}

function acceptsShards(node: Node): string {
  const reason = outOfServiceReason(node);
  if (reason) return `No: ${reason.toLowerCase()}`;
  return node.accept_servers === false ? 'No' : 'Yes';
}

/** Which machines can connect to the shards of the node. */
function ShardPorts({ node: { firewall, firewall_detail: reason } }: { node: Node }) {
  if (firewall === undefined) return <Dash reason="The agent does not report it" />;
  if (firewall === 'active') return 'Open to nodes of the cluster only';
  return reason ? `Not filtered: ${reason}` : 'Not filtered';
}

/** Where the processes run, and why the agent does not apply the setting. */
function Pinning({ node: { cpu_pinning: setting, cpu_pinning_state: applied } }: { node: Node }) {
  // A console of the previous release does not send these fields.
  if (!setting || !applied) return <Dash reason="The console does not report it" />;
  return applied.state === 'failed' ? (
    <Status tone="attention">{`${pinningText(setting)}. Not applied: ${applied.detail}`}</Status>
  ) : (
    pinningText(setting)
  );
}

/** Probe rate. It decreases if many engine processes share few cores. */
function Probes({ perSecond }: { perSecond: number | undefined }) {
  if (perSecond === undefined) return <Dash reason="The agent does not report the probe rate" />;
  return <span title={PROBE_RATE_HELP}>{`Up to ${perSecond} per second and shard`}</span>;
}

/**
 * Uptime of the machine. `uptime` is as old as the last change of the object, so the time since
 * then is added.
 */
function Uptime({ node }: { node: Node }) {
  const reportedAt = Date.parse(String(node.system_time ?? node.last_seen));
  return Number.isNaN(reportedAt) ? (
    <Dash reason="The agent has not reported it" />
  ) : (
    <Elapsed since={reportedAt - node.uptime * 1000} />
  );
}
