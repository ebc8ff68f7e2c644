/**
 * Time of the last response of a node. Connected nodes respond every second, but the console sends
 * their objects less often.
 */
import type { Node } from '@/api/types';
import { Ago } from '@/ui/Ago';

export function LastSeen({ node }: { node: Node }) {
  return node.agent_status === 'connected' ? 'just now' : <Ago time={node.last_seen} />;
}
