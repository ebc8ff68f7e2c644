/** The menu of a node, where drills are allowed. */
import { ActionIcon, Menu } from '@mantine/core';
import { IconDotsVertical, IconFlask } from '@tabler/icons-react';
import { useState } from 'react';
import { useMayDrill } from '@/api/drills';
import type { Node } from '@/api/types';
import { DrillDialog } from './DrillDialog';

interface Props {
  node: Node;
  onStarted: () => void;
}

export function DrillMenu({ node, onStarted }: Props) {
  const [open, setOpen] = useState(false);
  const may = useMayDrill();
  if (!may) return null;
  const reachable = node.agent_status === 'connected' && node.status !== 'down';
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="default" aria-label="Node actions">
            <IconDotsVertical size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {!reachable && <Menu.Label>The agent does not answer</Menu.Label>}
          <Menu.Item
            leftSection={<IconFlask size={15} />}
            disabled={!reachable}
            onClick={() => setOpen(true)}
          >
            Drill…
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {open && <DrillDialog node={node.uid} onClose={() => setOpen(false)} onStarted={onStarted} />}
    </>
  );
}
