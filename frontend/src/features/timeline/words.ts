/** An incident as people would tell it. Pure. */
import { format, plural } from '@/lib/format';
import { precise } from '@/lib/time';
import type { Incident } from './incident';

export const percentText = (percent: number): string => `${Math.floor(percent)}\u00a0%`;

/** "Node 2 was down for 41 s; 2 shards failed over in 0.39 s; …" */
export function headline(incident: Incident, now: number): string {
  return [beginning(incident, now), ...consequences(incident)].join('; ');
}

function beginning({ node, from, to }: Incident, now: number): string {
  const lasted = precise(((to ?? now) - from) / 1000);
  return to === null
    ? `Node ${node} has been down for ${lasted}`
    : `Node ${node} was down for ${lasted}`;
}

/** What followed, without the outage itself; short enough for a banner while it goes on. */
export function consequences(incident: Incident): string[] {
  return [
    ...failovers(incident),
    ...resyncs(incident),
    ...(incident.state === 'over' ? [loss(incident)].filter(Boolean) : []),
  ];
}

function failovers({
  failovers: done,
  failedFailovers,
  primaries,
  from,
  lost,
}: Incident): string[] {
  const last = done.length ? Math.max(...done.map(({ at }) => at)) : from;
  const parts: string[] = [];
  if (done.length) {
    // What clients waited for began with the loss, not when it was noticed.
    const since =
      lost < from ? ` ${precise((last - lost) / 1000)} after the last sign of life` : '';
    parts.push(`${plural(done.length, 'shard')} failed over${since}`);
    parts.push(`promoted ${precise(Math.max(0, last - from) / 1000)} after detection`);
  }
  if (failedFailovers) parts.push('not all lost primaries could be replaced');
  else if (!done.length && primaries)
    parts.push(`${plural(primaries, 'primary', 'primaries')} lost`);
  return parts;
}

function resyncs({ resyncs: all, revived, state, percent }: Incident): string[] {
  const running = all.filter(({ open }) => open);
  if (running.length) {
    const noun = plural(running.length, 'replica');
    return [`${noun} resyncing, ${percentText(percent ?? 0)}`];
  }
  if (state === 'resyncing') return ['replicas about to resync'];
  const ended = all.filter(({ to, broken }) => to !== null && !broken);
  if (!ended.length) return revived ? [`${plural(revived, 'replica')} back in sync`] : [];
  const took = resyncSeconds({ resyncs: ended });
  return [`${plural(ended.length, 'replica')} resynced in ${precise(took ?? 0)}`];
}

/** From the begin of the first resync to the end of the last one. */
export function resyncSeconds({ resyncs: all }: Pick<Incident, 'resyncs'>): number | null {
  const whole = all.filter(({ broken }) => !broken);
  const ends = whole.flatMap(({ to }) => to ?? []);
  if (!ends.length || whole.some(({ open }) => open)) return null;
  return (Math.max(...ends) - Math.min(...whole.map(({ from }) => from))) / 1000;
}

export function loss({ failovers: done, bytesBehind }: Incident): string {
  if (!done.length) return '';
  if (bytesBehind === null) return 'how far the promoted replicas were behind is not known';
  // Measured against what the primaries last told of, which may be up to a second before they went down.
  if (!bytesBehind)
    return "no known data loss (replicas had reached the primaries' last reported offset)";
  return `${format('bytes', bytesBehind)} that the primaries last told of are lost`;
}

export function slowest(seconds: readonly (number | null)[]): number | null {
  const known = seconds.filter((value) => value !== null);
  return known.length ? Math.max(...known) : null;
}

/** A replica whose copy was too quick to be seen on its way is in sync all the same. */
export const noResync = (revived: number): string =>
  revived
    ? `${plural(revived, 'replica')} came back in sync; no copy took long enough to be followed.`
    : 'No replica was resynced.';
