import { describe, expect, it } from 'vitest';
import type { Workload } from '@/api/types';
import { figureValue, figureWord, workloadWords } from './words';

const plain = (words: string) => words.replaceAll('\u00a0', ' ');

describe('workloadWords', () => {
  it('tells the defaults of memtier', () => {
    expect(plain(workloadWords({} as Workload))).toBe(
      '200 connections (4 threads), one request each at a time, SET:GET 1:10, 32 B values, random keys, 10 k requests per connection',
    );
  });

  it('tells time, pipeline, rate and two patterns', () => {
    const words = plain(
      workloadWords({
        threads: 1,
        clients: 2,
        pipeline: 8,
        key_pattern: 'P:G',
        test_time: 60,
        rate: 1000,
      } as Workload),
    );
    expect(words).toContain('8 requests each under way');
    expect(words).toContain('keys in turn, shared out for SET, gaussian keys for GET');
    expect(words).toContain('held at 1 k ops/s');
  });
});

describe('figures', () => {
  it('have names and units', () => {
    expect(figureWord('min_ops_per_second')).toBe('Throughput');
    expect(figureWord('max_outage_seconds')).toBe('Longest outage');
    expect(figureValue('max_outage_seconds', 1.234)).toBe('1.23 s');
    expect(figureValue('p99_ms', null)).toBe('–');
  });
});
