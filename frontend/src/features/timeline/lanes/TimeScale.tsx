/** Labels of the time axis that the lanes share with the charts above them. */
import { useMediaQuery } from '@mantine/hooks';
import { dated } from '@/lib/dates';
import { clock } from '@/lib/time';
import type { CoarseWindow } from '@/live/useCoarseWindow';
import { PHONE, sharedStep, ticksOf } from '@/ui/chart/ticks';
import { useZone } from '@/ui/useZone';
import classes from './Swimlanes.module.css';

const DAY = 86_400;
const SHOW_YEAR_FROM = 180 * DAY;

export function TimeScale({ window, base }: { window: CoarseWindow; base: number }) {
  const zone = useZone();
  const step = sharedStep(window.length, useMediaQuery(PHONE));
  const at = ticksOf(window.from, window.to, step, zone);
  const text = (second: number) => {
    const time = clock(second * 1000, zone);
    // Show the year in long windows.
    const date = dated(second * 1000, zone, window.length > SHOW_YEAR_FROM);
    if (step >= DAY) return date;
    if (window.length > DAY) return `${date} ${time.slice(0, 5)}`;
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
