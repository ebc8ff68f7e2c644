/** State of the form for a new run, its presets, and the conversion to an API request. */
import { drillOf, SECONDS_MAX, SECONDS_MIN } from '@/api/failures/drillKinds';
import type { Benchmark, BenchmarkRequest, FindMax, Workload } from '@/api/types';

export type Tool = Benchmark['tool'];
export const BUILT_IN_TOOL: Tool = 'shardboard-load';
export const MEMTIER: Tool = 'memtier_benchmark';

export type PlannedDrill = NonNullable<BenchmarkRequest['drill']>;

type Limits = NonNullable<BenchmarkRequest['sla']>;

export interface RunDraft {
  /** Label of the preset that was applied last. */
  preset: string | null;
  name: string;
  bdb: number | null;
  inputMode: 'fields' | 'line' | 'phases';
  threads: number;
  clients: number;
  pipeline: number;
  ratio: string;
  dataSize: number;
  keys: number;
  pattern: string;
  seconds: number;
  /** Total requests per second; 0 = unlimited. */
  rate: number;
  /** Write all keys once before the measured phase. */
  populate: boolean;
  /** Derive each value from its key, and check the values that GETs return. */
  verify: boolean;
  line: string;
  /** Phases as JSON, of a run that the fields cannot express. */
  phases: string;
  repetitions: number;
  /** Limited latency of a search for the highest rate; empty = no search. A search sets the rate and has no repetitions. */
  findMax: FindMax['limit'] | '';
  findMaxMs: number;
  confirmations: number;
  nodes: readonly string[];
  averageMs: number | '';
  p99Ms: number | '';
  /** Limits without a field in the form. */
  otherLimits: Limits;
  tool: Tool;
  /** Values of a repeated run without a field in the form. */
  kept: Pick<BenchmarkRequest, 'notes' | 'tags' | 'scenario'>;
  overwrite: boolean;
  /** Consent that memtier_benchmark exposes the password to other users of its node. */
  passwordInArguments: boolean;
  /** Drill during the measured phase; empty = none. */
  drill: PlannedDrill['kind'] | '';
  /** Target node of the drill. Drills of a shard use `drillShard` instead. */
  drillNode: number | null;
  drillShard: { uid: number; node: number } | null;
  /** Start of the drill, in seconds after the start of the measured phase. */
  drillAt: number;
  drillSeconds: number;
}

export const EMPTY_RUN_DRAFT: RunDraft = {
  preset: null,
  name: '',
  bdb: null,
  inputMode: 'fields',
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
  verify: false,
  line: '',
  phases: '',
  repetitions: 1,
  findMax: '',
  findMaxMs: 1,
  confirmations: 3,
  nodes: [],
  averageMs: 1,
  p99Ms: '',
  otherLimits: {},
  tool: BUILT_IN_TOOL,
  kept: {},
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
  description: string;
  draft: Partial<RunDraft>;
  /** The preset is for databases on flash. */
  flash?: boolean;
}

