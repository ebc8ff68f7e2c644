/** One incident as a Markdown report, with every figure and all times in UTC. Pure. */
import { endOf, isOpen, phaseWord, startOf } from '@/api/story';
import { format } from '@/lib/format';
import { exactUtc, precise } from '@/lib/time';
import { behind, factsOf, secondsInto } from './facts';
import type { Incident } from './incident';
import { headline, noResync, percentText } from './words';

export interface ReportContext {
  cluster: string;
  /** Names of databases by uid. */
  names: ReadonlyMap<number, string>;
  url: string;
  now: number;
}

export function markdownReport(incident: Incident, context: ReportContext): string {
  const { now } = context;
  const lines = [
    `# Node ${incident.node} down, ${exactUtc(incident.from)}`,
    '',
    `${headline(incident, now)}.`,
    '',
    ...table(['Figure', 'Value'], summary(incident, context)),
    ...section('Failovers', failoverTable(incident, context)),
    ...section('Resyncs', resyncTable(incident, now)),
    ...section('Events', eventTable(incident)),
    `Written ${exactUtc(now)} by Shardboard from ${context.url}`,
  ];
  return `${lines.join('\n').replaceAll('\u00a0', ' ')}\n`;
}

function summary(incident: Incident, { cluster, now }: ReportContext): string[][] {
  const { event, from, to, end, drill } = incident;
  return [
    ...(cluster ? [['Cluster', cluster]] : []),
    ['Node', String(incident.node)],
    ['Down since', exactUtc(from)],
    ['Back', to === null ? 'not yet' : exactUtc(to)],
    ['Over', end === null ? 'not yet' : exactUtc(end)],
    ['Cause', drill ? `drill ordered by ${drill.originator}` : 'not known to the console'],
    ...factsOf(event, incident, now).map(([name, value]) => [name, value]),
  ];
}

function failoverTable({ failovers, from }: Incident, { names }: ReportContext): string[] {
  if (!failovers.length) return ['No shard failed over.', ''];
  return table(
    ['At', 'Database', 'Failover', 'Promoted after detection', 'Took', 'Behind', 'Method'],
    failovers.map(({ event, at, lost, heir, seconds, bytesBehind, method }) => [
      exactUtc(at),
      names.get(event.bdb_uid ?? -1) ?? String(event.bdb_uid ?? ''),
      `redis:${lost} → redis:${heir}`,
      precise((at - from) / 1000),
      seconds === null ? '–' : precise(seconds),
      behind(bytesBehind),
      method,
    ]),
  );
}

function resyncTable({ resyncs, revived }: Incident, now: number): string[] {
  if (!resyncs.length) return [noResync(revived), ''];
  return table(
    ['Replica', 'From', 'Began', 'Ended', 'Took', 'Received', 'Phases'],
    resyncs.map(({ shard, primary, from, to, open, percent, bytes, phases, broken }) => [
      `redis:${shard}`,
      `redis:${primary}`,
      exactUtc(from),
      open || to === null ? percentText(percent) : exactUtc(to) + (broken ? ' (not in sync)' : ''),
      precise(((to ?? now) - from) / 1000),
      bytes === null ? '–' : format('bytes', bytes),
      phases
        .map(
          (phase) => `${phaseWord(phase.name)} ${precise(((phase.to ?? now) - phase.from) / 1000)}`,
        )
        .join(', '),
    ]),
  );
}

function eventTable({ events, from }: Incident): string[] {
  return table(
    ['After', 'At', 'Ended', 'Severity', 'What happened'],
    events.map((event) => {
      const end = endOf(event);
      return [
        secondsInto(event, from),
        exactUtc(startOf(event)),
        end === null ? (isOpen(event) ? 'not yet' : '') : exactUtc(end),
        event.severity,
        event.description,
      ];
    }),
  );
}

const section = (title: string, body: string[]): string[] => [`## ${title}`, '', ...body];

function table(head: string[], rows: string[][]): string[] {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line), ''];
}
