/** CPU usage of a node, highlighted if it is close to the maximum. */
import { cpuAlert } from '@/lib/thresholds';
import { LiveText } from './LiveText';

export function NodeCpu({ node }: { node: number }) {
  return (
    <LiveText
      topic="nodes"
      uid={node}
      metric={['cpu_user', 'cpu_system']}
      unit="ratio"
      toneOf={cpuAlert}
    />
  );
}
