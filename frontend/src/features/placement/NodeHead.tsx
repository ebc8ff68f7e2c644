/** Column header of a node: name, status and load. */
import { Link } from '@tanstack/react-router';
import { dutyOf, lossOf } from '@/api/nodes';
import { format, plural } from '@/lib/format';
import { LiveText } from '@/live/LiveText';
import { NodeCpu } from '@/live/NodeCpu';
import { Lasting } from '@/ui/Ago';
import { StatusIcon } from '@/ui/Status';
import type { Column } from './model';
import classes from './placement.module.css';

export function NodeHead({ node, shards }: { node: Column; shards: number }) {
  const down = node.status === 'down';
  const duty = dutyOf(node);
  return (
    <div className={classes.nodeHead}>
      <span className={classes.nodeName}>
        <StatusIcon tone={down ? 'broken' : lossOf(node) || duty ? 'attention' : 'ok'} />
        <Link to="/nodes/$uid" params={{ uid: String(node.uid) }}>
          node {node.uid}
        </Link>
        <span className="dim">{node.addr}</span>
      </span>
      <span className={classes.nodeFacts}>
        {lossOf(node) ? (
          <span>
            {lossOf(node)}
            <Lasting since={node.unavailable_since} />
          </span>
        ) : (
          <>
            CPU <NodeCpu node={node.uid} />
            {' · '}
            <LiveText topic="nodes" uid={node.uid} metric="used_memory" unit="bytes" /> of{' '}
            {format('bytes', node.total_memory)}
          </>
        )}
        {duty && ` · ${duty.toLowerCase()}`}
        {' · '}
        {plural(shards, 'shard')}
      </span>
    </div>
  );
}
