/** What a heat map needs to know: how many requests took how long, column by column; where from is not its business. */

export interface HeatColumn {
  /** In how many seconds requests were counted; 0 = nobody knows what happened. */
  seconds: number;
  /** The first row that anything fell into: it begins at 10 ** (row / perDecade) microseconds. */
  row: number;
  /** Requests in that row and those above it; empty when there were none. */
  counts: readonly number[];
}

export interface Heat {
  /** Epoch second at which the first column begins, and seconds of each. */
  from: number;
  step: number;
  perDecade: number;
  /** Undefined where it may still be told. */
  columns: readonly (HeatColumn | undefined)[];
}

export interface HeatSource {
  /** What is known of [from, to]; columns may reach beyond. */
  read: (from: number, to: number) => Heat;
  subscribe: (listener: () => void) => () => void;
  /** Why there is nothing at the moment, if the source knows. */
  reason: () => string | undefined;
  /** Nothing is there yet, and is on its way. */
  pending?: () => boolean;
  /** The REST call that returns the same numbers. */
  apiCall: (from: number, to: number) => string;
}
