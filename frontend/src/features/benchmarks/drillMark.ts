/** Description of a run's drill, and its mark on the charts. Pure. */
import { isOpen } from '@/api/benchmarks';
import { drillOf } from '@/api/failures/drillKinds';
import type { Benchmark } from '@/api/types';
import type { ChartMark } from '@/ui/chart/types';

type DrillRun = Pick<Benchmark, 'drill' | 'facts' | 'status'>;

/** Return whether the run has ended without its drill, for example because drills were disabled. */
const isSkipped = (run: DrillRun): boolean => !isOpen(run) && !run.facts.drill_action_uid;

/** Return a description such as "Reboot the node: node 2, at second 60 for 20 s". */
export function drillText(run: DrillRun): string | undefined {
  const { drill } = run;
  if (!drill) return undefined;
  const { label, timed, targetsShard } = drillOf(drill.kind);
  const target = targetsShard
    ? `redis:${drill.shard_uid} on node ${drill.node_uid}`
    : `node ${drill.node_uid}`;
  const plan = `${label}: ${target}, at second ${drill.at_seconds}${timed ? ` for ${drill.seconds} s` : ''}`;
  return isSkipped(run) ? `${plan} (did not take place)` : plan;
}

/**
 * Return the mark at the scheduled time of the drill, unless it did not take place. `phaseStart`:
 * epoch second at which the first repetition of the measured phase started.
 */
export function drillMark(run: DrillRun, phaseStart: number | undefined): ChartMark | undefined {
  const description = drillText(run);
  if (!run.drill || isSkipped(run) || phaseStart === undefined) return undefined;
  const at = (phaseStart + run.drill.at_seconds) * 1000;
  const { timed } = drillOf(run.drill.kind);
  return {
    at,
    label: `Drill. ${description}`,
    tone: 'warning',
    ...(timed && { until: at + (run.drill.seconds ?? 0) * 1000 }),
  };
}
