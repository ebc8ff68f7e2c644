/** Steps of the guided tour, based on the incident that the console reports. Pure. */
import type { Incident } from '@/api/types';
import { plural } from '@/lib/format';
import { formatPreciseDuration } from '@/lib/time';

export interface Step {
  title: string;
  /** Explanation of the step, and where it is visible. */
  explanation: string;
  /** Measured outcome; undefined until the step is complete. */
  outcome?: string | undefined;
}

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

export function tourSteps(node: number, incident: Incident | undefined): Step[] {
  return [
    {
      title: 'The node goes down',
      explanation: `All processes of node ${node} are killed, similar to a power failure. The slots of its primaries are not served, so the throughput in the charts drops. A red bar starts in the lane of the node.`,
      outcome:
        incident &&
        `${plural(incident.primaries, 'primary', 'primaries')} and ${plural(incident.replicas, 'replica')} lost.`,
    },
    {
      title: 'Replicas are promoted',
      explanation:
        'When the other nodes confirm that the node is down, the console promotes a replica of each lost primary. The arrows in the lanes show these failovers.',
      outcome: incident && promoted(incident),
    },
    {
      title: 'Clients are served again',
      explanation:
        'The endpoints briefly hold requests and then send them to the new primaries. The throughput returns to its previous level.',
      outcome: incident && served(incident),
    },
    {
      title: 'The node recovers',
      explanation: 'Its shards restart as replicas of the new primaries. The red bar ends.',
      outcome:
        incident?.returned_ms === undefined
          ? undefined
          : `Recovered after ${formatPreciseDuration((incident.returned_ms - incident.detected_ms) / 1000)}.`,
    },
    {
      title: 'Replicas resync',
      explanation:
        'Each replica copies the data of its primary. Bars in the lanes show the progress. When the last replica is in sync, every shard has a copy again.',
      outcome: incident && filled(incident),
    },
  ];
}

function promoted({ failovers, databases }: Incident): string | undefined {
  if (!failovers.length) return undefined;
  const after = databases.flatMap(({ promoted_after_ms }) => promoted_after_ms ?? []);
  const when = after.length
    ? `, ${formatPreciseDuration(Math.max(...after) / 1000)} after detection`
    : '';
  return `${plural(failovers.length, 'replica')} promoted${when}.`;
}

function served({ databases, state }: Incident): string | undefined {
  if (databases.some(({ unserved_since_ms }) => unserved_since_ms !== undefined)) return undefined;
  const known = databases.flatMap(({ name, uid, unserved_ms }) =>
    unserved_ms === null
      ? []
      : `${name ?? `database ${uid}`} was not served for ${formatPreciseDuration(unserved_ms / 1000)}`,
  );
  if (known.length) return `${known.join(', ')}, measured at the endpoints.`;
  return state === 'down' ? undefined : 'No client impact was detected.';
}

function filled({ state, percent, revived, resyncs }: Incident): string | undefined {
  if (state !== 'over') return undefined;
  const count = Math.max(revived, resyncs.filter(({ in_sync }) => in_sync).length);
  return percent === null && !count
    ? 'All replicas are in sync.'
    : `${plural(count, 'replica')} in sync again.`;
}
