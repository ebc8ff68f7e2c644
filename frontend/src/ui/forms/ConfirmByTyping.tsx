/** Confirmation of a destructive action. The user must enter a name, which prevents a mistake in the wrong browser tab. */
import { TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { SubmitDialog } from './SubmitDialog';

interface Props {
  title: string;
  /** One sentence that describes the consequences. */
  warning: string;
  name: string;
  action: string;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
  /** Additional information. */
  children?: ReactNode;
}

export function ConfirmByTyping({ warning, name, children, ...dialogProps }: Props) {
  const [typed, setTyped] = useState('');
  return (
    <SubmitDialog {...dialogProps} severe disabled={typed !== name}>
      <span>{warning}</span>
      {children}
      <ConfirmationField phrase={name} value={typed} onChange={setTyped} />
    </SubmitDialog>
  );
}

interface FieldProps {
  phrase: string;
  value: string;
  onChange: (value: string) => void;
}

export function ConfirmationField({ phrase, value, onChange }: FieldProps) {
  return (
    <TextInput
      data-autofocus
      label={
        <>
          Type <strong>{phrase}</strong> to confirm
        </>
      }
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      autoComplete="off"
      spellCheck={false}
    />
  );
}
