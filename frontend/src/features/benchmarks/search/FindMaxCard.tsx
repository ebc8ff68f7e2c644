/** Result of a search for the highest rate, also while it is running: the rate and the measured curve. */
import type { Benchmark } from '@/api/types';
import { Card } from '@/ui/Card';
import { StatusIcon } from '@/ui/Status';
import classes from '../benchmarks.module.css';
import { limitText, rateCurve } from './findMax';
import { RateCurves } from './RateCurves';

export function FindMaxCard({ run }: { run: Pick<Benchmark, 'find_max' | 'name'> }) {
  const { find_max: found } = run;
  if (!found) return null;
  return (
    <Card title={`Highest rate with ${limitText(found)}`}>
      {found.curve.length > 0 ? (
        <div className={classes.concern} role="note">
          <StatusIcon tone={found.confirmed ? 'ok' : 'attention'} />
          <span>{found.text}</span>
        </div>
      ) : (
        <span className={classes.dim}>The first rate has not been measured yet.</span>
      )}
      <div className={classes.curve}>
        <RateCurves
          label="Latency by rate"
          curves={[rateCurve('Measured latency', found)]}
          limitMs={found.ms}
          found={found.rate}
        />
      </div>
    </Card>
  );
}
