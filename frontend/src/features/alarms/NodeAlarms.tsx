/** Active alarms of a node. */
import { useActiveAlarms } from '@/api/alerting/health';
import { Status } from '@/ui/Status';
import { activeAlarm } from './alarmText';

const NO_NAMES = new Map<number, string>();

export function NodeAlarms({ node }: { node: number }) {
  const alarms = useActiveAlarms()?.filter(
    ({ source, node_uid }) => source === 'node' && node_uid === node,
  );
  return alarms?.map((alarm) => (
    <Status key={alarm.uid} tone={alarm.severity === 'ERROR' ? 'broken' : 'attention'}>
      {activeAlarm(alarm, NO_NAMES).text}
    </Status>
  ));
}
