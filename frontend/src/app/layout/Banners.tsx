/** Only what needs a look now: the stream is lost, a drill runs, a node is lost, shards are down. */
import { Button } from '@mantine/core';
import { Link, useLocation } from '@tanstack/react-router';
import { useRunningDrills } from '@/api/actions';
import type { Action } from '@/api/types';
import { actionTitle } from '@/features/actions/recent';
import { duration } from '@/lib/time';
import { useFault, useLive, useStreamState } from '@/live/LiveProvider';
import { Elapsed, useNow } from '@/ui/Ago';
import { StatusIcon } from '@/ui/Status';
import { useTroubles } from '../useTroubles';
import { Failures } from './Failures';
import classes from './Frame.module.css';

const NOTICE_AFTER_MS = 1_500;

export function Banners() {
  const stream = useStreamState();
  const fault = useFault();
  const { pathname } = useLocation();
  const troubles = useTroubles();
  const drills = useRunningDrills();
  return (
    <div role="status">
      {stream.phase === 'lost' ? <StreamLost {...stream} /> : <Failures />}
      {fault !== null && (
        <div className={classes.banner} data-tone="attention">
          <StatusIcon tone="attention" />
          <span>A part of this page does not follow the newest samples: {fault}</span>
          <Button size="compact-xs" variant="default" onClick={() => location.reload()}>
            Load the page anew
          </Button>
        </div>
      )}
      {drills.map((drill) => (
        <DrillRuns key={drill.action_uid} drill={drill} watched={pathname === '/timeline'} />
      ))}
      {troubles
        // The overview itself begins with them, and the page of the incident is about it.
        .filter((trouble) => trouble.banner && pathname !== '/' && pathname !== trouble.page)
        .map((trouble) => (
          <div key={trouble.text} className={classes.banner} data-tone={trouble.tone}>
            <StatusIcon tone={trouble.tone} />
            <span>
              {trouble.text}
              {trouble.since !== undefined && (
                <>
                  {' '}
                  for <Elapsed since={trouble.since} unspoken />
                </>
              )}
              {/* Percents in it would be read aloud at each step. */}
              <span aria-live="off">{trouble.rest?.map((part) => `; ${part}`)}</span>
            </span>
            <Link {...trouble.link}>Look</Link>
          </div>
        ))}
    </div>
  );
}

/** What breaks now was broken on purpose. */
function DrillRuns({ drill, watched }: { drill: Action; watched: boolean }) {
  return (
    <div className={classes.banner} data-tone="progress">
      <StatusIcon tone="progress" />
      <span>
        {actionTitle(drill)}; begun <Elapsed since={drill.creation_time * 1000} unspoken /> ago by{' '}
        {drill.originator}
      </span>
      {!watched && (
        <Link to="/timeline" search={{ range: 60 }}>
          Watch
        </Link>
      )}
    </div>
  );
}

function StreamLost({
  since,
  attempt,
  retryAt,
}: {
  since: number;
  attempt: number;
  retryAt: number;
}) {
  const live = useLive();
  const now = useNow();
  const seconds = Math.max(0, Math.ceil((retryAt - now) / 1000));
  // A short break, as when the console drops a slow reader, mends itself unnoticed.
  if (attempt < 2 && now - since < NOTICE_AFTER_MS) return null;
  return (
    <div className={classes.banner} data-tone="attention">
      <StatusIcon tone="attention" />
      <span>
        Connection to the console lost{' '}
        <span aria-hidden>{duration((Math.max(now, since) - since) / 1000)} ago</span>. Charts wait;
        what is measured meanwhile appears afterwards.{' '}
        <span aria-hidden>
          Attempt {attempt + 1} {seconds ? `in ${seconds} s` : 'now'}.
        </span>
      </span>
      <Button size="compact-xs" variant="default" onClick={() => live.retryNow()}>
        Retry now
      </Button>
    </div>
  );
}
