/** The state of a node in words. */
import type { Node } from '@/api/types';
import type { Tone } from '@/ui/Status';

export function nodeState(node: Node): { tone: Tone; text: string } {
  if (node.agent_status === 'lost') return { tone: 'broken', text: 'Does not answer' };
  if (node.status === 'down') return { tone: 'broken', text: 'Down' };
  return { tone: 'ok', text: 'Active' };
}
