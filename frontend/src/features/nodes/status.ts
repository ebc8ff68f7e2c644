/** The state of a node in words. */
import { dutyOf } from '@/api/nodes';
import type { Node } from '@/api/types';
import type { Tone } from '@/ui/Status';

export function nodeState(node: Node): { tone: Tone; text: string } {
  if (node.status === 'down') return { tone: 'broken', text: 'Down' };
  // Its shards may well be running: nobody watches them.
  if (node.agent_status === 'lost') return { tone: 'attention', text: 'Agent does not answer' };
  const duty = dutyOf(node);
  return duty ? { tone: 'attention', text: duty } : { tone: 'ok', text: 'Active' };
}
