/** Switch between live and paused. Shows the age of the newest sample. */
import { Tooltip } from '@mantine/core';
import { useCallback, useRef, useState, useSyncExternalStore } from 'react';
import { format } from '@/lib/format';
import type { Freshness } from '@/live/freshness';
import { useDrawError, useFreshness, useLive, useStreamState, useTick } from '@/live/LiveProvider';
import type { StreamState } from '@/live/stream/stream';
import type { Tone } from '@/ui/Status';
import classes from './Frame.module.css';
import { usePageAxis } from './PageAxis';

export function LiveSwitch() {
  const axis = usePageAxis();
  const live = useLive();
  const stream = useStreamState();
  const freshness = useFreshness();
  const on = useSyncExternalStore(axis.live.subscribe, axis.live.get);
  const button = useRef<HTMLButtonElement>(null);
  const [hint, setHint] = useState('');
  const drawError = useDrawError();
  const { tone, label } = stateOf(stream, freshness, drawError);

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
      `The newest sample arrived ${format('ms', last)} after it was taken (P99 ${format('ms', p99)})`,
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
        data-tone={on ? tone : undefined}
        onClick={() => axis.toggleLive()}
        onMouseEnter={describe}
        onFocus={describe}
      >
        <span className={classes.dot} />
        <span className={classes.liveLabel}>{on ? label : 'Paused'}</span>
      </button>
    </Tooltip>
  );
}

/** Return the color and label of the switch. It is green only while samples are current. */
export function stateOf(
  stream: StreamState,
  freshness: Freshness,
  drawError: string | null = null,
): { tone: Tone; label: string } {
  // Ignore short interruptions.
  if (stream.phase === 'lost' && stream.attempt > 1) return { tone: 'broken', label: 'Lost' };
  if (drawError !== null) return { tone: 'attention', label: 'Partly live' };
  if (freshness === 'fresh') return { tone: 'ok', label: 'Live' };
  if (freshness === 'waiting') return { tone: 'unknown', label: 'Waiting' };
  return { tone: 'attention', label: freshness === 'partial' ? 'Partial' : 'Late' };
}
