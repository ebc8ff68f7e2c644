/** Steps of the guided tour, judged by the incident that the console reports. Pure. */
import { SERVED_WITHIN_SECONDS } from '@/api/failures/drillKinds';
import type { Incident } from '@/api/types';
import { format, plural } from '@/lib/format';
import { duration, formatPreciseDuration } from '@/lib/time';

export interface Step {
  title: string;
  /** Explanation of the step, and where it is visible. */
  explanation: string;
  /** What the step promises. */
  promise: string;
  /** Measured outcome; undefined until the step is complete. */
  outcome?: string | undefined;
  /** Whether the promise was missed; also while the step is not complete, as soon as it cannot be kept any more. */
  isMissed: boolean;
  /** Why the promise was missed. */
  reason?: string | undefined;
  /** Whether the step is complete without a measurement that shows whether the promise was kept. */
  isUnmeasured?: boolean | undefined;
}

export interface BusiestNode {
  node: number;
  /** Mean CPU usage (0 to 1). */
  share: number;
}

/** Conditions of the tour that explain missed promises. */
export interface Conditions {
  /** Epoch milliseconds of the console's clock. */
  now: number;
  /** Duration of the drill in seconds. */
  drillSeconds: number;
  /** Return the node with the highest CPU usage between two instants in epoch milliseconds; undefined if it is unknown. */
  busiest: (from: number, to: number) => BusiestNode | undefined;
}

const PROMOTED_WITHIN_SECONDS = 1;
/** Time for the agent to start again after the drill. */
const START_SECONDS = 30;
const SYNCED_WITHIN_SECONDS = 60;
/** CPU usage that explains delays. */
const BUSY = 0.9;

/** Return the incident of the tour's drill: the first one of the node after the start of the tour. */
export function incidentSince(
  incidents: readonly Incident[],
  node: number,
  since: number,
): Incident | undefined {
  return incidents
    .filter(({ node_uid, kind, began_ms }) => {
      // Tolerate small differences between the clocks of the browser and the console.
      return node_uid === node && kind === 'node_down' && began_ms >= since - 5_000;
    })
    .sort((a, b) => a.began_ms - b.began_ms)[0];
}

interface Judgment extends Pick<Step, 'isMissed' | 'isUnmeasured' | 'reason'> {
  outcome: string | undefined;
  /** Epoch milliseconds in which the step took place; without them, the CPU usage does not explain a miss. */
  span?: readonly [from: number, to: number];
}

const PENDING: Judgment = { outcome: undefined, isMissed: false };

export function tourSteps(
  node: number,
  incident: Incident | undefined,
  conditions: Conditions,
): Step[] {
  const judge = (by: (incident: Incident, conditions: Conditions) => Judgment) => {
    const { span, ...judgment } = incident ? by(incident, conditions) : PENDING;
    return judgment.isMissed && span
      ? { ...judgment, reason: cpuReason(conditions.busiest(...span)) }
      : judgment;
  };
  return [
    {
      title: 'The node goes down',
      explanation: `All processes of node ${node} are killed, similar to a power failure. The slots of its primaries are not served, so the throughput in the charts drops. A red bar starts in the lane of the node.`,
      promise: 'at least one primary is lost',
      ...judge(lost),
    },
    {
      title: 'Replicas are promoted',
      explanation:
        'When the other nodes confirm that the node is down, the console promotes a replica of each lost primary. The arrows in the lanes show these failovers.',
      promise: `all lost primaries are replaced within ${PROMOTED_WITHIN_SECONDS} s after detection`,
      ...judge(promoted),
    },
    {
      title: 'Clients are served again',
      explanation:
        'The endpoints briefly hold requests and then send them to the new primaries. The throughput returns to its previous level.',
      promise: `every database is served again within ${SERVED_WITHIN_SECONDS} s`,
      ...judge(served),
    },
    {
      title: 'The node recovers',
      explanation: 'Its shards restart as replicas of the new primaries. The red bar ends.',
      promise: `the node is back within ${duration(conditions.drillSeconds + START_SECONDS)}`,
      ...judge(recovered),
    },
    {
      title: 'Replicas resync',
      explanation:
        'Each replica copies the data of its primary. Bars in the lanes show the progress. When the last replica is in sync, every shard has a copy again.',
      promise: `all pairs are in sync within ${duration(SYNCED_WITHIN_SECONDS)} after the node is back`,
      ...judge(synced),
    },
  ];
}

