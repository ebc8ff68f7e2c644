/** Texts and status tones of runs. */
import type { Benchmark, BenchmarkResult, Preflight, Workload } from '@/api/types';
import { format, plural } from '@/lib/format';
import { duration } from '@/lib/time';
import type { Tone } from '@/ui/Status';

export function toneOf(run: Pick<Benchmark, 'status' | 'summary'>): Tone {
  if (run.status === 'running' || run.status === 'queued') return 'progress';
  if (run.status === 'failed') return 'broken';
  if (run.status === 'stopped') return 'attention';
  return run.summary?.verdict.kept === false ? 'attention' : 'ok';
}

/**
 * Return the result of the measured phase, which is the last phase; of several repetitions, the
 * last one with results. Of a search, it is a confirmation run at the found rate.
 */
export function measuredResult(
  run: Pick<Benchmark, 'summary' | 'phases' | 'search'>,
): BenchmarkResult | undefined {
  const last = run.phases.length - 1;
  const found = run.summary?.find_max;
  return run.summary?.results
    .filter(({ phase, ops, repetition }) => {
      const step = run.search[repetition];
      const isMeasured =
        !found ||
        (step?.purpose === 'confirmation' && step.rate === found.rate && step.met !== null);
      return phase === last && ops > 0 && isMeasured;
    })
    .at(-1);
}

export function slaStatus(
  run: Pick<Benchmark, 'sla' | 'summary'>,
): { tone: Tone; label: string } | null {
  if (!run.sla) return null;
  const kept = run.summary?.verdict.kept;
  if (kept === undefined || kept === null) return { tone: 'unknown', label: 'Not measured' };
  return kept ? { tone: 'ok', label: 'Met' } : { tone: 'broken', label: 'Missed' };
}

/** Return the warnings of all load generators without duplicates. */
export function warningsOf(run: Pick<Benchmark, 'loads'>): string[] {
  return [...new Set(run.loads.flatMap(({ warnings }) => warnings))];
}

const PATTERNS: Record<string, string> = {
  R: 'random keys',
  S: 'sequential keys',
  P: 'partitioned sequential keys',
  G: 'Gaussian keys',
  Z: 'Zipf keys',
};

/** Describe a workload. Omitted fields have the defaults of memtier_benchmark. */
export function workloadText(workload: Workload): string {
  const setting = (name: string, fallback: unknown) =>
    (workload as Record<string, unknown>)[name] ?? fallback;
  const threads = Number(setting('threads', 4));
  const clients = Number(setting('clients', 50));
  const pipeline = Number(setting('pipeline', 1));
  const [sets, gets] = String(setting('key_pattern', 'R:R')).split(':');
  const keys =
    gets === sets || !gets
      ? PATTERNS[sets ?? 'R']
      : `${PATTERNS[sets ?? 'R']} for SET, ${PATTERNS[gets]} for GET`;
  const testTime = setting('test_time', null);
  const parts = [
    `${plural(threads * clients, 'connection')} (${plural(threads, 'thread')})`,
    pipeline > 1 ? `${pipeline} outstanding requests each` : 'one outstanding request each',
    `SET:GET ${setting('ratio', '1:10')}`,
    `${format('bytes', Number(setting('data_size', 32)))} values`,
    keys ?? '',
    testTime
      ? `for ${duration(Number(testTime))}`
      : setting('requests', null) === 'allkeys'
        ? 'each key once'
        : `${format('count', Number(setting('requests', 10_000)))} requests per connection`,
  ];
  const rate = setting('rate', null);
  if (rate) parts.push(`at a rate of ${format('ops', Number(rate))}`);
  if (setting('verify_only', false)) parts.push('values only read and verified');
  else if (setting('data_verify', false)) parts.push('values verified');
  return parts.filter(Boolean).join(', ');
}

export const FIGURES: readonly {
  name: string;
  label: string;
  unit: 'ops' | 'ms' | 'count' | 'plain';
}[] = [
  { name: 'ops_per_second', label: 'Throughput', unit: 'ops' },
  { name: 'average_ms', label: 'Average latency', unit: 'ms' },
  { name: 'p50_ms', label: 'P50', unit: 'ms' },
  { name: 'p90_ms', label: 'P90', unit: 'ms' },
  { name: 'p99_ms', label: 'P99', unit: 'ms' },
  { name: 'p999_ms', label: 'P99.9', unit: 'ms' },
  { name: 'max_ms', label: 'Slowest', unit: 'ms' },
];

/** Return the label of a limit or compared value. */
export function figureLabel(name: string): string {
  const known = FIGURES.find((figure) => figure.name === name || `min_${figure.name}` === name);
  if (known) return known.label;
  if (name === 'max_errors') return 'Errors';
  if (name === 'max_outage_seconds') return 'Longest outage';
  return name.replaceAll('_', ' ');
}

export function figureValue(name: string, value: number | null | undefined): string {
  const unit = name.endsWith('_ms') ? 'ms' : name.includes('ops_per_second') ? 'ops' : 'count';
  if (value !== null && value !== undefined && name.endsWith('_seconds'))
    return `${value.toFixed(2)} s`;
  return format(unit, value);
}

/** Describe how many keys of the sample no benchmark wrote. */
export function foreignKeysText(sample: Preflight['key_sample']): string {
  if (!sample) return 'unknown, because no node responded';
  if (!sample.sampled) return 'none, the database is empty';
  if (!sample.foreign) return `none of ${plural(sample.sampled, 'sampled key')}`;
  const share = Math.max(1, Math.round((100 * sample.foreign) / sample.sampled));
  return `${share}% of ${plural(sample.sampled, 'sampled key')}`;
}

/** Return what users can do about a failed run. */
export function failureHint({ error_code }: Pick<Benchmark, 'error_code'>): string {
  return error_code === 'benchmark_foreign_keys'
    ? 'Choose “Run with changes” and agree to add keys, or select another database.'
    : 'Choose “Run again” when the cause is removed, or “Run with changes” to use other settings.';
}

/** Return the keys of tags that all runs have. */
export function commonTags(runs: readonly Pick<Benchmark, 'tags'>[]): string[] {
  const keys = (runs[0]?.tags ?? []).map(({ key }) => key);
  return keys.filter((key) => runs.every(({ tags }) => tags.some((tag) => tag.key === key)));
}

/** Return the range of the repetitions; undefined if both ends have the same text, as with one repetition. */
export function rangeText(
  name: string,
  range: { least: number; most: number } | null | undefined,
): string | undefined {
  const [least, most] = [figureValue(name, range?.least), figureValue(name, range?.most)];
  return range && least !== most ? `${least} to ${most}` : undefined;
}
