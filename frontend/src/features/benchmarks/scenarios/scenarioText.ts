/** Texts, figures and status tones of scenarios and their runs. Pure. */
import type { ScenarioPart, ScenarioRun, ScenarioRunPart } from '@/api/types';
import {
  format,
  formatWithoutUnit,
  isKnown,
  plural,
  roundSignificant,
  type Unit,
} from '@/lib/format';
import type { Tone } from '@/ui/Status';

const TONES: Record<ScenarioRun['status'], Tone> = {
  queued: 'progress',
  running: 'progress',
  completed: 'ok',
  failed: 'broken',
  stopped: 'attention',
};

export const scenarioTone = (status: ScenarioRun['status']): Tone => TONES[status];

/** Format a scale: "1", "1/2,000". Scales that are no unit fraction, such as 0.75, are percentages. */
export function scaleShare(scale: number): string {
  if (scale === 1) return '1';
  const divisor = 1 / scale;
  const isFraction = divisor >= 10 || (divisor > 1 && Number.isInteger(divisor));
  return isFraction
    ? `1/${Number(divisor.toPrecision(3)).toLocaleString('en-US', { maximumFractionDigits: 0 })}`
    : `${roundSignificant(scale * 100)}%`;
}

/** Describe the sizes at a scale: "the published size", "1/2,000 of the published size". */
export const scaleText = (scale: number): string =>
  scale === 1 ? 'the published size' : `${scaleShare(scale)} of the published size`;

/** A published or measured value. */
type Value = number | string | null | undefined;

export const hasValue = (value: Value): value is number | string =>
  value !== null && value !== undefined;

/** Units of figures that have a formatter; others follow the number. */
const UNITS: Record<string, Unit> = { 'ops/s': 'ops', ms: 'ms', bytes: 'bytes', '': 'count' };

/** Format a figure. Published figures can be texts, which are shown as printed. */
export function figureText(value: Value, unit: string): string {
  if (typeof value === 'string') return value;
  if (!isKnown(value)) return format('plain', value);
  const known = UNITS[unit];
  if (known) return format(known, value);
  if (unit === '%') return `${roundSignificant(value)}%`;
  return `${format('plain', value)}\u00a0${unit}`;
}

/** Format a value without the unit, which the header of its column shows. */
export function cellText(value: Value, unit: string): string {
  if (typeof value !== 'number') return figureText(value, unit);
  return formatWithoutUnit(UNITS[unit] ?? 'count', value);
}

/** Return the exact number for the tooltip; undefined for texts, which are shown completely. */
export const exactText = (value: Value, unit: string): string | undefined =>
  typeof value === 'number' ? `${value} ${unit}`.trim() : undefined;

export const withUnit = (name: string, unit: string): string => (unit ? `${name} (${unit})` : name);

/** Return the seconds from start to end; undefined while the run is not finished, or if it was not started. */
export function runSeconds(
  run: Pick<ScenarioRun, 'started_time' | 'finished_time'>,
): number | undefined {
  const seconds = (Date.parse(run.finished_time ?? '') - Date.parse(run.started_time ?? '')) / 1000;
  return Number.isFinite(seconds) ? seconds : undefined;
}

export const statusText = ({ status, progress }: Pick<ScenarioRun, 'status' | 'progress'>) =>
  status === 'running' ? `running, ${Math.floor(progress)}%` : status;

/** Describe the databases of a part: "1 database on 3 nodes: 60 shards with replicas, 93.1 GiB". */
export function partText(part: ScenarioPart): string {
  const { databases, nodes, database, repetitions, reuse } = part;
  const { shards_count, memory_size, replication, bigstore } = database as {
    shards_count?: number;
    memory_size?: number;
    replication?: boolean;
    bigstore?: boolean;
  };
  const facts = [
    plural(shards_count ?? 1, 'shard') + (replication ? ' with replicas' : ''),
    memory_size === undefined ? '' : format('bytes', memory_size),
    bigstore ? 'on flash' : '',
    repetitions > 1 ? `${repetitions} repetitions` : '',
    reuse ? 'the same as in the previous part' : '',
  ].filter(Boolean);
  const each = databases > 1 ? 'each with ' : '';
  return `${plural(databases, 'database')} on ${plural(nodes, 'node')}: ${each}${facts.join(', ')}`;
}

const PART_TONES: Record<ScenarioRunPart['status'], Tone> = {
  waiting: 'unknown',
  creating: 'progress',
  measuring: 'progress',
  removing: 'progress',
  completed: 'ok',
  failed: 'broken',
  stopped: 'attention',
  skipped: 'unknown',
};

export const partTone = (status: ScenarioRunPart['status']): Tone => PART_TONES[status];

export interface PartStep {
  name: string;
  state: 'waiting' | 'running' | 'completed';
}

/** Return the steps of a part that is in progress; empty if it has ended or not started. */
export function stepsOf(status: ScenarioRunPart['status'], isKept: boolean): PartStep[] {
  const steps = [
    { name: 'Create databases', status: 'creating' },
    { name: 'Measure', status: 'measuring' },
    ...(isKept ? [] : [{ name: 'Delete databases', status: 'removing' }]),
  ];
  const current = steps.findIndex((step) => step.status === status);
  if (current === -1) return [];
  return steps.map(({ name }, index) => ({
    name,
    state: index < current ? 'completed' : index === current ? 'running' : 'waiting',
  }));
}
