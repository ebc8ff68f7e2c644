/** State of a node, and how long it has been unavailable. */
import type { Node } from '@/api/types';
import { DurationSince } from '@/ui/Ago';
import { nodeState } from './status';

export function StateText({ node }: { node: Node }) {
  return (
    <span>
      {nodeState(node).text}
      <DurationSince since={node.unavailable_since} />
    </span>
  );
}
