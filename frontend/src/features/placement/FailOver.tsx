/** Button that fails a primary over to its replica, after a confirmation. */
import { Button } from '@mantine/core';
import { IconArrowsExchange } from '@tabler/icons-react';
import { useState } from 'react';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';
import { failOver } from '@/api/databases/shards';
import type { Shard } from '@/api/types';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';

interface Props {
  primary: Shard;
  replica: Shard;
}

export function FailOver({ primary, replica }: Props) {
  const [open, setOpen] = useState(false);
  const may = usePermission('edit');
  return (
    <div>
      <Button
        variant="default"
        leftSection={<IconArrowsExchange size={14} />}
        disabled={!may}
        title={may ? undefined : ROLE_DENIED_TEXT}
        onClick={() => setOpen(true)}
      >
        Switch over…
      </Button>
      {open && (
        <SwitchOverDialog primary={primary} replica={replica} onClose={() => setOpen(false)} />
      )}
    </div>
  );
}

interface DialogProps extends Props {
  onClose: () => void;
}

export function SwitchOverDialog({ primary, replica, onClose }: DialogProps) {
  return (
    <SubmitDialog
      title={`Switch over redis:${primary.uid}?`}
      action="Switch over"
      onConfirm={() => failOver(primary.uid)}
      onClose={onClose}
    >
      <span>
        redis:{replica.uid} on node {replica.node_uid} becomes the primary of these slots, and
        redis:
        {primary.uid} becomes its replica. The roles are switched when the replica has received all
        data, so no acknowledged write is lost. Writes to these slots pause briefly.
      </span>
    </SubmitDialog>
  );
}
