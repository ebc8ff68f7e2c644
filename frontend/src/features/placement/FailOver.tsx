/** Hands the role of a primary to its replica, after a question. */
import { Alert, Button, Group, Modal, Stack } from '@mantine/core';
import { IconArrowsExchange } from '@tabler/icons-react';
import { useState } from 'react';
import { messageOf } from '@/api/http';
import { ROLE_FORBIDS, useMay } from '@/api/session';
import { failOver } from '@/api/shards';
import type { Shard } from '@/api/types';

interface Props {
  primary: Shard;
  replica: Shard;
}

export function FailOver({ primary, replica }: Props) {
  const [open, setOpen] = useState(false);
  const may = useMay('edit');
  return (
    <div>
      <Button
        variant="default"
        leftSection={<IconArrowsExchange size={14} />}
        disabled={!may}
        title={may ? undefined : ROLE_FORBIDS}
        onClick={() => setOpen(true)}
      >
        Fail over…
      </Button>
      {open && <Question primary={primary} replica={replica} onClose={() => setOpen(false)} />}
    </div>
  );
}

function Question({ primary, replica, onClose }: Props & { onClose: () => void }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const order = async () => {
    setBusy(true);
    setError(null);
    try {
      await failOver(primary.uid);
      onClose();
    } catch (failure) {
      setError(messageOf(failure));
      setBusy(false);
    }
  };
  return (
    <Modal opened onClose={onClose} title={`Fail over redis:${primary.uid}?`} centered>
      <Stack gap="sm">
        <span>
          redis:{replica.uid} on node {replica.node_uid} becomes the primary of these slots, and
          redis:{primary.uid} its replica. The primary hands over once the replica has received
          everything, so nothing is lost; writes to these slots wait for a moment.
        </span>
        {error && (
          <Alert color="red" role="alert">
            {error}
          </Alert>
        )}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button data-autofocus loading={busy} onClick={order}>
            Fail over
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
