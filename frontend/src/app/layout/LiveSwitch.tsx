/** Live or paused; says how old the newest sample is. */
import { Tooltip } from '@mantine/core';
import { useCallback, useRef, useState, useSyncExternalStore } from 'react';
import { format } from '@/lib/format';
import { useLive, useStreamState, useTick } from '@/live/LiveProvider';
import classes from './Frame.module.css';
import { usePageAxis } from './PageAxis';

export function LiveSwitch() {
  const axis = usePageAxis();
  const live = useLive();
  const stream = useStreamState();
  const on = useSyncExternalStore(axis.live.subscribe, axis.live.get);
  const button = useRef<HTMLButtonElement>(null);
  const [hint, setHint] = useState('');
  const lost = stream.phase === 'lost' && stream.attempt > 1;

  const note = useCallback(() => {
    const { last, p99 } = live.delay();
    if (!button.current || Number.isNaN(last)) return;
    button.current.dataset.delayMs = String(Math.round(last));
    button.current.dataset.delayP99Ms = String(Math.round(p99));
  }, [live]);
  useTick(note);

  const describe = () => {
    const { last, p99 } = live.delay();
    setHint(
      `Newest sample reached this page ${format('ms', last)} after it was taken (P99 ${format('ms', p99)})`,
    );
  };

  return (
    <Tooltip label={hint || 'Follow the newest samples (l)'}>
      <button
        ref={button}
        type="button"
        className={classes.live}
        aria-pressed={on}
        aria-label="Live"
        data-lost={lost || undefined}
        onClick={() => axis.toggleLive()}
        onMouseEnter={describe}
        onFocus={describe}
      >
        <span className={classes.dot} />
        {on ? (lost ? 'Lost' : 'Live') : 'Paused'}
      </button>
    </Tooltip>
  );
}
