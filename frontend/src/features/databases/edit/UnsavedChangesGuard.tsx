/** Confirmation before the user leaves a form with unsaved changes. */
import { Button, Group, Modal } from '@mantine/core';
import { useBlocker } from '@tanstack/react-router';

export function UnsavedChangesGuard({ dirty }: { dirty: boolean }) {
  const { status, proceed, reset } = useBlocker({
    // The sign-in page after an expired session is exempt, because the form keeps its input.
    shouldBlockFn: ({ current, next }) =>
      dirty && next.pathname !== '/login' && next.pathname !== current.pathname,
    enableBeforeUnload: dirty,
    withResolver: true,
  });
  if (status !== 'blocked') return null;
  return (
    <Modal opened onClose={reset} title="Leave without saving?" centered>
      Your changes are not saved.
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
