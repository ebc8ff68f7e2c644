/** When a node last answered. A connected one answers every second; its object is not sent that often. */
import type { Node } from '@/api/types';
import { Ago } from '@/ui/Ago';

export function LastSeen({ node }: { node: Node }) {
  return node.agent_status === 'connected' ? 'just now' : <Ago time={node.last_seen} />;
}
