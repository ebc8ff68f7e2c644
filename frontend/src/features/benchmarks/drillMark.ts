/** Description of a run's drill, and its mark on the charts. Pure. */
import { drillOf } from '@/api/failures/drillKinds';
import type { Benchmark } from '@/api/types';
import type { ChartMark } from '@/ui/chart/types';

/** Return a description such as "Reboot the node: node 2, at second 60 for 20 s". */
export function drillText({ drill }: Pick<Benchmark, 'drill'>): string | undefined {
  if (!drill) return undefined;
  const { label, timed, targetsShard } = drillOf(drill.kind);
  const target = targetsShard
    ? `redis:${drill.shard_uid} on node ${drill.node_uid}`
    : `node ${drill.node_uid}`;
  return `${label}: ${target}, at second ${drill.at_seconds}${timed ? ` for ${drill.seconds} s` : ''}`;
}

/**
 * Return the mark at the scheduled time of the drill. `phaseStart`: epoch second at which the first
 * repetition of the measured phase started.
 */
export function drillMark(
  run: Pick<Benchmark, 'drill'>,
  phaseStart: number | undefined,
): ChartMark | undefined {
  const description = drillText(run);
  if (!run.drill || description === undefined || phaseStart === undefined) return undefined;
  const at = (phaseStart + run.drill.at_seconds) * 1000;
  const { timed } = drillOf(run.drill.kind);
  return {
    at,
    label: `Drill. ${description}`,
    tone: 'warning',
    ...(timed && { until: at + (run.drill.seconds ?? 0) * 1000 }),
  };
}