export const PRESETS: readonly Preset[] = [
  {
    label: 'Load test',
    description: 'Reads and writes (1:1) at the maximum rate, with an SLA of 1 ms average latency.',
    draft: {
      name: 'load test',
      inputMode: 'fields',
      pipeline: 1,
      ratio: '1:1',
      rate: 0,
      averageMs: 1,
      populate: true,
    },
  },
  {
    label: 'Steady rate',
    description:
      'A fixed rate for three minutes. Latency is measured from the scheduled time of each request, so that it includes stalls.',
    draft: {
      name: 'steady rate',
      inputMode: 'fields',
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
    label: 'Maximum throughput',
    description: '16 outstanding requests per connection.',
    draft: {
      name: 'maximum throughput',
      inputMode: 'fields',
      pipeline: 16,
      ratio: '1:1',
      rate: 0,
      averageMs: '',
      populate: true,
    },
  },
  {
    label: 'Highest rate',
    description:
      'Searches for the highest rate with an average latency of 1 ms. Each step lasts 30 seconds.',
    draft: {
      name: 'highest rate',
      inputMode: 'fields',
      ratio: '1:1',
      clients: 50,
      pipeline: 16,
      seconds: 30,
      averageMs: '',
      findMax: 'average_ms',
      populate: true,
    },
  },
  {
    label: 'Flash',
    description:
      'Gaussian key pattern over data larger than RAM. Hot keys stay in memory, and cold keys are read from flash.',
    draft: {
      name: 'flash',
      inputMode: 'fields',
      pattern: 'G:G',
      pipeline: 16,
      dataSize: 1_000,
      ratio: '1:1',
      averageMs: '',
      populate: true,
    },
    flash: true,
  },
];

interface Candidate {
  uid: number;
  bigstore: boolean;
}

/**
 * Return the draft with the settings of a preset. Settings that the preset does not name have their defaults, so that none is
 * left from another preset; the selected database, load nodes and load generator are kept.
 */
export function withPreset(
  draft: RunDraft,
  preset: Preset,
  databases: readonly Candidate[],
): RunDraft {
  const selected = databases.find(({ uid }) => uid === draft.bdb);
  const onFlash = databases.find(({ bigstore }) => bigstore);
  const bdb = preset.flash && !selected?.bigstore ? (onFlash?.uid ?? draft.bdb) : draft.bdb;
  const { line, nodes, tool } = draft;
  return { ...EMPTY_RUN_DRAFT, line, nodes, tool, ...preset.draft, bdb, preset: preset.label };
}

/** Return the API request. The console uses defaults for omitted fields. */
export function benchmarkRequest(draft: RunDraft): BenchmarkRequest {
  const limits = {
    ...draft.otherLimits,
    ...(draft.averageMs !== '' && { average_ms: draft.averageMs }),
    ...(draft.p99Ms !== '' && { p99_ms: draft.p99Ms }),
  };
  const common = {
    ...draft.kept,
    name: draft.name.trim(),
    bdb_uid: draft.bdb ?? 0,
    repetitions: draft.findMax === '' ? draft.repetitions : 1,
    ...(draft.findMax !== '' && {
      find_max: { limit: draft.findMax, ms: draft.findMaxMs, confirmations: draft.confirmations },
    }),
    load_nodes: draft.nodes.map(Number),
    tool: draft.tool,
    overwrite: draft.overwrite,
    password_in_arguments: draft.passwordInArguments,
    ...(Object.keys(limits).length > 0 && { sla: limits }),
    ...(draft.drill !== '' && { drill: drillRequestOf(draft, draft.drill) }),
  };
  if (draft.inputMode === 'line')
    return { ...common, command_line: draft.line } as BenchmarkRequest;
  if (draft.inputMode === 'phases')
    return { ...common, phases: parsePhases(draft.phases) } as BenchmarkRequest;
  const keys = {
    key_minimum: 1,
    key_maximum: draft.keys,
    data_size: draft.dataSize,
    ...(draft.verify && { data_verify: true }),
  };
  const measured = {
    ...keys,
    threads: draft.threads,
    clients: draft.clients,
    pipeline: draft.pipeline,
    ratio: draft.ratio,
    key_pattern: draft.pattern,
    test_time: draft.seconds,
    distinct_client_seed: true,
    ...(draft.rate > 0 && draft.findMax === '' && { rate: draft.rate }),
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
  } as BenchmarkRequest;
}

/** Return the phases of a JSON text; undefined if it is not a list of phases. */
function parsePhases(text: string): Benchmark['phases'] | undefined {
  try {
    const phases: unknown = JSON.parse(text);
    return Array.isArray(phases) && phases.length > 0 ? phases : undefined;
  } catch {
    return undefined;
  }
}

function drillRequestOf(draft: RunDraft, kind: PlannedDrill['kind']): Partial<PlannedDrill> {
  const { targetsShard, timed } = drillOf(kind);
  const shard = targetsShard ? draft.drillShard : null;
  return {
    kind,
    at_seconds: draft.drillAt,
    node_uid: shard?.node ?? draft.drillNode ?? 0,
    ...(shard && { shard_uid: shard.uid }),
    ...(timed && { seconds: draft.drillSeconds }),
  };
}

function drillErrorOf(draft: RunDraft): string | undefined {
  if (draft.drill === '') return undefined;
  const { targetsShard, timed } = drillOf(draft.drill);
  if (targetsShard && draft.drillShard === null) return 'Select the shard of the drill.';
  if (!targetsShard && draft.drillNode === null) return 'Select the node of the drill.';
  if (draft.inputMode === 'fields' && draft.drillAt >= draft.seconds) {
    return 'The drill starts after the end of the measured phase.';
  }
  if (timed && (draft.drillSeconds < SECONDS_MIN || draft.drillSeconds > SECONDS_MAX)) {
    return `The drill duration must be ${SECONDS_MIN} to ${SECONDS_MAX} seconds.`;
  }
  return undefined;
}

function findMaxErrorOf(draft: RunDraft): string | undefined {
  if (draft.findMax === '') return undefined;
  if (draft.findMaxMs <= 0) return 'The limit of the search must be above 0 ms.';
  if (draft.tool === MEMTIER) return 'memtier_benchmark cannot search for the highest rate.';
  if (draft.drill !== '') return 'A search cannot be combined with a drill.';
  return undefined;
}

/** Return the first validation error of the form; undefined if the run can be started. */
export function draftError(draft: RunDraft): string | undefined {
  if (draft.bdb === null) return 'Select a database.';
  if (!draft.name.trim()) return 'Enter a name.';
  if (draft.inputMode === 'line' && !draft.line.trim())
    return 'Enter a memtier_benchmark command line.';
  if (draft.inputMode === 'phases' && !parsePhases(draft.phases)) {
    return 'The phases must be a JSON list of objects with name and workload.';
  }
  if (draft.inputMode === 'fields' && !/^\d{1,9}:\d{1,9}$/.test(draft.ratio)) {
    return 'SET:GET must consist of two numbers, for example 1:10.';
  }
  if (draft.inputMode === 'fields' && draft.tool === MEMTIER && draft.rate > 0) {
    return 'memtier_benchmark does not support a request schedule. Set the rate to 0.';
  }
  if (draft.inputMode === 'fields' && draft.tool === MEMTIER && draft.verify) {
    return 'memtier_benchmark verifies only imported data. Clear Verify values.';
  }
  return findMaxErrorOf(draft) ?? drillErrorOf(draft);
}
