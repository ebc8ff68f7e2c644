/** Running actions of a node or database, for its page. */
import { useRunningActions } from '@/api/cluster/actions';
import { Card } from '@/ui/Card';
import { ActionProgress } from './ActionProgress';

export function RunningActions({ type, uid }: { type: 'node' | 'bdb'; uid: number }) {
  const running = useRunningActions(type, uid);
  if (!running.length) return null;
  return (
    <Card title="Running actions">
      {running.map((action) => (
        <ActionProgress key={action.action_uid} action={action} />
      ))}
    </Card>
  );
}
