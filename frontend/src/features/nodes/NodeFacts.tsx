/** What is known of a machine. */
import { dutyOf } from '@/api/nodes';
import type { Node } from '@/api/types';
import { exact, format } from '@/lib/format';
import { Elapsed } from '@/ui/Ago';
import { Card } from '@/ui/Card';
import { Dash } from '@/ui/Dash';
import { Facts } from '@/ui/Facts';
import { LastSeen } from './LastSeen';
import classes from './nodes.module.css';

const PROBES =
  'The agent probes its shards less often when many shards share few cores, so that monitoring uses at most 5 % of the CPU.';

const size = (bytes: number | undefined) => (
  <span title={exact('bytes', bytes)}>{format('bytes', bytes)}</span>
);

export function NodeFacts({ node }: { node: Node }) {
  return (
    <div className={classes.facts}>
      <Card title="Machine">
        <Facts
          items={[
            ['Address', node.addr],
            ['Host', node.hostname],
            ['System', node.os_name],
            ['Architecture', node.architecture],
            ['Cores', node.cores],
            ['Memory for shards', size(node.total_memory)],
            ['Persistent storage', size(node.persistent_storage_size)],
          ]}
        />
      </Card>
      <Card title="Software">
        <Facts
          items={[
            ['Agent version', node.agent_version],
            ['Agent', node.agent_status === 'lost' ? 'Lost' : 'Connected'],
            ['Last seen', <LastSeen key="seen" node={node} />],
            ['Machine up for', <Uptime key="up" node={node} />],
            ['Engine', node.engine_version],
            ['Takes new shards', takesShards(node)],
            ['Probes', <Probes key="probes" perSecond={node.probes_per_second} />],
          ]}
        />
      </Card>
    </div>
  );
}

function takesShards(node: Node): string {
  const duty = dutyOf(node);
  if (duty) return `No: ${duty.toLowerCase()}`;
  return node.accept_servers === false ? 'No' : 'Yes';
}

/** The rate falls when many engine processes share few cores. */
function Probes({ perSecond }: { perSecond: number | undefined }) {
  if (perSecond === undefined) return <Dash why="The agent does not report the probe rate" />;
  return <span title={PROBES}>{`Up to ${perSecond} per second and shard`}</span>;
}

/** The object is as old as its last change; the machine has been running on since. */
function Uptime({ node }: { node: Node }) {
  const told = Date.parse(String(node.system_time ?? node.last_seen));
  return Number.isNaN(told) ? (
    <Dash why="Its agent has not told" />
  ) : (
    <Elapsed since={told - node.uptime * 1000} />
  );
}
