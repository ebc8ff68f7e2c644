/** Column header of a node: name, status and load. */

import { Link } from '@tanstack/react-router';
import { outageText, outOfServiceReason } from '@/api/cluster/nodes';
import { plural } from '@/lib/format';
import { Figure } from '@/live/Figure';
import { NodeCpu } from '@/live/NodeCpu';
import { DurationSince } from '@/ui/Ago';
import { Bytes } from '@/ui/Bytes';
import { StatusIcon } from '@/ui/Status';
import classes from './Placement.module.css';
import type { NodeColumn } from './placementModel';

export function NodeHeader({ node, shards }: { node: NodeColumn; shards: number }) {
  const down = node.status === 'down';
  const reason = outOfServiceReason(node);
  return (
    <div className={classes.nodeHeader}>
      <span className={classes.nodeName}>
        <StatusIcon tone={down ? 'broken' : outageText(node) || reason ? 'attention' : 'ok'} />
        <Link to="/nodes/$uid" params={{ uid: String(node.uid) }}>
          node {node.uid}
        </Link>
        <span className="dim">{node.addr}</span>
      </span>
      <span className={classes.nodeFacts}>
        {outageText(node) ? (
          <span>
            {outageText(node)}
            <DurationSince since={node.unavailable_since} />
          </span>
        ) : (
          <>
            CPU <NodeCpu node={node.uid} />
            {' · '}
            <Figure topic="nodes" uid={node.uid} metric="used_memory" unit="bytes" /> of{' '}
            <Bytes value={node.total_memory} />
          </>
        )}
        {reason && ` · ${reason.toLowerCase()}`}
        {' · '}
        {plural(shards, 'shard')}
        {node.cpu_pinning_state?.state === 'active' && ' · pinned to cores'}
      </span>
    </div>
  );
}
