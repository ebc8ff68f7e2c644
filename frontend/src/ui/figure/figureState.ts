/** State of a displayed figure: how current its value is, or why there is none. Pure. */
import { duration } from '@/lib/time';

export type FigureState =
  | { kind: 'fresh'; value: number }
  /** The newest seconds have not arrived yet. */
  | { kind: 'late'; value: number; age: number }
  /** The newest seconds lack the values of some nodes. */
  | { kind: 'partial'; value: number; age: number; reporting: NodeCount }
  /** The connection to the console is lost. `age` is that of the interruption. */
  | { kind: 'stale'; value: number; age: number }
  | { kind: 'unknown'; reason: string };

/** Numbers of nodes that report and that should report. */
export interface NodeCount {
  reporting: number;
  expected: number;
}

/** Age in seconds up to which a value is current. Samples can arrive late, and a few can get lost. */
export const MAX_FRESH_AGE = 3;
/** Age in seconds up to which a value is shown while the connection works. */
export const MAX_LATE_AGE = 60;

interface Reading {
  /** The newest known value and its age in seconds. */
  found: { value: number; age: number } | null;
  /** Seconds since the connection was lost; null while connected. */
  lostFor: number | null;
  /** Nodes that contribute to a total; null for the figure of a single object. */
  nodes: NodeCount | null;
  /** Why a current second has no value, for example because there were no requests; undefined if it should have one. */
  emptyReason?: string | undefined;
}

export function figureState({ found, lostFor, nodes, emptyReason }: Reading): FigureState {
  if (lostFor !== null) {
    return found
      ? { kind: 'stale', value: found.value, age: lostFor }
      : { kind: 'unknown', reason: `Disconnected for ${duration(lostFor)}` };
  }
  if (found && found.age <= MAX_FRESH_AGE) return { kind: 'fresh', value: found.value };
  if (emptyReason !== undefined) return { kind: 'unknown', reason: emptyReason };
  const isPartial = nodes !== null && nodes.reporting > 0 && nodes.reporting < nodes.expected;
  if (found && found.age <= MAX_LATE_AGE) {
    return isPartial ? { kind: 'partial', ...found, reporting: nodes } : { kind: 'late', ...found };
  }
  const reason = isPartial
    ? `No complete values in the last minute: ${nodesText(nodes)} report`
    : 'No samples in the last minute';
  return { kind: 'unknown', reason };
}

const nodesText = ({ reporting, expected }: NodeCount): string =>
  `${reporting} of ${expected} nodes`;

/** Return the text beside a value that is not current; empty for other states. */
export function figureNote(state: FigureState): string {
  if (state.kind === 'late' || state.kind === 'stale') return `${duration(state.age)} ago`;
  return state.kind === 'partial' ? nodesText(state.reporting) : '';
}

/** Return an explanation of a state; empty for a current value. */
export function figureHint(state: FigureState): string {
  switch (state.kind) {
    case 'fresh':
      return '';
    case 'late':
      return `Late: this value is ${duration(state.age)} old`;
    case 'partial':
      return `Only ${nodesText(state.reporting)} report. This value is ${duration(state.age)} old`;
    case 'stale':
      return `Disconnected for ${duration(state.age)}. This is the last value before`;
    case 'unknown':
      return state.reason;
  }
}
