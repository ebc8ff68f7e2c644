/** Settings of a node's machine that affect latency and measurements, with commands that change them. */
import { useQuery } from '@tanstack/react-query';
import { hostChecksQuery } from '@/api/cluster/nodes';
import { messageOf } from '@/api/http';
import type { MachineCheck } from '@/api/types';
import { Card } from '@/ui/Card';
import { CopyBlock } from '@/ui/Copy';
import { EmptyState } from '@/ui/EmptyState';
import { Status, type Tone } from '@/ui/Status';
import classes from './nodes.module.css';

const NAMES: Record<string, string> = {
  transparent_huge_pages: 'Transparent huge pages',
  overcommit_memory: 'Memory overcommit',
  somaxconn: 'Connection backlog',
  swappiness: 'Swappiness',
  cpu_governor: 'CPU governor',
  clock_source: 'Clock source',
  numa_nodes: 'NUMA nodes',
  files: 'Open files',
  io_threads: 'Threads of shards',
  ksm: 'Merging of memory pages (KSM)',
  ksmtuned: 'ksmtuned',
  irqbalance: 'irqbalance',
  tuned: 'tuned profile',
  firewall: 'Firewall',
  energy_bias: 'Energy bias',
  c_states: 'Idle states (C-states)',
  hyper_threading: 'Hyper-threading',
  interrupts: 'Interrupts of other network interfaces',
};
const INTERRUPTS = 'interrupts_';

export function HostChecks({ node }: { node: number }) {
  const { data: checks, error } = useQuery(hostChecksQuery(node));
  return (
    <Card title="Host settings">
      {error && (
        <EmptyState title="The settings could not be loaded">{messageOf(error)}</EmptyState>
      )}
      {checks?.length === 0 && (
        <EmptyState title="No settings reported yet">
          The agent reports the settings of its machine once per minute.
        </EmptyState>
      )}
      {checks && checks.length > 0 && (
        <>
          <p className="dim">
            Settings marked as optional only matter for exact measurements. Run the commands on the
            machine as root; Shardboard does not change these settings.
          </p>
          <ul className={classes.checks}>
            {[...checks].sort(byUrgency).map((check) => (
              <li key={check.name}>
                <HostCheck check={check} />
              </li>
            ))}
          </ul>
        </>
      )}
    </Card>
  );
}

function HostCheck({ check }: { check: MachineCheck }) {
  const [tone, text] = stateOf(check);
  const name = nameOf(check.name);
  return (
    <details>
      <summary>
        <Status tone={tone}>{text}</Status>
        <strong>{name}</strong>
        <span className="num">{check.value}</span>
      </summary>
      <p>{check.costs}</p>
      {!check.apply && !check.persist && <CopyBlock text={check.mends} label={`Copy: ${name}`} />}
      {check.apply && (
        <>
          <span className="dim">Until the machine restarts:</span>
          <CopyBlock text={check.apply} label={`Copy commands: ${name}`} />
        </>
      )}
      {check.persist && (
        <>
          <span className="dim">From the next restart on:</span>
          <CopyBlock text={check.persist} label={`Copy permanent commands: ${name}`} />
        </>
      )}
    </details>
  );
}

export function stateOf({
  good,
  optional,
}: Pick<MachineCheck, 'good' | 'optional'>): [Tone, string] {
  if (good) return ['ok', 'OK'];
  return optional ? ['unknown', 'Optional'] : ['attention', 'Change'];
}

/** Problems first, then optional settings; otherwise in the order of the agent. */
export const byUrgency = (a: MachineCheck, b: MachineCheck) => urgency(a) - urgency(b);

const urgency = ({ good, optional }: MachineCheck) => (good ? 2 : optional ? 1 : 0);

const nameOf = (name: string) =>
  name.startsWith(INTERRUPTS)
    ? `Interrupts of ${name.slice(INTERRUPTS.length)}`
    : (NAMES[name] ?? name.replaceAll('_', ' '));
