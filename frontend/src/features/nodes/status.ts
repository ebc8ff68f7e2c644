/** State of a node as text with a tone. */
import { outageText, outOfServiceReason } from '@/api/cluster/nodes';
import type { Node } from '@/api/types';
import type { Tone } from '@/ui/Status';

export function nodeState(node: Node): { tone: Tone; text: string } {
  const loss = outageText(node);
  if (loss) {
    const text = `${loss.slice(0, 1).toUpperCase()}${loss.slice(1)}`;
    return { tone: node.status === 'down' ? 'broken' : 'attention', text };
  }
  const reason = outOfServiceReason(node);
  return reason ? { tone: 'attention', text: reason } : { tone: 'ok', text: 'Active' };
}
