/** What is known of a machine. */
import type { Node } from '@/api/types';
import { exact, format } from '@/lib/format';
import { duration } from '@/lib/time';
import { Ago } from '@/ui/Ago';
import { Card } from '@/ui/Card';
import { Facts } from '@/ui/Facts';
import classes from './nodes.module.css';

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
            ['System', [node.os_name, node.os_version].filter(Boolean).join(' ')],
            ['Architecture', node.architecture],
            ['Cores', node.cores],
            ['Memory', size(node.total_memory)],
            ['Persistent storage', size(node.persistent_storage_size)],
          ]}
        />
      </Card>
      <Card title="Software">
        <Facts
          items={[
            ['Agent version', node.agent_version],
            ['Agent', node.agent_status === 'lost' ? 'Lost' : 'Connected'],
            ['Last seen', <Ago key="seen" time={node.last_seen} />],
            ['Running for', node.uptime === undefined ? '' : duration(node.uptime)],
            ['Engine', node.engine_version],
            ['Takes new shards', node.accept_servers === false ? 'No' : 'Yes'],
            ['Rack', node.rack_id],
          ]}
        />
      </Card>
    </div>
  );
}
