/** Asks before what was typed is left behind. */
import { Button, Group, Modal } from '@mantine/core';
import { useBlocker } from '@tanstack/react-router';

export function LeaveGuard({ dirty }: { dirty: boolean }) {
  const { status, proceed, reset } = useBlocker({
    // After an expired session the form comes back as it was.
    shouldBlockFn: ({ current, next }) =>
      dirty && next.pathname !== '/login' && next.pathname !== current.pathname,
    enableBeforeUnload: dirty,
    withResolver: true,
  });
  if (status !== 'blocked') return null;
  return (
    <Modal opened onClose={reset} title="Leave without saving?" centered>
      What you have changed is not saved.
      <Group justify="flex-end" gap="xs" mt="md">
        <Button variant="default" onClick={proceed}>
          Leave
        </Button>
        <Button data-autofocus onClick={reset}>
          Stay
        </Button>
      </Group>
    </Modal>
  );
}
