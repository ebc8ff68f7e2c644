import { expect, it } from 'vitest';
import type { Benchmark } from '@/api/types';
import { draftOf } from './repeatedRun';
import { benchmarkRequest, draftError, EMPTY_RUN_DRAFT, type RunDraft } from './runDraft';

/** The run that the console stores for a draft. */
function runOf(draft: RunDraft): Benchmark {
  const { phases, bdb_uid, name, repetitions, load_nodes, tool, sla, drill, find_max, overwrite } =
    benchmarkRequest(draft);
  const last = phases?.at(-1);
  if (last && find_max) last.find_max = find_max;
  const run = { phases, bdb_uid, name, repetitions, load_nodes, tool, overwrite, ...draft.kept };
  return { ...run, sla: sla ?? null, drill: drill ?? null } as unknown as Benchmark;
}

const DRAFT: RunDraft = {
  ...EMPTY_RUN_DRAFT,
  name: 'a run',
  bdb: 3,
  threads: 3,
  clients: 7,
  keys: 500,
  rate: 900,
  seconds: 12,
  repetitions: 4,
  nodes: ['2', '5'],
  averageMs: '',
  p99Ms: 4,
  kept: { notes: 'why', tags: [{ key: 'drive', value: 'A' }], scenario: 'flash-85' },
  overwrite: true,
  drill: 'kill_shard',
  drillShard: { uid: 8, node: 2 },
  drillAt: 3,
};

it.each([
  ['all fields', DRAFT],
  ['no population', { ...DRAFT, populate: false }],
  ['verified values', { ...DRAFT, verify: true }],
  ['a drill of a node', { ...DRAFT, drill: 'freeze', drillNode: 4, drillShard: null } as RunDraft],
  [
    'a search',
    {
      ...DRAFT,
      drill: '',
      drillShard: null,
      rate: 0,
      repetitions: 1,
      findMax: 'p99_ms',
      findMaxMs: 2.5,
      confirmations: 4,
    } as RunDraft,
  ],
  ['no drill', { ...DRAFT, drill: '', drillShard: null } as RunDraft],
])('keeps the settings of a run with %s', (_, draft) => {
  const run = runOf(draft);
  expect(draftOf(run).inputMode).toBe('fields');
  expect(benchmarkRequest(draftOf(run))).toEqual(benchmarkRequest(draft));
});

it('keeps phases that the fields cannot express as JSON', () => {
  const phases = [
    { name: 'warm', workload: { requests: 'allkeys', ratio: '0:1', randomize: true } },
  ];
  const draft = draftOf({ ...runOf(DRAFT), phases } as Benchmark);
  expect(draft.inputMode).toBe('phases');
  expect(benchmarkRequest(draft).phases).toEqual(phases);
  expect(draftError(draft)).toBeUndefined();
  expect(draftError({ ...draft, phases: '[{' })).toMatch(/JSON list/);
  expect(draftError({ ...draft, phases: '[]' })).toMatch(/JSON list/);
});

it('keeps limits that have no field', () => {
  const run = { ...runOf(DRAFT), sla: { p99_ms: 4, max_errors: 0 } } as Benchmark;
  expect(benchmarkRequest(draftOf(run)).sla).toEqual({ p99_ms: 4, max_errors: 0 });
});
