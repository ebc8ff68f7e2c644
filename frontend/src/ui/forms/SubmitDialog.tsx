/** Dialog for every operation: a question or fields, two buttons, and the error if the request is refused. */
import { Button, Group, Modal, Stack } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import { useDisconnectedReason } from '@/lib/connection';
import { RequestError } from './RequestError';
import { SubmitButton } from './SubmitButton';
import { textAtField, useSubmit } from './useSubmit';

interface Props {
  title: string;
  /** Label of the button. */
  action: string;
  /** Whether the operation is not possible yet, for example because a required field is empty. */
  disabled?: boolean;
  /** Whether the operation is destructive. */
  severe?: boolean;
  size?: string;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
  children: ReactNode | ((fieldError: FieldError) => ReactNode);
}

/** Return why the console rejected a field; undefined if it did not. The dialog does not show such an error again. */
export type FieldError = (name: string) => string | undefined;

export function SubmitDialog(props: Props) {
  const { title, action, disabled = false, severe = false, size, onConfirm, onClose } = props;
  const { submit, busy, failure } = useSubmit(async () => {
    await onConfirm();
    onClose();
  });
  const disconnected = useDisconnectedReason();
  const fields = new Set<string>();
  const content =
    typeof props.children === 'function'
      ? props.children((name) => {
          fields.add(name);
          return failure?.field === name ? textAtField(failure) : undefined;
        })
      : props.children;
  const isAtField = failure?.field !== undefined && fields.has(failure.field);
  const confirm = (event: FormEvent) => {
    event.preventDefault();
    // In the component tree, the dialog can be inside another form.
    event.stopPropagation();
    if (!disabled && disconnected === undefined) submit();
  };
  return (
    <Modal opened onClose={onClose} title={title} centered size={size ?? 'md'}>
      <form onSubmit={confirm} noValidate>
        <Stack gap="sm">
          {content}
          <RequestError
            failure={disconnected ? { text: disconnected } : isAtField ? undefined : failure}
          />
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <SubmitButton
              type="submit"
              // The first element with this attribute gets the focus, so fields take precedence.
              data-autofocus
              loading={busy}
              disabled={disabled}
              {...(severe ? { color: 'red.9' } : {})}
            >
              {action}
            </SubmitButton>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
