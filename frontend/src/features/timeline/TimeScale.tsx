/** Labels and lines of the time axis above the lanes. */
import { clock, stamp } from '@/lib/time';
import type { CoarseWindow } from '@/live/useWindow';
import { useZone } from '@/ui/zone';
import classes from './swimlanes.module.css';
import { ticksOf } from './ticks';

const DAY = 86_400;

export function TimeScale({ window, base }: { window: CoarseWindow; base: number }) {
  const zone = useZone();
  const { step, at } = ticksOf(
    window.from,
    window.to,
    Math.ceil(((window.to - window.from) / window.length) * 8),
  );
  const text = (second: number) => {
    const time = clock(second * 1000, zone);
    if (step >= DAY) return stamp(second * 1000, zone).slice(5, 10);
    if (window.length > DAY)
      return `${stamp(second * 1000, zone).slice(5, 10)} ${time.slice(0, 5)}`;
    return step >= 60 ? time.slice(0, 5) : time;
  };
  return (
    <div className={classes.scale} aria-hidden>
      <div className={classes.head} />
      <div className={classes.ticks}>
        <div className={classes.strip} data-strip>
          {at.map((second) => (
            <span key={second} style={{ '--start': second - base } as object}>
              {text(second)}
            </span>
          ))}
        </div>
      </div>
    </div>
  );
}
