/** Types of heat maps: numbers of requests by time and latency. Heat maps do not depend on the origin of the data. */

export interface HeatColumn {
  /** Number of seconds in which requests were counted; 0 for a gap. */
  seconds: number;
  /** First row with requests. Its lower bound is 10 ** (row / perDecade) microseconds. */
  row: number;
  /** Requests in this row and the rows above; empty if there are none. */
  counts: readonly number[];
}

export interface Heat {
  /** Epoch second at which the first column starts, and seconds of each column. */
  from: number;
  step: number;
  perDecade: number;
  /** Undefined for columns that are not loaded yet. */
  columns: readonly (HeatColumn | undefined)[];
}

export interface HeatSource {
  /** Returns the known data of [from, to]. Columns can extend beyond this range. */
  read: (from: number, to: number) => Heat;
  subscribe: (listener: () => void) => () => void;
  /** Reason why there is currently no data, if known. */
  reason: () => string | undefined;
  /** Whether data is loading. */
  pending?: () => boolean;
  /** Returns the REST call for the same data. */
  apiCall: (from: number, to: number) => string;
}
