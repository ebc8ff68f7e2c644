/** Where latency will be, and why there is no number yet. */
import { IconClockPause } from '@tabler/icons-react';
import classes from './metrics.module.css';

export function LatencyCard() {
  return (
    <section className={classes.latency} aria-label="Latency">
      <h2>Latency</h2>
      <div className={classes.latencyBody}>
        <IconClockPause size={28} stroke={1.4} aria-hidden />
        <strong>Awaits the endpoint proxy</strong>
        <p>
          Latency is what a client waits for, and only the endpoint can see that. The engine&rsquo;s
          own figures measure execution only: under load they stay far below what clients see, so
          they are not shown here as latency.
        </p>
      </div>
      <p className="dim small num">P50 – · P99 – · P99.9 –</p>
    </section>
  );
}
