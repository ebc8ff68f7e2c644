/** The drill of a run: in words, and where it is on the charts. Pure. */
import { drillOf } from '@/api/drillKinds';
import type { Benchmark } from '@/api/types';
import type { ChartMark } from '@/ui/chart/types';

/** As "Reboot the node: node 2, at second 60 for 20 s". */
export function drillWords({ drill }: Pick<Benchmark, 'drill'>): string | undefined {
  if (!drill) return undefined;
  const { label, timed, ofShard } = drillOf(drill.kind);
  const whom = ofShard
    ? `redis:${drill.shard_uid} on node ${drill.node_uid}`
    : `node ${drill.node_uid}`;
  return `${label}: ${whom}, at second ${drill.at_seconds}${timed ? ` for ${drill.seconds} s` : ''}`;
}

/** From the second at which it was due. `began`: epoch second at which the measured phase did, first repetition. */
export function drillMark(
  run: Pick<Benchmark, 'drill'>,
  began: number | undefined,
): ChartMark | undefined {
  const words = drillWords(run);
  if (!run.drill || words === undefined || began === undefined) return undefined;
  const at = (began + run.drill.at_seconds) * 1000;
  const { timed } = drillOf(run.drill.kind);
  return {
    at,
    label: `Drill. ${words}`,
    tone: 'warning',
    ...(timed && { until: at + (run.drill.seconds ?? 0) * 1000 }),
  };
}
