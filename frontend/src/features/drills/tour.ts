/** The steps of the guided tour, from what the console tells of the incident. Pure. */
import type { Incident } from '@/api/types';
import { plural } from '@/lib/format';
import { precise } from '@/lib/time';

export interface Step {
  title: string;
  /** What happens, and where to see it. */
  what: string;
  /** With figures, once it has happened. */
  outcome?: string | undefined;
}

/** The incident that the tour's drill brought about: the first of the node since then. */
export function incidentSince(
  incidents: readonly Incident[],
  node: number,
  since: number,
): Incident | undefined {
  return incidents
    .filter(({ node_uid, kind, began_ms }) => {
      // The console's clock and the moment of the click may differ a little.
      return node_uid === node && kind === 'node_down' && began_ms >= since - 5_000;
    })
    .sort((a, b) => a.began_ms - b.began_ms)[0];
}

export function stepsOf(node: number, incident: Incident | undefined): Step[] {
  return [
    {
      title: 'The node goes down',
      what: `All processes of node ${node} are killed, as when a machine loses power. In the charts the throughput drops: the slots of its primaries are not served. In the lanes a red bar begins.`,
      outcome:
        incident &&
        `${plural(incident.primaries, 'primary', 'primaries')} and ${plural(incident.replicas, 'replica')} lost.`,
    },
    {
      title: 'Replicas take over',
      what: 'As soon as the other nodes agree that it is gone, the console promotes the replica of each lost primary. The arrows in the lanes are these failovers.',
      outcome: incident && promoted(incident),
    },
    {
      title: 'Clients are served again',
      what: 'The endpoints hold requests for a moment and send them to the new primaries. Throughput is back where it was.',
      outcome: incident && served(incident),
    },
    {
      title: 'The node returns',
      what: 'Its shards start again, as replicas of those that lead now. The red bar ends.',
      outcome:
        incident?.returned_ms === undefined
          ? undefined
          : `Back after ${precise((incident.returned_ms - incident.detected_ms) / 1000)}.`,
    },
    {
      title: 'Replicas are filled again',
      what: 'Each copies the data of its primary: the bars that fill up. When the last one is in sync, every shard has its copy again.',
      outcome: incident && filled(incident),
    },
  ];
}

function promoted({ failovers, databases }: Incident): string | undefined {
  if (!failovers.length) return undefined;
  const after = databases.flatMap(({ promoted_after_ms }) => promoted_after_ms ?? []);
  const when = after.length ? `, ${precise(Math.max(...after) / 1000)} after detection` : '';
  return `${plural(failovers.length, 'replica')} promoted${when}.`;
}

function served({ databases, state }: Incident): string | undefined {
  if (databases.some(({ unserved_since_ms }) => unserved_since_ms !== undefined)) return undefined;
  const known = databases.flatMap(({ name, uid, unserved_ms }) =>
    unserved_ms === null
      ? []
      : `${name ?? `database ${uid}`} was not served for ${precise(unserved_ms / 1000)}`,
  );
  if (known.length) return `${known.join(', ')}, measured at the endpoints.`;
  return state === 'down' ? undefined : 'No client is known to have noticed it.';
}

function filled({ state, percent, revived, resyncs }: Incident): string | undefined {
  if (state !== 'over') return undefined;
  const count = Math.max(revived, resyncs.filter(({ in_sync }) => in_sync).length);
  return percent === null && !count
    ? 'All replicas are in sync.'
    : `${plural(count, 'replica')} in sync again.`;
}
