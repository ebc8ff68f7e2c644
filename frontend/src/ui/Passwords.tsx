/** The dialog in which passwords are changed: another one in place of all, one more, or one less. */
import { PasswordInput, Radio, Stack } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { plural } from '@/lib/format';
import { Ask } from './Ask';

/** What is typed for it: a password that is to be, one that is there, or none at all. */
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
  /** How many passwords are valid now. */
  count: number;
  ways: readonly [Way, ...Way[]];
  /** What is wrong with a new password. */
  fault?: (password: string) => string | undefined;
  /** The field of a new password. */
  field: (password: string, onChange: (password: string) => void) => ReactNode;
  onClose: () => void;
}

export function Passwords({ title, count, ways, fault, field, onClose }: Props) {
  const [chosen, setChosen] = useState(ways[0].label);
  const [given, setGiven] = useState<{ typed: Typed; text: string }>({ typed: 'new', text: '' });
  const way = ways.find(({ label }) => label === chosen) ?? ways[0];
  // One that is to be removed must not become a new one by another choice, nor the other way round.
  const password = given.typed === way.typed ? given.text : '';
  const setPassword = (text: string) => setGiven({ typed: way.typed, text });
  const isGiven =
    way.typed === 'nothing' ||
    (password !== '' && (way.typed === 'old' || fault?.(password) === undefined));
  return (
    <Ask
      title={title}
      action={way.action}
      disabled={!isGiven}
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
        <Radio.Group label="Valid from now on" value={way.label} onChange={setChosen}>
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
