/** A question before something is ordered; what is refused is told in place. */
import { Alert, Button, Group, Modal, Stack } from '@mantine/core';
import { type ReactNode, useState } from 'react';

interface Props {
  title: string;
  /** What the button does, in a word or two. */
  action: string;
  /** Not now: something has to be chosen first, or there is nothing to do. */
  disabled?: boolean;
  size?: string;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
  children: ReactNode;
}

export function Ask({ title, action, disabled, size, onConfirm, onClose, children }: Props) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const confirm = async () => {
    setBusy(true);
    setError(null);
    try {
      await onConfirm();
      onClose();
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure));
      setBusy(false);
    }
  };
  return (
    <Modal opened onClose={onClose} title={title} centered size={size ?? 'md'}>
      <Stack gap="sm">
        {children}
        {error && (
          <Alert color="red" role="alert">
            {error}
          </Alert>
        )}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button data-autofocus loading={busy} disabled={disabled} onClick={confirm}>
            {action}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
