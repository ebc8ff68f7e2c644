/** An app's code besides the password: switched on with a picture for the phone, and off. */
import { Alert, Button, Group, Modal, PasswordInput, Stack } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { messageOf } from '@/api/http';
import { newSecretQuery, switchOff, switchOffOf, switchOn } from '@/api/secondFactor';
import { sessionQuery } from '@/api/session';
import type { User } from '@/api/types';
import { AppSecret, CodeField, CodesToKeep } from '@/ui/AppCode';
import { Ask } from '@/ui/Ask';
import { useThenAskAgain } from './useThenAskAgain';

interface Closing {
  onClose: () => void;
}

interface SwitchOnProps extends Closing {
  /** Whether it takes the place of another phone's. */
  replaces?: boolean;
  onDone: (codes: readonly string[]) => void;
}

/** One's own, for every role. */
export function SwitchOn({ replaces = false, onDone, onClose }: SwitchOnProps) {
  const client = useQueryClient();
  const { data, error } = useQuery(newSecretQuery);
  const [code, setCode] = useState('');
  const [present, setPresent] = useState('');
  const [password, setPassword] = useState('');
  const confirm = async () => {
    if (!data) return;
    try {
      const { recovery_codes } = await switchOn({
        password,
        secret: data.secret,
        code,
        ...(replaces && { present_code: present }),
      });
      onDone(recovery_codes);
    } finally {
      // Where it was refused, there may be one by now.
      await client.invalidateQueries({ queryKey: sessionQuery.queryKey });
    }
  };
  if (error) {
    return (
      <Modal opened onClose={onClose} title="Second factor" centered>
        <Alert color="red">{messageOf(error)}</Alert>
      </Modal>
    );
  }
  return (
    <Ask
      title={replaces ? 'Second factor of another phone' : 'Second factor'}
      action={replaces ? 'Replace' : 'Switch on'}
      disabled={!data || !code.trim() || !password || (replaces && !present.trim())}
      onConfirm={confirm}
      onClose={onClose}
    >
      <span>
        {replaces
          ? 'Signing in then asks for the code of this phone. That of the phone before, and its recovery codes, lose their use.'
          : 'Signing in then asks for a code of an authenticator app besides your password. Programs that use your name and password are refused from then on: give them service tokens.'}
      </span>
      <span>1. Have the app read this picture:</span>
      <AppSecret given={data} />
      <CodeField label="2. Code that the app shows" value={code} onChange={setCode} />
      {replaces && <PresentField value={present} onChange={setPresent} />}
      <OwnPasswordField value={password} onChange={setPassword} />
    </Ask>
  );
}

/** After that, once. */
export function RecoveryCodes({ codes, onClose }: Closing & { codes: readonly string[] }) {
  return (
    <Modal
      opened
      onClose={onClose}
      title="Second factor is on"
      centered
      closeOnClickOutside={false}
    >
      <Stack gap="sm">
        <CodesToKeep codes={codes} />
        <Group justify="flex-end">
          <Button onClick={onClose} data-autofocus>
            Done
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** One's own. */
export function SwitchOff({ onClose }: Closing) {
  const client = useQueryClient();
  const [password, setPassword] = useState('');
  const [present, setPresent] = useState('');
  const confirm = async () => {
    await switchOff({ password, present_code: present });
    await client.invalidateQueries({ queryKey: sessionQuery.queryKey });
  };
  return (
    <Ask
      title="Switch the second factor off?"
      action="Switch off"
      severe
      disabled={!password || !present.trim()}
      onConfirm={confirm}
      onClose={onClose}
    >
      <span>Your password alone is enough to sign in then. The recovery codes lose their use.</span>
      <OwnPasswordField value={password} onChange={setPassword} autoFocus />
      <PresentField value={present} onChange={setPresent} />
    </Ask>
  );
}

/** Of a user who has lost phone and recovery codes. */
export function SecondFactorOff({ user, onClose }: Closing & { user: User }) {
  const then = useThenAskAgain();
  return (
    <Ask
      title={`Switch off the second factor of ${user.email}?`}
      action="Switch off"
      severe
      onConfirm={() => then(switchOffOf(user.uid))}
      onClose={onClose}
    >
      <span>
        The password alone is enough then, to sign in or to set another app up. Be sure that it is{' '}
        {user.email} who asks for it.
      </span>
    </Ask>
  );
}

interface FieldProps {
  value: string;
  onChange: (value: string) => void;
  autoFocus?: boolean;
}

function PresentField(field: FieldProps) {
  return <CodeField name="present_code" label="Present code, or a recovery code" {...field} />;
}

function OwnPasswordField({ value, onChange, autoFocus }: FieldProps) {
  return (
    <PasswordInput
      label="Your password"
      autoComplete="current-password"
      required
      withAsterisk={false}
      maxLength={256}
      data-autofocus={autoFocus}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
