/** Dialog with a form, the shell of all settings dialogs. Its button is enabled when the values of the form make a valid request. */
import type { ReactNode } from 'react';
import { type FieldError, SubmitDialog } from './SubmitDialog';

interface Props<Request> {
  title: string;
  /** Label of the button. */
  action?: string;
  size?: string;
  /** Whether the operation is destructive. */
  severe?: boolean;
  /** Undefined while a required value is missing, a value is invalid, or no value differs from the stored one. */
  request: Request | undefined;
  /** Sends the request. The dialog closes when the promise resolves, and shows the error if it rejects. */
  onSubmit: (request: Request) => Promise<unknown>;
  onClose: () => void;
  children: ReactNode | ((fieldError: FieldError) => ReactNode);
}

export function FormDialog<Request>({
  action = 'Save',
  request,
  onSubmit,
  ...dialogProps
}: Props<Request>) {
  return (
    <SubmitDialog
      {...dialogProps}
      action={action}
      disabled={request === undefined}
      onConfirm={async () => {
        if (request !== undefined) await onSubmit(request);
      }}
    />
  );
}
