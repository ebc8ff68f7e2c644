/** How busy the processors of a node are; told apart when they have nothing left. */
import { busyness } from '@/lib/thresholds';
import { LiveText } from './LiveText';

export function NodeCpu({ node }: { node: number }) {
  return (
    <LiveText
      topic="nodes"
      uid={node}
      metric={['cpu_user', 'cpu_system']}
      unit="ratio"
      toneOf={busyness}
    />
  );
}
