/** What the form of a new run holds, its presets, and the order made of it. */
import { drillOf, SECONDS_MAX, SECONDS_MIN } from '@/api/drillKinds';
import type { Benchmark, BenchmarkOrder, Workload } from '@/api/types';

export type Tool = Benchmark['tool'];
export const OWN: Tool = 'shardboard-load';
export const MEMTIER: Tool = 'memtier_benchmark';

export type PlannedDrill = NonNullable<BenchmarkOrder['drill']>;

export interface RunDraft {
  name: string;
  bdb: number | null;
  how: 'fields' | 'line';
  threads: number;
  clients: number;
  pipeline: number;
  ratio: string;
  dataSize: number;
  keys: number;
  pattern: string;
  seconds: number;
  /** Requests per second in all; 0 = as many as possible. */
  rate: number;
  /** Write every key once before what is measured. */
  populate: boolean;
  line: string;
  repetitions: number;
  nodes: readonly string[];
  averageMs: number | '';
  p99Ms: number | '';
  tool: Tool;
  overwrite: boolean;
  /** Agreed that memtier_benchmark shows the password to others on its node. */
  passwordInArguments: boolean;
  /** A fault in the measured part; empty = none. */
  drill: PlannedDrill['kind'] | '';
  /** Uids: of a node, or of a shard where one shard is struck. */
  drillNode: number | null;
  drillShard: { uid: number; node: number } | null;
  /** Seconds after the measured part began. */
  drillAt: number;
  drillSeconds: number;
}

export const EMPTY: RunDraft = {
  name: '',
  bdb: null,
  how: 'fields',
  threads: 2,
  clients: 10,
  pipeline: 1,
  ratio: '1:1',
  dataSize: 500,
  keys: 100_000,
  pattern: 'R:R',
  seconds: 60,
  rate: 0,
  populate: true,
  line: '',
  repetitions: 1,
  nodes: [],
  averageMs: 1,
  p99Ms: '',
  tool: OWN,
  overwrite: false,
  passwordInArguments: false,
  drill: '',
  drillNode: null,
  drillShard: null,
  drillAt: 20,
  drillSeconds: 20,
};

export interface Preset {
  label: string;
  what: string;
  draft: Partial<RunDraft>;
}

export const PRESETS: readonly Preset[] = [
  {
    label: 'Load test',
    what: 'Reads and writes 1:1 as fast as they go, at an average of at most 1 ms.',
    draft: {
      name: 'load test',
      how: 'fields',
      pipeline: 1,
      ratio: '1:1',
      rate: 0,
      averageMs: 1,
      populate: true,
    },
  },
  {
    label: 'Steady rate',
    what: 'A fixed rate for three minutes. Latency counts from the moment a request was due, so that nothing hides behind a stall.',
    draft: {
      name: 'steady rate',
      how: 'fields',
      pipeline: 1,
      ratio: '1:10',
      rate: 2_000,
      seconds: 180,
      averageMs: '',
      p99Ms: 5,
      populate: true,
    },
  },
  {
    label: 'Highest throughput',
    what: '16 requests under way per connection.',
    draft: {
      name: 'highest throughput',
      how: 'fields',
      pipeline: 16,
      ratio: '1:1',
      rate: 0,
      averageMs: '',
      populate: true,
    },
  },
  {
    label: 'Flash',
    what: 'Gaussian keys over data larger than RAM: hot keys stay in memory, cold ones come from flash.',
    draft: {
      name: 'flash',
      how: 'fields',
      pattern: 'G:G',
      pipeline: 16,
      dataSize: 1_000,
      ratio: '1:1',
      averageMs: '',
      populate: true,
    },
  },
];

/** The order; `undefined` fields are left to the console. */
export function orderOf(draft: RunDraft): BenchmarkOrder {
  const limits = {
    ...(draft.averageMs !== '' && { average_ms: draft.averageMs }),
    ...(draft.p99Ms !== '' && { p99_ms: draft.p99Ms }),
  };
  const common = {
    name: draft.name.trim(),
    bdb_uid: draft.bdb ?? 0,
    repetitions: draft.repetitions,
    load_nodes: draft.nodes.map(Number),
    tool: draft.tool,
    overwrite: draft.overwrite,
    password_in_arguments: draft.passwordInArguments,
    ...(Object.keys(limits).length > 0 && { sla: limits }),
    ...(draft.drill !== '' && { drill: drillOrderOf(draft, draft.drill) }),
  };
  if (draft.how === 'line') return { ...common, command_line: draft.line } as BenchmarkOrder;
  const keys = { key_minimum: 1, key_maximum: draft.keys, data_size: draft.dataSize };
  const measured = {
    ...keys,
    threads: draft.threads,
    clients: draft.clients,
    pipeline: draft.pipeline,
    ratio: draft.ratio,
    key_pattern: draft.pattern,
    test_time: draft.seconds,
    distinct_client_seed: true,
    ...(draft.rate > 0 && { rate: draft.rate }),
  };
  const write = {
    ...keys,
    threads: 1,
    clients: 10,
    pipeline: 16,
    ratio: '1:0',
    key_pattern: 'P:P',
    requests: 'allkeys',
  };
  const phase = (name: string, workload: object) => ({ name, workload: workload as Workload });
  return {
    ...common,
    phases: [...(draft.populate ? [phase('populate', write)] : []), phase('measure', measured)],
  } as BenchmarkOrder;
}

function drillOrderOf(draft: RunDraft, kind: PlannedDrill['kind']): Partial<PlannedDrill> {
  const { ofShard, timed } = drillOf(kind);
  const shard = ofShard ? draft.drillShard : null;
  return {
    kind,
    at_seconds: draft.drillAt,
    node_uid: shard?.node ?? draft.drillNode ?? 0,
    ...(shard && { shard_uid: shard.uid }),
    ...(timed && { seconds: draft.drillSeconds }),
  };
}

function drillFaultOf(draft: RunDraft): string | undefined {
  if (draft.drill === '') return undefined;
  const { ofShard, timed } = drillOf(draft.drill);
  if (ofShard && draft.drillShard === null) return 'Choose the shard of the drill.';
  if (!ofShard && draft.drillNode === null) return 'Choose the node of the drill.';
  if (draft.how === 'fields' && draft.drillAt >= draft.seconds) {
    return 'The drill begins after the end of the measured part.';
  }
  if (timed && (draft.drillSeconds < SECONDS_MIN || draft.drillSeconds > SECONDS_MAX)) {
    return `A drill lasts ${SECONDS_MIN} to ${SECONDS_MAX} seconds.`;
  }
  return undefined;
}

/** Why it cannot be ordered yet. */
export function faultOf(draft: RunDraft): string | undefined {
  if (draft.bdb === null) return 'Choose a database.';
  if (!draft.name.trim()) return 'Give the run a name.';
  if (draft.how === 'line' && !draft.line.trim()) return 'Paste a memtier_benchmark command line.';
  if (draft.how === 'fields' && !/^\d{1,9}:\d{1,9}$/.test(draft.ratio)) {
    return 'SET:GET is two numbers, for example 1:10.';
  }
  if (draft.how === 'fields' && draft.tool === MEMTIER && draft.rate > 0) {
    return 'memtier_benchmark has no schedule: set the rate to 0.';
  }
  return drillFaultOf(draft);
}
