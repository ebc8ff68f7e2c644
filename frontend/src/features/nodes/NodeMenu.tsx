/** Menu with the actions of a node. */
import { ActionIcon, Menu } from '@mantine/core';
import {
  IconArrowsExchange,
  IconArrowUp,
  IconCpu,
  IconDotsVertical,
  IconMapPin,
  IconPlayerPlay,
  IconTool,
  IconTrash,
} from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';
import type { Node } from '@/api/types';
import { EndMaintenance, RemoveNode, StartMaintenance, SwitchOver } from './NodeDialogs';
import { SetCpuPinning } from './pinning/SetCpuPinning';
import { SetZone } from './SetZone';
import { UpgradeNode } from './UpgradeNode';

const DIALOGS = {
  begin: StartMaintenance,
  end: EndMaintenance,
  handOver: SwitchOver,
  upgrade: UpgradeNode,
  zone: SetZone,
  pinning: SetCpuPinning,
  remove: RemoveNode,
} as const;

interface Props {
  node: Node;
  /** Additional menu items. */
  children?: ReactNode;
}

export function NodeMenu({ node, children }: Props) {
  const [dialog, setDialog] = useState<keyof typeof DIALOGS | null>(null);
  const may = usePermission('administer');
  const mayEdit = usePermission('upgradeNodes');
  const isReachable = node.agent_status === 'connected' && node.status !== 'down';
  const isBeingRemoved = node.status === 'decommissioning';
  const Dialog = dialog && DIALOGS[dialog];
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="default" aria-label="Node actions">
            <IconDotsVertical size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {!may && <Menu.Label>{ROLE_DENIED_TEXT}</Menu.Label>}
          {!isReachable && <Menu.Label>The agent does not respond</Menu.Label>}
          {node.in_maintenance ? (
            <Menu.Item
              leftSection={<IconPlayerPlay size={15} />}
              disabled={!may || !isReachable}
              onClick={() => setDialog('end')}
            >
              End maintenance…
            </Menu.Item>
          ) : (
            <Menu.Item
              leftSection={<IconTool size={15} />}
              disabled={!may || !isReachable || isBeingRemoved}
              onClick={() => setDialog('begin')}
            >
              Start maintenance…
            </Menu.Item>
          )}
          <Menu.Item
            leftSection={<IconArrowsExchange size={15} />}
            disabled={!may || !isReachable || isBeingRemoved}
            onClick={() => setDialog('handOver')}
          >
            Switch over primaries…
          </Menu.Item>
          <Menu.Item
            leftSection={<IconArrowUp size={15} />}
            disabled={!mayEdit || !isReachable || isBeingRemoved}
            onClick={() => setDialog('upgrade')}
          >
            Upgrade databases…
          </Menu.Item>
          <Menu.Item
            leftSection={<IconMapPin size={15} />}
            disabled={!may}
            onClick={() => setDialog('zone')}
          >
            Set zone…
          </Menu.Item>
          <Menu.Item
            leftSection={<IconCpu size={15} />}
            disabled={!may}
            onClick={() => setDialog('pinning')}
          >
            Set CPU pinning…
          </Menu.Item>
          {children}
          <Menu.Item
            color="var(--broken)"
            leftSection={<IconTrash size={15} />}
            disabled={!may || isBeingRemoved}
            onClick={() => setDialog('remove')}
          >
            Remove node…
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {Dialog && <Dialog node={node} onClose={() => setDialog(null)} />}
    </>
  );
}
