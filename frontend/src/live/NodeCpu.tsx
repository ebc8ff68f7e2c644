/** CPU usage of a node, highlighted while its alarm is active. */
import { cpuTone } from '@/api/alerting/alarmTones';
import { useActiveAlarms } from '@/api/alerting/health';
import { Figure } from './Figure';

export function NodeCpu({ node }: { node: number }) {
  const tone = cpuTone(useActiveAlarms(), node);
  return (
    <Figure topic="nodes" uid={node} metric={['cpu_user', 'cpu_system']} unit="ratio" tone={tone} />
  );
}
