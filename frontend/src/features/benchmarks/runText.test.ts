import { describe, expect, it } from 'vitest';
import type { Workload } from '@/api/types';
import { figureLabel, figureValue, workloadText } from './runText';

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

describe('figures', () => {
  it('have names and units', () => {
    expect(figureLabel('min_ops_per_second')).toBe('Throughput');
    expect(figureLabel('max_outage_seconds')).toBe('Longest outage');
    expect(figureValue('max_outage_seconds', 1.234)).toBe('1.23 s');
    expect(figureValue('p99_ms', null)).toBe('–');
  });
});
