/** Choice of the losses that the card shows. Pure. */
import type { LossOutcome, Redundancy } from '@/api/types';
import type { Tone } from '@/ui/Status';

/** Number of nodes whose loss makes data unavailable that are listed. */
export const MAX_NODES = 5;

export const EFFECTS: Record<LossOutcome['effect'], { tone: Tone; text: string }> = {
  none: { tone: 'ok', text: 'Fully redundant' },
  overbooked: { tone: 'attention', text: 'Not enough memory' },
  fewer_copies: { tone: 'attention', text: 'Not all shards rebuilt' },
  unavailable: { tone: 'broken', text: 'Data unavailable' },
};

export const keyOf = ({ rack_id, nodes }: LossOutcome): string =>
  rack_id ? `zone ${rack_id}` : `node ${nodes[0]}`;

export const titleOf = (loss: LossOutcome): string =>
  loss.rack_id || !loss.is_largest ? keyOf(loss) : `${keyOf(loss)} (largest)`;

/** Return the largest node, other nodes whose loss makes data unavailable, and all zones. */
export function shownLosses(losses: readonly LossOutcome[]): LossOutcome[] {
  const nodes = losses.filter(({ rack_id }) => !rack_id);
  const largest = nodes.filter(({ is_largest }) => is_largest);
  const critical = nodes.filter(
    ({ effect, is_largest }) => effect === 'unavailable' && !is_largest,
  );
  const zones = losses.filter(({ rack_id }) => rack_id);
  return [...largest, ...critical.slice(0, MAX_NODES), ...zones];
}

/** Return the sentence above the table. */
export function summaryOf(survivesNode: boolean, survivesZone: boolean | null): string {
  if (survivesZone === null)
    return survivesNode
      ? 'If any one node is lost, all data stays available.'
      : 'If some nodes are lost, data becomes unavailable.';
  if (survivesNode)
    return survivesZone
      ? 'If any one node or zone is lost, all data stays available.'
      : 'If any one node is lost, all data stays available. If some zones are lost, data becomes unavailable.';
  return 'If some nodes or zones are lost, data becomes unavailable.';
}

/** What is missing after the loss of the largest node although all data stays available. */
const SHORTAGES: Partial<Record<LossOutcome['effect'], string>> = {
  overbooked: 'Without the largest node, memory is not sufficient.',
  fewer_copies: 'Without the largest node, not all shards can be rebuilt.',
};

interface RedundancySummary {
  tone: Tone;
  text: string;
  /** Effect of the loss of the largest node. */
  detail: string | undefined;
}

/** Return the result as one line; undefined if the cluster has no nodes whose loss could be assessed. */
export function lineOf(redundancy: Redundancy): RedundancySummary | undefined {
  const { losses, survives_node: node, survives_zone: zone = null } = redundancy;
  if (!losses.length) return undefined;
  const largest = losses.find(({ is_largest }) => is_largest);
  const survives = node && zone !== false;
  const shortage = survives && largest ? SHORTAGES[largest.effect] : undefined;
  return {
    tone: survives && !shortage ? 'ok' : 'attention',
    text: [summaryOf(node, zone), shortage].filter(Boolean).join(' '),
    detail: largest && `${titleOf(largest)}: ${largest.description}`,
  };
}
