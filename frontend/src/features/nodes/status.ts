/** The state of a node in words. */
import type { Node } from '@/api/types';
import type { Tone } from '@/ui/Status';

export function nodeState(node: Node): { tone: Tone; text: string } {
  if (node.status === 'down') return { tone: 'broken', text: 'Down' };
  if (node.agent_status === 'lost') return { tone: 'broken', text: 'Agent lost' };
  if (node.status === 'active') return { tone: 'ok', text: 'Active' };
  if (node.status === 'provisioning') return { tone: 'progress', text: 'Joining' };
  return { tone: 'unknown', text: node.status };
}
