import { describe, expect, it } from 'vitest';
import { benchmarkRequest, draftError, EMPTY_RUN_DRAFT, PRESETS, withPreset } from './runDraft';

const READY = { ...EMPTY_RUN_DRAFT, name: ' a run ', bdb: 3 };

describe('benchmarkRequest', () => {
  it('writes all keys before the measured phase', () => {
    const payload = benchmarkRequest(READY);
    expect(payload).toMatchObject({ name: 'a run', bdb_uid: 3, sla: { average_ms: 1 } });
    expect(payload.phases?.map(({ name }) => name)).toEqual(['populate', 'measure']);
    expect(payload.phases?.[0]?.workload).toMatchObject({
      requests: 'allkeys',
      key_pattern: 'P:P',
    });
    expect(payload.phases?.[1]?.workload).toMatchObject({ test_time: 60, key_maximum: 100_000 });
    expect(payload.phases?.[1]?.workload).not.toHaveProperty('rate');
  });

  it('omits unset limits and phases', () => {
    const payload = benchmarkRequest({ ...READY, populate: false, averageMs: '', rate: 500 });
    expect(payload).not.toHaveProperty('sla');
    expect(payload.phases).toHaveLength(1);
    expect(payload.phases?.[0]?.workload).toMatchObject({ rate: 500 });
  });

  it('derives the values of all phases if they are verified', () => {
    expect(benchmarkRequest(READY).phases?.[0]?.workload).not.toHaveProperty('data_verify');
    const { phases } = benchmarkRequest({ ...READY, verify: true });
    expect(phases?.map(({ workload }) => workload?.data_verify)).toEqual([true, true]);
  });

  it('sends a pasted command line', () => {
    const payload = benchmarkRequest({
      ...READY,
      inputMode: 'line',
      line: 'memtier_benchmark -t 1',
    });
    expect(payload).toMatchObject({ command_line: 'memtier_benchmark -t 1' });
    expect(payload).not.toHaveProperty('phases');
  });
});

describe('memtier_benchmark', () => {
  const draft = { ...READY, tool: 'memtier_benchmark' as const };

  it('can be selected as load generator', () => {
    expect(draftError(draft)).toBeUndefined();
    expect(benchmarkRequest(draft)).toMatchObject({
      tool: 'memtier_benchmark',
      password_in_arguments: false,
    });
  });

  it('rejects the verification of values', () => {
    expect(draftError({ ...draft, verify: true })).toMatch('Verify values');
  });

  it('rejects a request rate', () => {
    expect(draftError({ ...draft, rate: 500 })).toMatch('schedule');
    expect(draftError({ ...draft, rate: 500, tool: 'shardboard-load' })).toBeUndefined();
  });
});

describe('a search', () => {
  const draft = { ...READY, findMax: 'p99_ms' as const, findMaxMs: 2, rate: 500, repetitions: 4 };

  it('sets the rate and has confirmations instead of repetitions', () => {
    const payload = benchmarkRequest(draft);
    expect(payload.find_max).toEqual({ limit: 'p99_ms', ms: 2, confirmations: 3 });
    expect(payload.repetitions).toBe(1);
    expect(payload.phases?.at(-1)?.workload).not.toHaveProperty('rate');
    expect(draftError(draft)).toBeUndefined();
    expect(benchmarkRequest(READY)).not.toHaveProperty('find_max');
  });

  it('requires a limit and rejects drills and memtier_benchmark', () => {
    expect(draftError({ ...draft, findMaxMs: 0 })).toMatch('above 0');
    expect(draftError({ ...draft, drill: 'reboot', drillNode: 2 })).toMatch('drill');
    expect(draftError({ ...draft, rate: 0, tool: 'memtier_benchmark' })).toMatch('search');
  });
});

describe('a drill', () => {
  it('can target a node', () => {
    const draft = { ...READY, drill: 'reboot' as const, drillNode: 2, drillAt: 30 };
    expect(draftError(draft)).toBeUndefined();
    expect(benchmarkRequest(draft).drill).toEqual({
      kind: 'reboot',
      at_seconds: 30,
      node_uid: 2,
      seconds: 20,
    });
    expect(benchmarkRequest(READY)).not.toHaveProperty('drill');
  });

  it('can target a shard and includes its node', () => {
    const draft = { ...READY, drill: 'kill_shard' as const, drillNode: 2 };
    expect(draftError(draft)).toMatch('shard');
    const chosen = { ...draft, drillShard: { uid: 7, node: 3 } };
    expect(draftError(chosen)).toBeUndefined();
    expect(benchmarkRequest(chosen).drill).toEqual({
      kind: 'kill_shard',
      at_seconds: 20,
      node_uid: 3,
      shard_uid: 7,
    });
  });

  it('must start before the end of the measured phase and have a valid duration', () => {
    const draft = { ...READY, drill: 'freeze' as const, drillNode: 1 };
    expect(draftError({ ...draft, drillNode: null })).toMatch('node');
    expect(draftError({ ...draft, drillAt: 60 })).toMatch('after the end');
    expect(draftError({ ...draft, drillSeconds: 3601 })).toMatch('3600');
  });
});

describe('draftError', () => {
  it('reports missing values', () => {
    expect(draftError(EMPTY_RUN_DRAFT)).toMatch('database');
    expect(draftError({ ...READY, name: ' ' })).toMatch('name');
    expect(draftError({ ...READY, inputMode: 'line' })).toMatch('memtier');
    expect(draftError({ ...READY, ratio: 'x' })).toMatch('SET:GET');
    expect(draftError(READY)).toBeUndefined();
  });

  it('accepts all presets', () => {
    for (const { draft } of PRESETS) expect(draftError({ ...READY, ...draft })).toBeUndefined();
  });
});

describe('withPreset', () => {
  const databases = [
    { uid: 3, bigstore: false },
    { uid: 5, bigstore: true },
  ];
  const presets = PRESETS.map((preset) => [preset.label, preset] as const);
  const named = (name: string) => PRESETS.find(({ label }) => label === name) ?? expect.fail(name);
  const flash = named('Flash');

  it.each(presets)('%s leaves no setting of another preset', (_, preset) => {
    const expected = withPreset(READY, preset, databases);
    for (const [, other] of presets) {
      const before = { ...withPreset(READY, other, databases), bdb: 3 };
      expect(withPreset(before, preset, databases)).toEqual(expected);
    }
  });

  it('keeps database, load nodes, load generator and pasted line', () => {
    const chosen = { ...READY, nodes: ['2'], tool: 'memtier_benchmark', line: '-c 5' } as const;
    const kept = withPreset(chosen, named('Load test'), databases);
    expect(kept).toMatchObject({ bdb: 3, nodes: ['2'], tool: 'memtier_benchmark', line: '-c 5' });
  });

  it('selects a database on flash for the preset of flash', () => {
    expect(withPreset(READY, flash, databases).bdb).toBe(5);
    expect(
      withPreset({ ...READY, bdb: 9 }, flash, [...databases, { uid: 9, bigstore: true }]).bdb,
    ).toBe(9);
    expect(withPreset(READY, flash, [{ uid: 3, bigstore: false }]).bdb).toBe(3);
  });
});
