import { describe, expect, it } from 'vitest';
import type { Workload } from '@/api/types';
import {
  commonTags,
  failureHint,
  figureLabel,
  figureValue,
  foreignKeysText,
  rangeText,
  workloadText,
} from './runText';

const plain = (words: string) => words.replaceAll('\u00a0', ' ');

describe('workloadText', () => {
  it('describes the defaults of memtier', () => {
    expect(plain(workloadText({} as Workload))).toBe(
      '200 connections (4 threads), one outstanding request each, SET:GET 1:10, 32 B values, random keys, 10 k requests per connection',
    );
  });

  it('describes duration, pipeline, rate and two key patterns', () => {
    const words = plain(
      workloadText({
        threads: 1,
        clients: 2,
        pipeline: 8,
        key_pattern: 'P:G',
        test_time: 60,
        rate: 1000,
      } as Workload),
    );
    expect(words).toContain('8 outstanding requests each');
    expect(words).toContain('partitioned sequential keys for SET, Gaussian keys for GET');
    expect(words).toContain('at a rate of 1 k ops/s');
  });
});

it('describes the verification of values', () => {
  expect(workloadText({ data_verify: true } as Workload)).toMatch(/, values verified$/);
  expect(workloadText({ verify_only: true } as Workload)).toMatch(/only read and verified$/);
});

describe('figures', () => {
  it('have names and units', () => {
    expect(figureLabel('min_ops_per_second')).toBe('Throughput');
    expect(figureLabel('max_outage_seconds')).toBe('Longest outage');
    expect(figureValue('max_outage_seconds', 1.234)).toBe('1.23 s');
    expect(figureValue('p99_ms', null)).toBe('–');
  });

  it('have a range if the repetitions differ as displayed', () => {
    expect(plain(rangeText('p99_ms', { least: 4.42, most: 5 }) ?? '')).toBe('4.42 ms to 5 ms');
    expect(rangeText('p99_ms', { least: 4.42, most: 4.42 })).toBeUndefined();
    expect(rangeText('p99_ms', { least: 4.4201, most: 4.4202 })).toBeUndefined();
    expect(rangeText('p99_ms', undefined)).toBeUndefined();
  });
});

describe('foreignKeysText', () => {
  it.each([
    [null, 'unknown, because no node responded'],
    [{ sampled: 0, foreign: 0 }, 'none, the database is empty'],
    [{ sampled: 40, foreign: 0 }, 'none of 40 sampled keys'],
    [{ sampled: 40, foreign: 12 }, '30% of 40 sampled keys'],
    [{ sampled: 320, foreign: 1 }, '1% of 320 sampled keys'],
  ])('describes %o', (sample, text) => {
    expect(plain(foreignKeysText(sample))).toBe(text);
  });
});

it('offers an agreement for a run that failed because of foreign keys', () => {
  expect(failureHint({ error_code: 'benchmark_foreign_keys' })).toContain('agree to add keys');
  expect(failureHint({})).toContain('Run again');
});

it('offers tags that all runs have', () => {
  const run = (...keys: string[]) => ({ tags: keys.map((key) => ({ key, value: 'x' })) });
  expect(commonTags([run('drive', 'a'), run('b', 'drive')])).toEqual(['drive']);
  expect(commonTags([])).toEqual([]);
});
