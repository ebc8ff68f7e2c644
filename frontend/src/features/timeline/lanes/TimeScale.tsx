/** Labels and grid lines of the time axis above the lanes. */
import { useMediaQuery } from '@mantine/hooks';
import { dated } from '@/lib/dates';
import { clock } from '@/lib/time';
import type { CoarseWindow } from '@/live/useCoarseWindow';
import { useZone } from '@/ui/useZone';
import classes from './Swimlanes.module.css';
import { ticksOf } from './ticks';

const PHONE = '(max-width: 600px)';
const DAY = 86_400;
const SHOW_YEAR_FROM = 180 * DAY;

export function TimeScale({ window, base }: { window: CoarseWindow; base: number }) {
  const zone = useZone();
  const isPhone = useMediaQuery(PHONE);
  const { step, at } = ticksOf(
    window.from,
    window.to,
    Math.ceil(((window.to - window.from) / window.length) * (isPhone ? 2 : 8)),
    zone,
  );
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
