/** What runs on one node or database, on its own page. */
import { useRunningActions } from '@/api/actions';
import { Card } from '@/ui/Card';
import { ActionProgress } from './ActionProgress';

export function RunningActions({ type, uid }: { type: 'node' | 'bdb'; uid: number }) {
  const running = useRunningActions(type, uid);
  if (!running.length) return null;
  return (
    <Card title="Running">
      {running.map((action) => (
        <ActionProgress key={action.action_uid} action={action} />
      ))}
    </Card>
  );
}
