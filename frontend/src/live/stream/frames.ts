/** Frames of the console's event stream. */

export interface Hello {
  server_time: number;
  version: string;
  cluster_state_id: number;
  retention: number;
}

export interface History {
  topic: string;
  metrics: string[];
  from: number;
  count: number;
  /** Values by series: for each metric, one value per second. */
  series: Record<string, (number | null)[][]>;
}

export interface Sample {
  topic: string;
  t: number;
  at: number;
  series: Record<string, (number | null)[]>;
}

export type ChangeKind =
  | 'bdb'
  | 'node'
  | 'shard'
  | 'action'
  | 'backup'
  | 'restore'
  | 'event'
  | 'outage'
  | 'cluster';

export interface Change {
  kind: ChangeKind;
  uid: string | number;
  object: unknown;
}

export interface Frames {
  hello: Hello;
  history: History;
  sample: Sample;
  change: Change;
  beat: Record<string, never>;
}

export type FrameName = keyof Frames;

export const FRAME_NAMES: readonly FrameName[] = ['hello', 'history', 'sample', 'change', 'beat'];
