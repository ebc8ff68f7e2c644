/** A plan as a picture: a row per pair that changes, a column per node, and what moves from where to where. Pure. */
import { countSlots, showSlots } from '@/lib/slots';
import { movementOf, type PairChange } from './blueprint';

export interface PlanSeat {
  node: number;
  /** Of what is there; what comes has no number yet. */
  name: string | undefined;
  role: 'P' | 'r';
  /** What it is afterwards, where that is something else. */
  becomes: 'P' | 'r' | undefined;
  state: 'stays' | 'leaves' | 'comes';
}

export interface PlanRow {
  id: number;
  slots: string;
  seats: PlanSeat[];
  arrows: { from: number; to: number }[];
}

export interface PlanPicture {
  nodes: number[];
  rows: PlanRow[];
}

/** More are not told apart in a dialog; the sentences say all of it. */
const ROWS = 16;
const NODES = 6;

/** Null when nothing changes, or too much for a picture. */
export function pictureOf(changes: readonly PairChange[]): PlanPicture | null {
  const rows = changes.map(rowOf).filter(({ seats }) => seats.some(isChange));
  const nodes = [...new Set(rows.flatMap(({ seats }) => seats.map(({ node }) => node)))].sort(
    (a, b) => a - b,
  );
  return rows.length && rows.length <= ROWS && nodes.length <= NODES ? { nodes, rows } : null;
}

const isChange = ({ state, becomes }: PlanSeat): boolean =>
  state !== 'stays' || becomes !== undefined;

const letter = (primary: boolean): 'P' | 'r' => (primary ? 'P' : 'r');

function rowOf(change: PairChange, id: number): PlanRow {
  const { before, after, slots } = change;
  const ranges = slots.after.length ? slots.after : slots.before;
  return {
    id,
    slots: ranges.length > 2 ? `${countSlots(ranges)} slots` : showSlots(ranges),
    seats: [
      ...before.map(({ node, name, primary }): PlanSeat => {
        const then = after.find((seat) => seat.node === node);
        const role = letter(primary);
        const next = then && letter(then.primary);
        return {
          node,
          name,
          role,
          becomes: next === role ? undefined : next,
          state: then ? 'stays' : 'leaves',
        };
      }),
      ...after
        .filter(({ node }) => !before.some((seat) => seat.node === node))
        .map(
          ({ node, primary }): PlanSeat => ({
            node,
            name: undefined,
            role: letter(primary),
            becomes: undefined,
            state: 'comes',
          }),
        ),
    ],
    // Those of a new pair come from nowhere.
    arrows: movementOf(change).moves.map(({ from, to }) => ({ from: from.node, to: to.node })),
  };
}
