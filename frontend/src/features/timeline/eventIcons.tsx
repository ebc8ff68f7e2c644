/** An icon per event type, so that events are not distinguished by color alone. */
import {
  IconAlertTriangle,
  IconArrowsExchange,
  IconBolt,
  IconCheck,
  IconCircleX,
  IconDatabase,
  IconFlask,
  IconLineDashed,
  IconPlayerPlay,
  IconPlugConnected,
  IconPlugConnectedX,
  IconPointFilled,
  IconRefresh,
  IconRefreshAlert,
  IconServer,
  IconServerOff,
  type Icon as TablerIcon,
} from '@tabler/icons-react';

const ICONS: Record<string, TablerIcon> = {
  node_failed: IconServerOff,
  node_up: IconServer,
  node_joined: IconServer,
  node_agent_lost: IconPlugConnectedX,
  node_agent_connected: IconPlugConnected,
  shard_down: IconCircleX,
  shard_up: IconCheck,
  shard_hung: IconCircleX,
  shard_failover: IconArrowsExchange,
  shard_failover_failed: IconCircleX,
  shard_handover_failed: IconCircleX,
  shard_role_changed: IconBolt,
  resync: IconRefresh,
  replica_link_down: IconRefreshAlert,
  replica_in_sync: IconCheck,
  replica_revived: IconCheck,
  replica_revival_failed: IconRefreshAlert,
  drill_started: IconFlask,
  drill_ended: IconFlask,
  action: IconPlayerPlay,
  gap: IconLineDashed,
};

function otherIcon(type: string): TablerIcon {
  if (type.startsWith('alarm_')) return IconAlertTriangle;
  return type.startsWith('bdb_') ? IconDatabase : IconPointFilled;
}

export function EventTypeIcon({ type, size = 14 }: { type: string; size?: number }) {
  const Icon = ICONS[type] ?? otherIcon(type);
  return <Icon size={size} stroke={1.8} aria-hidden />;
}
