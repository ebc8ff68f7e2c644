/** The one dialog that orders something: a question or some fields, two buttons, and in place what was refused. */
import { Button, Group, Modal, Stack } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import { Refused } from './Refused';
import { useSubmit } from './useSubmit';

interface Props {
  title: string;
  /** What the button does, in a word or two. */
  action: string;
  /** Not now: something has to be chosen first, or there is nothing to do. */
  disabled?: boolean;
  /** It takes something away. */
  severe?: boolean;
  size?: string;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
  children: ReactNode;
}

export function Ask(props: Props) {
  const { title, action, disabled = false, severe = false, size, onConfirm, onClose } = props;
  const { submit, busy, refusal } = useSubmit(async () => {
    await onConfirm();
    onClose();
  });
  const confirm = (event: FormEvent) => {
    event.preventDefault();
    // In the tree of components it may be within another form.
    event.stopPropagation();
    if (!disabled) submit();
  };
  return (
    <Modal opened onClose={onClose} title={title} centered size={size ?? 'md'}>
      <form onSubmit={confirm} noValidate>
        <Stack gap="sm">
          {props.children}
          <Refused refusal={refusal} />
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button
              type="submit"
              // The first one in the dialog is it: fields that want it come before.
              data-autofocus
              loading={busy}
              disabled={disabled}
              {...(severe ? { color: 'red.9' } : {})}
            >
              {action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
