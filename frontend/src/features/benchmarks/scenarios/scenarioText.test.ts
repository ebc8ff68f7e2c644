import { describe, expect, it } from 'vitest';
import {
  cellText,
  figureText,
  partText,
  partTone,
  runSeconds,
  scaleShare,
  scaleText,
  scenarioTone,
  statusText,
  stepsOf,
} from './scenarioText';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');

describe('a scale', () => {
  it.each([
    [1, '1'],
    [0.0005, '1/2,000'],
    [1e-6, '1/1,000,000'],
    [0.0000063, '1/159,000'],
    [0.5, '1/2'],
    [0.3333, '33.3%'],
    [0.75, '75%'],
    [2, '200%'],
  ])('%f is written as %s', (scale, text) => expect(scaleShare(scale)).toBe(text));

  it('is described as a share of the published size', () => {
    expect(scaleText(1)).toBe('the published size');
    expect(scaleText(0.01)).toBe('1/100 of the published size');
  });
});

describe('figureText', () => {
  it.each([
    [2_340_000, 'ops/s', '2.34 M ops/s'],
    [0.97, 'ms', '0.97 ms'],
    [91, '%', '91%'],
    [0, 'ms', '0 ms'],
    [60, '', '60'],
    [1.5, 'x', '1.5 x'],
    [115_000_000, 'ops/s per node', '115 M ops/s per node'],
    ['99% < 1ms', 'ms', '99% < 1ms'],
    [null, 'ms', '–'],
    [undefined, '', '–'],
  ])('formats %s with unit %j as %s', (value, unit, text) =>
    expect(plain(figureText(value, unit))).toBe(text),
  );
});

describe('cellText', () => {
  it.each([
    [4_520_000, 'ops/s', '4.52 M'],
    [1_666_667, 'ops/s per node', '1.67 M'],
    [0.97, 'ms', '0.97'],
    [9.03, 'Gbit/s', '9.03'],
    [91, '%', '91'],
    ['under 1', 'ms', 'under 1'],
  ])('omits the unit of %s %s', (value, unit, text) =>
    expect(plain(cellText(value, unit))).toBe(text),
  );
});

describe('partText', () => {
  const PART = {
    name: 'DRAM',
    databases: 1,
    nodes: 3,
    database: { shards_count: 60, memory_size: 2 ** 30, replication: true },
    phases: [],
    repetitions: 3,
    sla: null,
    drill: null,
    find_max: null,
    fill: null,
    reuse: false,
  };

  it('describes one database', () => {
    expect(plain(partText(PART))).toBe(
      '1 database on 3 nodes: 60 shards with replicas, 1 GiB, 3 repetitions',
    );
  });

  it('describes equal databases and flash', () => {
    const part = {
      ...PART,
      databases: 288,
      nodes: 1,
      repetitions: 1,
      database: { memory_size: 2 ** 30, bigstore: true },
    };
    expect(plain(partText(part))).toBe(
      '288 databases on 1 node: each with 1 shard, 1 GiB, on flash',
    );
  });

  it('describes a part that uses the databases of the previous one', () => {
    expect(partText({ ...PART, reuse: true })).toContain('the same as in the previous part');
  });
});

describe('a run', () => {
  it('has a duration when it has ended', () => {
    const started_time = '2026-03-01T10:00:00Z';
    expect(runSeconds({ started_time, finished_time: '2026-03-01T10:02:30Z' })).toBe(150);
    expect(runSeconds({ started_time })).toBeUndefined();
    expect(runSeconds({})).toBeUndefined();
  });

  it('shows its progress while it is running', () => {
    expect(statusText({ status: 'running', progress: 41.9 })).toBe('running, 41%');
    expect(statusText({ status: 'failed', progress: 41.9 })).toBe('failed');
  });

  it('and its parts have a tone for each status', () => {
    const statuses = ['queued', 'running', 'completed', 'failed', 'stopped'] as const;
    expect(statuses.map(scenarioTone)).toEqual([
      'progress',
      'progress',
      'ok',
      'broken',
      'attention',
    ]);
    const parts = ['waiting', 'creating', 'completed', 'failed', 'skipped'] as const;
    expect(parts.map(partTone)).toEqual(['unknown', 'progress', 'ok', 'broken', 'unknown']);
  });
});

describe('stepsOf', () => {
  const states = (status: 'creating' | 'measuring' | 'removing', isKept: boolean) =>
    stepsOf(status, isKept).map(({ state }) => state);

  it('reports the steps of a part in progress', () => {
    expect(states('creating', false)).toEqual(['running', 'waiting', 'waiting']);
    expect(states('measuring', false)).toEqual(['completed', 'running', 'waiting']);
    expect(states('removing', false)).toEqual(['completed', 'completed', 'running']);
  });

  it('omits the deletion of databases that are kept', () => {
    expect(states('measuring', true)).toEqual(['completed', 'running']);
  });

  it('has no steps for parts that wait or have ended', () => {
    expect(stepsOf('waiting', false)).toEqual([]);
    expect(stepsOf('completed', false)).toEqual([]);
  });
});
