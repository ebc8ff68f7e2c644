/** The state of a node in words, and since when it is not there. */
import type { Node } from '@/api/types';
import { Lasting } from '@/ui/Ago';
import { nodeState } from './status';

export function StateText({ node }: { node: Node }) {
  return (
    <span>
      {nodeState(node).text}
      <Lasting since={node.unavailable_since} />
    </span>
  );
}
