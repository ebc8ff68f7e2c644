/** Banners for urgent problems: the connection is lost, a drill is running, a node is lost, shards are down. */
import { Button } from '@mantine/core';
import { Link, useLocation } from '@tanstack/react-router';
import { useSyncExternalStore } from 'react';
import { useRunningDrills } from '@/api/cluster/actions';
import type { Action } from '@/api/types';
import { CancelAction } from '@/features/actions/ActionProgress';
import { actionTitle } from '@/features/actions/recentActions';
import { etaText } from '@/features/actions/steps';
import { duration } from '@/lib/time';
import { consoleName } from '@/live/consoles/consoleSwitch';
import { continuedFrom } from '@/live/consoles/continuedFrom';
import { useConsoleSwitch, useDrawError, useLive, useStreamState } from '@/live/LiveProvider';
import { Elapsed, useNow } from '@/ui/Ago';
import { StatusIcon } from '@/ui/Status';
import { useProblems } from '../useProblems';
import classes from './Frame.module.css';
import { LoadErrors } from './LoadErrors';

const NOTICE_AFTER_MS = 1_500;

export function Banners() {
  const stream = useStreamState();
  const drawError = useDrawError();
  const { pathname } = useLocation();
  const problems = useProblems();
  const drills = useRunningDrills();
  return (
    <div role="status">
      <ContinuedNotice />
      {stream.phase === 'lost' ? <ConsoleLost {...stream} /> : <LoadErrors />}
      {drawError !== null && (
        <div className={classes.banner} data-tone="attention">
          <StatusIcon tone="attention" />
          <span>Part of this page does not show the newest samples: {drawError}</span>
          <Button size="compact-xs" variant="default" onClick={() => location.reload()}>
            Reload page
          </Button>
        </div>
      )}
      {drills.map((drill) => (
        <DrillRuns
          key={drill.action_uid}
          drill={drill}
          isOnTimeline={pathname === '/activity/timeline'}
        />
      ))}
      {problems
        // The overview page and the page of the incident already show the problem.
        .filter((problem) => problem.banner && pathname !== '/' && pathname !== problem.page)
        .map((problem) => (
          <div key={problem.text} className={classes.banner} data-tone={problem.tone}>
            <StatusIcon tone={problem.tone} />
            <span>
              {problem.text}
              {problem.since !== undefined && (
                <>
                  {' '}
                  for <Elapsed since={problem.since} hiddenFromScreenReaders />
                </>
              )}
              {/* Screen readers would read each change of the percentage. */}
              <span aria-live="off">{problem.consequences?.map((part) => `; ${part}`)}</span>
            </span>
            <Link {...problem.link}>View details</Link>
          </div>
        ))}
    </div>
  );
}

/** Banner of a running drill, whose failures are intentional. */
function DrillRuns({ drill, isOnTimeline }: { drill: Action; isOnTimeline: boolean }) {
  return (
    <div className={classes.banner} data-tone="progress">
      <StatusIcon tone="progress" />
      <span>
        {actionTitle(drill)}; started{' '}
        <Elapsed since={drill.creation_time * 1000} hiddenFromScreenReaders /> ago by{' '}
        {drill.originator}
        {/* Screen readers would read each change of the remaining time. */}
        <span aria-live="off">{etaText(drill) && `; ${etaText(drill)}`}</span>
      </span>
      <CancelAction action={drill} />
      {!isOnTimeline && (
        <Link to="/activity/timeline" search={{ range: 60 }}>
          View timeline
        </Link>
      )}
    </div>
  );
}

/** Banner of a page that was opened on a console that no longer responded. */
function ContinuedNotice() {
  const lostUid = useSyncExternalStore(continuedFrom.subscribe, continuedFrom.get);
  const { consoles } = useConsoleSwitch();
  const lost = consoles.find(({ uid }) => uid === lostUid);
  const current = consoles.find((each) => each.current);
  if (!lost || !current) return null;
  return (
    <div className={classes.banner} data-tone="attention">
      <StatusIcon tone="attention" />
      <span>
        Console {consoleName(lost, consoles)} did not answer. This page continues on{' '}
        {consoleName(current, consoles)}.
      </span>
      <Button size="compact-xs" variant="default" onClick={() => continuedFrom.set(null)}>
        Dismiss
      </Button>
    </div>
  );
}

function ConsoleLost(stream: { since: number; attempt: number; retryAt: number }) {
  const { state, consoles, continueNow } = useConsoleSwitch();
  if (state.phase === 'none') return <StreamLost {...stream} />;
  const target = consoleName(state.target, consoles);
  return (
    <div className={classes.banner} data-tone="attention">
      <StatusIcon tone="attention" />
      <span>
        Console {consoleName(state.lost, consoles)} does not answer.{' '}
        {state.phase === 'leaving'
          ? `Continuing on ${target}.`
          : `You can continue on ${target}, but the input in the form on this page will be lost.`}
      </span>
      {state.phase === 'asking' && (
        <Button size="compact-xs" variant="default" onClick={continueNow}>
          Continue on {target}
        </Button>
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
  // Do not show short interruptions, for example when the console disconnects a slow client.
  if (attempt < 2 && now - since < NOTICE_AFTER_MS) return null;
  return (
    <div className={classes.banner} data-tone="attention">
      <StatusIcon tone="attention" />
      <span>
        Connection to the console lost{' '}
        <span aria-hidden>{duration((Math.max(now, since) - since) / 1000)} ago</span>. Charts are
        paused; missing samples appear after the connection is restored.{' '}
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
