/** An app's code besides the password: switched on with a picture for the phone, and off. */
import {
  Alert,
  Button,
  Group,
  Loader,
  Modal,
  PasswordInput,
  Stack,
  TextInput,
} from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { QRCodeSVG } from 'qrcode.react';
import { useState } from 'react';
import { messageOf } from '@/api/http';
import { newSecretQuery, switchOff, switchOffOf, switchOn } from '@/api/secondFactor';
import { sessionQuery } from '@/api/session';
import type { User } from '@/api/types';
import { Ask } from '@/ui/Ask';
import { CopyBlock, CopyInline } from '@/ui/Copy';
import classes from './users.module.css';
import { useThenAskAgain } from './useThenAskAgain';

interface Closing {
  onClose: () => void;
}

interface SwitchOnProps extends Closing {
  onDone: (codes: readonly string[]) => void;
}

/** One's own, for every role. */
export function SwitchOn({ onDone, onClose }: SwitchOnProps) {
  const client = useQueryClient();
  const { data, error } = useQuery(newSecretQuery);
  const [code, setCode] = useState('');
  const [password, setPassword] = useState('');
  const confirm = async () => {
    if (!data) return;
    const { recovery_codes } = await switchOn(password, data.secret, code);
    onDone(recovery_codes);
    await client.invalidateQueries({ queryKey: sessionQuery.queryKey });
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
      title="Second factor"
      action="Switch on"
      disabled={!data || !code.trim() || !password}
      onConfirm={confirm}
      onClose={onClose}
    >
      <span>
        Signing in then asks for a code of an authenticator app besides your password. Programs that
        use your name and password are refused from then on: give them service tokens.
      </span>
      <span>1. Have the app read this picture:</span>
      <div className={classes.qr}>
        {data ? (
          <QRCodeSVG title="Picture for the app" value={data.uri} size={176} marginSize={2} />
        ) : (
          <Loader />
        )}
      </div>
      {data && (
        <span className={classes.what}>
          Or type the secret: <CopyInline text={data.secret} label="Copy the secret" />
        </span>
      )}
      <CodeField label="2. Code that the app shows" value={code} onChange={setCode} />
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
        <span>
          These are your recovery codes, shown this once only. Keep them where you find them without
          your phone: each signs you in once in place of the app’s code.
        </span>
        <CopyBlock text={codes.join('\n')} label="Copy the recovery codes" />
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
  const confirm = async () => {
    await switchOff(password);
    await client.invalidateQueries({ queryKey: sessionQuery.queryKey });
  };
  return (
    <Ask
      title="Switch the second factor off?"
      action="Switch off"
      severe
      disabled={!password}
      onConfirm={confirm}
      onClose={onClose}
    >
      <span>Your password alone is enough to sign in then. The recovery codes lose their use.</span>
      <OwnPasswordField value={password} onChange={setPassword} autoFocus />
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
        The password alone is enough to sign in then, until {user.email} sets an app up again. Be
        sure that it is that person who asks for it.
      </span>
    </Ask>
  );
}

interface FieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  autoFocus?: boolean;
}

export function CodeField({ label, value, onChange, autoFocus }: FieldProps) {
  return (
    <TextInput
      label={label}
      autoComplete="one-time-code"
      required
      withAsterisk={false}
      maxLength={64}
      {...(autoFocus && { 'data-autofocus': true, autoFocus: true })}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

function OwnPasswordField({ value, onChange, autoFocus }: Omit<FieldProps, 'label'>) {
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
