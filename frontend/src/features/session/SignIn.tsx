/** Sign-in form. The password leaves this component only in the request. */
import { Button, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useEffect, useState } from 'react';
import { sessionQuery, signIn } from '@/api/session';
import { Refused } from '@/ui/Refused';
import { useSubmit } from '@/ui/useSubmit';
import classes from './SignIn.module.css';

export function SignIn({ onDone }: { onDone: () => Promise<void> }) {
  const client = useQueryClient();
  const [username, setUsername] = useState('');
  const [password, setPassword] = useState('');
  useEffect(() => {
    document.title = 'Sign in · Shardboard';
  }, []);

  const entry = useSubmit(async () => {
    try {
      client.setQueryData(sessionQuery.queryKey, await signIn(username, password));
      await onDone();
    } catch (failure) {
      setPassword('');
      throw failure;
    }
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    entry.submit();
  };

  return (
    <main className={classes.page}>
      <form className={classes.form} onSubmit={submit}>
        <div className={classes.brand}>
          <img src="/favicon.svg" width={32} height={32} alt="" />
          <h1>Shardboard</h1>
        </div>
        <Stack gap="sm">
          <TextInput
            label="User"
            name="username"
            autoComplete="username"
            required
            withAsterisk={false}
            autoFocus
            value={username}
            onChange={(event) => setUsername(event.currentTarget.value)}
          />
          <PasswordInput
            label="Password"
            name="password"
            autoComplete="current-password"
            required
            withAsterisk={false}
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
          <Refused refusal={entry.refusal} />
          <Button type="submit" size="sm" loading={entry.busy}>
            Sign in
          </Button>
        </Stack>
        <p className={classes.hint}>
          The first start of the console prints a user and a password in its terminal, unless they
          were set with <code>SHARDBOARD_ADMIN_USER</code> and{' '}
          <code>SHARDBOARD_ADMIN_PASSWORD</code>.
        </p>
      </form>
    </main>
  );
}
