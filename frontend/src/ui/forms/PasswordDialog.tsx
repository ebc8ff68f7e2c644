/** Dialog that changes passwords: replaces all of them, adds one, or removes one. */
import { PasswordInput, Radio, Stack } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { plural } from '@/lib/format';
import { SubmitDialog } from './SubmitDialog';

/** What the user enters: a new password, an existing one, or nothing. */
type PasswordInputKind = 'new' | 'old' | 'nothing';

export interface PasswordChange {
  label: string;
  action: string;
  effect: ReactNode;
  input: PasswordInputKind;
  submit: (password: string) => Promise<unknown>;
}

interface Props {
  title: string;
  /** Number of passwords that are currently valid. */
  count: number;
  changes: readonly [PasswordChange, ...PasswordChange[]];
  /** Returns why a new password is invalid. */
  validate?: (password: string) => string | undefined;
  /** Renders the field for a new password. */
  field: (password: string, onChange: (password: string) => void) => ReactNode;
  onClose: () => void;
}

export function PasswordDialog({ title, count, changes, validate, field, onClose }: Props) {
  const [chosen, setChosen] = useState(changes[0].label);
  const [entered, setEntered] = useState<{ input: PasswordInputKind; text: string }>({
    input: 'new',
    text: '',
  });
  const change = changes.find(({ label }) => label === chosen) ?? changes[0];
  // A password that was entered for removal must not become a new password when the choice changes, and vice versa.
  const password = entered.input === change.input ? entered.text : '';
  const setPassword = (text: string) => setEntered({ input: change.input, text });
  const isComplete =
    change.input === 'nothing' ||
    (password !== '' && (change.input === 'old' || validate?.(password) === undefined));
  return (
    <SubmitDialog
      title={title}
      action={change.action}
      disabled={!isComplete}
      onConfirm={() => change.submit(password)}
      onClose={onClose}
    >
      {count > 1 && <span>{plural(count, 'password')} are valid now.</span>}
      {change.input === 'new' && field(password, setPassword)}
      {change.input === 'old' && (
        <PasswordInput
          label="Password to remove"
          autoComplete="off"
          data-autofocus
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
      )}
      {changes.length > 1 && (
        <Radio.Group label="Change" value={change.label} onChange={setChosen}>
          <Stack gap={6} mt={6}>
            {changes.map(({ label }) => (
              <Radio key={label} value={label} label={label} />
            ))}
          </Stack>
        </Radio.Group>
      )}
      <span>{change.effect}</span>
    </SubmitDialog>
  );
}
