/** What a run is to a reader. */
import type { Benchmark, BenchmarkResult, Workload } from '@/api/types';
import { format, plural } from '@/lib/format';
import { duration } from '@/lib/time';
import type { Tone } from '@/ui/Status';

export function toneOf(run: Pick<Benchmark, 'status' | 'summary'>): Tone {
  if (run.status === 'running' || run.status === 'queued') return 'progress';
  if (run.status === 'failed') return 'broken';
  if (run.status === 'stopped') return 'attention';
  return run.summary?.verdict.kept === false ? 'attention' : 'ok';
}

/** Of the measured phase: the last one; of several repetitions the last that was measured. */
export function measured(run: Pick<Benchmark, 'summary' | 'phases'>): BenchmarkResult | undefined {
  const last = run.phases.length - 1;
  return run.summary?.results.filter(({ phase, ops }) => phase === last && ops > 0).at(-1);
}

export function sla(run: Pick<Benchmark, 'sla' | 'summary'>): { tone: Tone; word: string } | null {
  if (!run.sla) return null;
  const kept = run.summary?.verdict.kept;
  if (kept === undefined || kept === null) return { tone: 'unknown', word: 'Not measured' };
  return kept ? { tone: 'ok', word: 'Kept' } : { tone: 'broken', word: 'Missed' };
}

/** What the load generators warned of, each once. */
export function warningsOf(run: Pick<Benchmark, 'loads'>): string[] {
  return [...new Set(run.loads.flatMap(({ warnings }) => warnings))];
}

const PATTERNS: Record<string, string> = {
  R: 'random keys',
  S: 'keys in turn',
  P: 'keys in turn, shared out',
  G: 'gaussian keys',
  Z: 'zipf keys',
};

/** A workload in a sentence; what is left out is as memtier has it. */
export function workloadWords(workload: Workload): string {
  const given = (name: string, otherwise: unknown) =>
    (workload as Record<string, unknown>)[name] ?? otherwise;
  const threads = Number(given('threads', 4));
  const clients = Number(given('clients', 50));
  const pipeline = Number(given('pipeline', 1));
  const [sets, gets] = String(given('key_pattern', 'R:R')).split(':');
  const keys =
    gets === sets || !gets
      ? PATTERNS[sets ?? 'R']
      : `${PATTERNS[sets ?? 'R']} for SET, ${PATTERNS[gets]} for GET`;
  const long = given('test_time', null);
  const parts = [
    `${plural(threads * clients, 'connection')} (${plural(threads, 'thread')})`,
    pipeline > 1 ? `${pipeline} requests each under way` : 'one request each at a time',
    `SET:GET ${given('ratio', '1:10')}`,
    `${format('bytes', Number(given('data_size', 32)))} values`,
    keys ?? '',
    long
      ? `for ${duration(Number(long))}`
      : given('requests', null) === 'allkeys'
        ? 'once through all keys'
        : `${format('count', Number(given('requests', 10_000)))} requests per connection`,
  ];
  const rate = given('rate', null);
  if (rate) parts.push(`held at ${format('ops', Number(rate))}`);
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

/** Of limits and compared figures. */
export function figureWord(name: string): string {
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