/** Return whether the CPU explains why a promise was missed. */
function cpuReason(busiest: BusiestNode | undefined): string {
  if (!busiest) return 'The CPU usage at that time is unknown.';
  const { node, share } = busiest;
  const usage = `${format('ratio', share)} busy at that time`;
  return share >= BUSY
    ? `The CPU of node ${node} was ${usage}, so all processes were delayed.`
    : `The CPU was not the cause: it was at most ${usage}.`;
}

function lost({ primaries, replicas }: Incident): Judgment {
  const outcome = `${plural(primaries, 'primary', 'primaries')} and ${plural(replicas, 'replica')} lost.`;
  return primaries
    ? { outcome, isMissed: false }
    : { outcome, isMissed: true, reason: 'The node had no primaries.' };
}

function promoted(
  { failovers, figures, primaries, began_ms, detected_ms, state }: Incident,
  { now }: Conditions,
): Judgment {
  const limit = PROMOTED_WITHIN_SECONDS * 1000;
  const after = figures.find(({ name }) => name === 'promoted')?.ms ?? null;
  const span = [began_ms, after === null ? now : detected_ms + after] as const;
  const isMissing = failovers.length < primaries;
  if (isMissing && state !== 'over')
    return { ...PENDING, isMissed: now - detected_ms > limit, span: [began_ms, now] };
  const count = isMissing
    ? `${failovers.length} of ${plural(primaries, 'lost primary', 'lost primaries')} replaced`
    : `${plural(failovers.length, 'replica')} promoted`;
  if (after === null && !isMissing)
    return {
      outcome: `${count}${failovers.length ? '; the time was not measured' : ''}.`,
      isMissed: false,
      isUnmeasured: true,
    };
  const when = after === null ? '' : `, ${formatPreciseDuration(after / 1000)} after detection`;
  return { outcome: `${count}${when}.`, isMissed: isMissing || (after ?? 0) > limit, span };
}

function served({ began_ms, databases, state }: Incident, { now }: Conditions): Judgment {
  const limit = SERVED_WITHIN_SECONDS * 1000;
  const waiting = databases.flatMap(({ unserved_since_ms }) => unserved_since_ms ?? []);
  if (waiting.length)
    return { ...PENDING, isMissed: now - Math.min(...waiting) > limit, span: [began_ms, now] };
  const known = databases.flatMap(({ name, uid, unserved_ms }) =>
    unserved_ms === null ? [] : { name: name ?? `database ${uid}`, unserved_ms },
  );
  const texts = known.map(
    ({ name, unserved_ms }) =>
      `${name} was not served for ${formatPreciseDuration(unserved_ms / 1000)}`,
  );
  const longest = Math.max(0, ...known.map(({ unserved_ms }) => unserved_ms));
  if (texts.length)
    return {
      outcome: `${texts.join(', ')}, measured at the endpoints.`,
      isMissed: longest > limit,
      span: [began_ms, began_ms + longest],
    };
  if (state === 'down') return PENDING;
  return { outcome: 'No delayed requests were measured.', isMissed: false, isUnmeasured: true };
}

function recovered(
  { detected_ms, returned_ms }: Incident,
  { now, drillSeconds }: Conditions,
): Judgment {
  const until = returned_ms ?? now;
  const seconds = (until - detected_ms) / 1000;
  return {
    outcome:
      returned_ms === undefined ? undefined : `Recovered after ${formatPreciseDuration(seconds)}.`,
    isMissed: seconds > drillSeconds + START_SECONDS,
    span: [detected_ms, until],
  };
}

function synced(
  { state, percent, revived, resyncs, returned_ms, ended_ms }: Incident,
  { now }: Conditions,
): Judgment {
  const from = returned_ms ?? now;
  const until = ended_ms ?? now;
  const seconds = (until - from) / 1000;
  const judged = { isMissed: seconds > SYNCED_WITHIN_SECONDS, span: [from, until] as const };
  if (state !== 'over') return { ...judged, outcome: undefined };
  const count = Math.max(revived, resyncs.filter(({ in_sync }) => in_sync).length);
  const outcome =
    percent === null && !count
      ? 'All replicas are in sync'
      : `${plural(count, 'replica')} in sync again`;
  return {
    ...judged,
    outcome: `${outcome}, ${formatPreciseDuration(seconds)} after the node was back.`,
  };
}
