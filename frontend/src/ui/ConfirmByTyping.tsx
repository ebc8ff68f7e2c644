/** Destructive actions ask for the name to be typed; the mistake of the third tab is made here. */
import { TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { Ask } from './Ask';

interface Props {
  title: string;
  /** What will happen, in a sentence. */
  warning: string;
  name: string;
  action: string;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
  /** What else is to be known before. */
  children?: ReactNode;
}

export function ConfirmByTyping({ warning, name, children, ...ask }: Props) {
  const [typed, setTyped] = useState('');
  return (
    <Ask {...ask} severe disabled={typed !== name}>
      <span>{warning}</span>
      {children}
      <TypedWords words={name} typed={typed} onType={setTyped} />
    </Ask>
  );
}

interface TypedProps {
  words: string;
  typed: string;
  onType: (typed: string) => void;
}

export function TypedWords({ words, typed, onType }: TypedProps) {
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
