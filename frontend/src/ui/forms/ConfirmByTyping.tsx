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

export function ConfirmByTyping({ warning, name, children, ...ask }: Props) {
  const [typed, setTyped] = useState('');
  return (
    <SubmitDialog {...ask} severe disabled={typed !== name}>
      <span>{warning}</span>
      {children}
      <ConfirmationField words={name} typed={typed} onType={setTyped} />
    </SubmitDialog>
  );
}

interface TypedProps {
  words: string;
  typed: string;
  onType: (typed: string) => void;
}

export function ConfirmationField({ words, typed, onType }: TypedProps) {
  return (
    <TextInput
      data-autofocus
      label={
        <>
          Type <strong>{words}</strong> to confirm
        </>
      }
      value={typed}
      onChange={(event) => onType(event.currentTarget.value)}
      autoComplete="off"
      spellCheck={false}
    />
  );
}
