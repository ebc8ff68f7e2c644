/** Dialog that changes passwords: replaces all of them, adds one, or removes one. */
import { PasswordInput, Radio, Stack } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { plural } from '@/lib/format';
import { SubmitDialog } from './SubmitDialog';

/** What the user enters: a new password, an existing one, or nothing. */
type Typed = 'new' | 'old' | 'nothing';

export interface PasswordChange {
  label: string;
  action: string;
  effect: ReactNode;
  input: Typed;
  submit: (password: string) => Promise<unknown>;
}

interface Props {
  title: string;
  /** Number of passwords that are currently valid. */
  count: number;
  ways: readonly [PasswordChange, ...PasswordChange[]];
  /** Returns why a new password is invalid. */
  validate?: (password: string) => string | undefined;
  /** Renders the field for a new password. */
  field: (password: string, onChange: (password: string) => void) => ReactNode;
  onClose: () => void;
}

export function PasswordDialog({ title, count, ways, validate, field, onClose }: Props) {
  const [chosen, setChosen] = useState(ways[0].label);
  const [entered, setEntered] = useState<{ input: Typed; text: string }>({
    input: 'new',
    text: '',
  });
  const way = ways.find(({ label }) => label === chosen) ?? ways[0];
  // A password that was entered for removal must not become a new password when the choice changes, and vice versa.
  const password = entered.input === way.input ? entered.text : '';
  const setPassword = (text: string) => setEntered({ input: way.input, text });
  const isComplete =
    way.input === 'nothing' ||
    (password !== '' && (way.input === 'old' || validate?.(password) === undefined));
  return (
    <SubmitDialog
      title={title}
      action={way.action}
      disabled={!isComplete}
      onConfirm={() => way.submit(password)}
      onClose={onClose}
    >
      {count > 1 && <span>{plural(count, 'password')} are valid now.</span>}
      {way.input === 'new' && field(password, setPassword)}
      {way.input === 'old' && (
        <PasswordInput
          label="Password to remove"
          autoComplete="off"
          data-autofocus
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
      )}
      {ways.length > 1 && (
        <Radio.Group label="Change" value={way.label} onChange={setChosen}>
          <Stack gap={6} mt={6}>
            {ways.map(({ label }) => (
              <Radio key={label} value={label} label={label} />
            ))}
          </Stack>
        </Radio.Group>
      )}
      <span>{way.effect}</span>
    </SubmitDialog>
  );
}
