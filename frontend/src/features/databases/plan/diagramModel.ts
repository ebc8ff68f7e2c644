/** Diagram of a placement plan: a row per changed pair, a column per node, and arrows for moves. Pure functions. */
import { countSlots, formatSlots } from '@/lib/slots';
import { movementOf, type PairChange } from './placementDiff';

export interface DiagramCell {
  node: number;
  /** Name of an existing shard; new shards have no uid yet. */
  name: string | undefined;
  role: 'P' | 'r';
  /** The new role, if it changes. */
  newRole: 'P' | 'r' | undefined;
  state: 'stays' | 'leaves' | 'comes';
}

export interface DiagramRow {
  id: number;
  slots: string;
  cells: DiagramCell[];
  arrows: { from: number; to: number }[];
}

export interface PlanDiagramModel {
  nodes: number[];
  rows: DiagramRow[];
}

/** Limits of the diagram, so that it stays readable in a dialog. The text describes all changes. */
const MAX_ROWS = 16;
const MAX_NODES = 6;

/** Return the diagram; null if nothing changes or the diagram would be too large. */
export function diagramOf(changes: readonly PairChange[]): PlanDiagramModel | null {
  const rows = changes.map(rowOf).filter(({ cells }) => cells.some(isChange));
  const nodes = [...new Set(rows.flatMap(({ cells }) => cells.map(({ node }) => node)))].sort(
    (a, b) => a - b,
  );
  return rows.length && rows.length <= MAX_ROWS && nodes.length <= MAX_NODES
    ? { nodes, rows }
    : null;
}

const isChange = ({ state, newRole }: DiagramCell): boolean =>
  state !== 'stays' || newRole !== undefined;

const letter = (primary: boolean): 'P' | 'r' => (primary ? 'P' : 'r');

function rowOf(change: PairChange, id: number): DiagramRow {
  const { before, after, slots } = change;
  const ranges = slots.after.length ? slots.after : slots.before;
  return {
    id,
    slots: ranges.length > 2 ? `${countSlots(ranges)} slots` : formatSlots(ranges),
    cells: [
      ...before.map(({ node, name, primary }): DiagramCell => {
        const planned = after.find((shard) => shard.node === node);
        const role = letter(primary);
        const next = planned && letter(planned.primary);
        return {
          node,
          name,
          role,
          newRole: next === role ? undefined : next,
          state: planned ? 'stays' : 'leaves',
        };
      }),
      ...after
        .filter(({ node }) => !before.some((shard) => shard.node === node))
        .map(
          ({ node, primary }): DiagramCell => ({
            node,
            name: undefined,
            role: letter(primary),
            newRole: undefined,
            state: 'comes',
          }),
        ),
    ],
    // New pairs have no moves.
    arrows: movementOf(change).moves.map(({ from, to }) => ({ from: from.node, to: to.node })),
  };
}
