/** Conversion of a run to a draft of the form, to run it again. */
import { drillOf } from '@/api/failures/drillKinds';
import type { Benchmark, FindMax, Workload } from '@/api/types';
import { searchOf } from '../search/findMax';
import { benchmarkRequest, EMPTY_RUN_DRAFT, type RunDraft } from './runDraft';

/** Return the draft whose request equals that of the run. */
export function draftOf(run: Benchmark): RunDraft {
  const { average_ms, p99_ms, ...otherLimits } = run.sla ?? {};
  const common: RunDraft = {
    ...EMPTY_RUN_DRAFT,
    ...drillDraft(run.drill),
    ...findMaxDraft(searchOf(run)),
    name: run.name,
    bdb: run.bdb_uid,
    repetitions: run.repetitions,
    nodes: run.load_nodes.map(String),
    averageMs: average_ms ?? '',
    p99Ms: p99_ms ?? '',
    otherLimits,
    tool: run.tool,
    kept: { notes: run.notes, tags: run.tags, scenario: run.scenario },
    overwrite: run.overwrite,
    phases: JSON.stringify(
      run.phases.map(({ name, workload }) => ({ name, workload: used(workload) })),
      null,
      2,
    ),
  };
  const fields = { ...common, ...fieldsOf(run) };
  return isSame(benchmarkRequest(fields).phases, run.phases)
    ? fields
    : { ...common, inputMode: 'phases' };
}

function fieldsOf(run: Benchmark): Partial<RunDraft> {
  const workload: Workload = run.phases.at(-1)?.workload ?? {};
  return {
    threads: workload.threads ?? EMPTY_RUN_DRAFT.threads,
    clients: workload.clients ?? EMPTY_RUN_DRAFT.clients,
    pipeline: workload.pipeline ?? EMPTY_RUN_DRAFT.pipeline,
    ratio: workload.ratio ?? EMPTY_RUN_DRAFT.ratio,
    dataSize: workload.data_size ?? EMPTY_RUN_DRAFT.dataSize,
    keys: workload.key_maximum ?? EMPTY_RUN_DRAFT.keys,
    pattern: workload.key_pattern ?? EMPTY_RUN_DRAFT.pattern,
    seconds: workload.test_time ?? EMPTY_RUN_DRAFT.seconds,
    rate: workload.rate ?? 0,
    populate: run.phases.length > 1,
    verify: workload.data_verify ?? false,
  };
}

function findMaxDraft(search: FindMax | undefined): Partial<RunDraft> {
  if (!search) return {};
  const { limit, ms, confirmations = EMPTY_RUN_DRAFT.confirmations } = search;
  return { findMax: limit, findMaxMs: ms, confirmations };
}

function drillDraft(drill: Benchmark['drill']): Partial<RunDraft> {
  if (!drill) return {};
  const { targetsShard } = drillOf(drill.kind);
  return {
    drill: drill.kind,
    drillAt: drill.at_seconds,
    drillSeconds: drill.seconds ?? EMPTY_RUN_DRAFT.drillSeconds,
    drillNode: targetsShard ? null : drill.node_uid,
    drillShard:
      targetsShard && drill.shard_uid ? { uid: drill.shard_uid, node: drill.node_uid } : null,
  };
}

/** Return the options that have an effect. */
const used = (workload: object) =>
  Object.fromEntries(
    Object.entries(workload)
      .filter(([, value]) => value !== null && value !== false && value !== undefined)
      .sort(([a], [b]) => a.localeCompare(b)),
  );

type Phases = readonly { name: string; workload?: Workload | null | undefined }[];

function isSame(a: Phases | undefined, b: Phases): boolean {
  const plain = (phases: Phases) =>
    JSON.stringify(phases.map(({ name, workload }) => [name, used(workload ?? {})]));
  return a !== undefined && plain(a) === plain(b);
}
