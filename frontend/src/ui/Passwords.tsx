/** Dialog that changes passwords: replaces all of them, adds one, or removes one. */
import { PasswordInput, Radio, Stack } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { plural } from '@/lib/format';
import { Ask } from './Ask';

/** What the user enters: a new password, an existing one, or nothing. */
type Typed = 'new' | 'old' | 'nothing';

export interface Way {
  label: string;
  action: string;
  effect: ReactNode;
  typed: Typed;
  order: (password: string) => Promise<unknown>;
}

interface Props {
  title: string;
  /** Number of passwords that are currently valid. */
  count: number;
  ways: readonly [Way, ...Way[]];
  /** Returns why a new password is invalid. */
  fault?: (password: string) => string | undefined;
  /** Renders the field for a new password. */
  field: (password: string, onChange: (password: string) => void) => ReactNode;
  onClose: () => void;
}

export function Passwords({ title, count, ways, fault, field, onClose }: Props) {
  const [chosen, setChosen] = useState(ways[0].label);
  const [entered, setEntered] = useState<{ typed: Typed; text: string }>({
    typed: 'new',
    text: '',
  });
  const way = ways.find(({ label }) => label === chosen) ?? ways[0];
  // A password that was entered for removal must not become a new password when the choice changes, and vice versa.
  const password = entered.typed === way.typed ? entered.text : '';
  const setPassword = (text: string) => setEntered({ typed: way.typed, text });
  const isComplete =
    way.typed === 'nothing' ||
    (password !== '' && (way.typed === 'old' || fault?.(password) === undefined));
  return (
    <Ask
      title={title}
      action={way.action}
      disabled={!isComplete}
      onConfirm={() => way.order(password)}
      onClose={onClose}
    >
      {count > 1 && <span>{plural(count, 'password')} are valid now.</span>}
      {way.typed === 'new' && field(password, setPassword)}
      {way.typed === 'old' && (
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
    </Ask>
  );
}
