/** Tiles of all nodes with state, CPU, memory and number of shards. */

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { nodesQuery, outOfServiceReason } from '@/api/cluster/nodes';
import type { Node } from '@/api/types';
import { plural } from '@/lib/format';
import { Figure } from '@/live/Figure';
import { NodeCpu } from '@/live/NodeCpu';
import { Bytes } from '@/ui/Bytes';
import { StatusIcon } from '@/ui/Status';
import classes from './nodes.module.css';
import { StateText } from './StateText';
import { nodeState } from './status';

export function NodeStrip() {
  const { data } = useQuery(nodesQuery);
  return (
    <ul className={classes.strip} aria-label="Nodes">
      {data?.map((node) => (
        <li key={node.uid}>
          <NodeTile node={node} />
        </li>
      ))}
    </ul>
  );
}

function NodeTile({ node }: { node: Node }) {
  const { tone, text } = nodeState(node);
  const reason = outOfServiceReason(node);
  return (
    <Link to="/nodes/$uid" params={{ uid: String(node.uid) }} className={classes.tile}>
      <span className={classes.tileHeader}>
        <StatusIcon tone={tone} />
        <strong>node {node.uid}</strong>
        <span className="dim small">
          {node.shard_count === undefined ? '– shards' : plural(node.shard_count, 'shard')}
        </span>
        <span className="dim">{node.addr}</span>
      </span>
      {tone === 'ok' || text === reason ? (
        <span className={classes.tileFacts}>
          {reason && <span>{reason}</span>}
          <span>
            CPU <NodeCpu node={node.uid} />
          </span>
          <span>
            <Figure topic="nodes" uid={node.uid} metric="used_memory" unit="bytes" /> of{' '}
            <Bytes value={node.total_memory} />
          </span>
        </span>
      ) : (
        <span className={classes.tileFacts}>
          <StateText node={node} />
        </span>
      )}
    </Link>
  );
}
