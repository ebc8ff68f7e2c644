/** Sign-in form. Secrets leave this component only in the request. */
import { Alert, Button, Divider, Loader, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { sessionQuery, signIn } from '@/api/access/session';
import { ssoStartPath, ssoStatusQuery } from '@/api/access/sso';
import { newSecretAtSignIn } from '@/api/access/twoFactor';
import { ApiError } from '@/api/http';
import type { SecondFactorSecret } from '@/api/types';
import { AuthenticatorSecret, CodeField, RecoveryCodeList } from '@/ui/forms/AuthenticatorApp';
import { RequestError } from '@/ui/forms/RequestError';
import { useSubmit } from '@/ui/forms/useSubmit';
import classes from './SignIn.module.css';
import { ssoErrorMessage } from './ssoErrors';

interface Props {
  /** The page to open after signing in. */
  next?: string | undefined;
  /** The error code of a failed single sign-on. */
  ssoError?: string | undefined;
  onDone: () => Promise<void>;
}

export function SignIn({ next, ssoError, onDone }: Props) {
  const client = useQueryClient();
  const [username, setUsername] = useState('');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState<string>();
  /** Secret for an authenticator app, if the policy requires one and the user has none. */
  const [secret, setSecret] = useState<SecondFactorSecret>();
  const [codes, setCodes] = useState<readonly string[]>();
  const [renewal, setRenewal] = useState<string>();
  const [repeated, setRepeated] = useState('');
  useEffect(() => {
    document.title = 'Sign in · Shardboard';
  }, []);

  const entry = useSubmit(async () => {
    try {
      const form = {
        username,
        password,
        ...(code !== undefined && { code }),
        ...(secret !== undefined && { secret: secret.secret }),
        ...(renewal !== undefined && { new_password: renewal }),
      };
      const { recovery_codes, ...session } = await signIn(form);
      client.setQueryData(sessionQuery.queryKey, { ...session, recovery_codes: null });
      if (recovery_codes) return setCodes(recovery_codes);
      await onDone();
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure;
      const reason = failure.code;
      // The console requires another field. This is not an error, so only show the field.
      if (reason === 'second_factor_required') return setCode('');
      if (reason === 'password_expired') return setRenewal('');
      if (reason === 'second_factor_missing') {
        setSecret(await newSecretAtSignIn(username, password));
        return setCode('');
      }
      if (reason === 'wrong_code') setCode('');
      // The user now has an app: this sign-in succeeded but its response was lost, or another sign-in set it up.
      if (reason === 'second_factor_is_on' || (reason === 'wrong_code' && failure.status === 401)) {
        setSecret(undefined);
        setCode('');
      }
      if (reason === 'invalid_credentials') restart();
      throw failure;
    }
  });
  const restart = () => {
    setPassword('');
    setCode(undefined);
    setSecret(undefined);
    setRenewal(undefined);
    setRepeated('');
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (ready) entry.submit();
  };
  const hasMoreFields = code !== undefined || renewal !== undefined;
  const ready = renewal === undefined || (renewal !== '' && renewal === repeated);

  if (codes) return <Codes codes={codes} onDone={onDone} />;
  return (
    <main className={classes.page}>
      <form className={classes.form} onSubmit={submit}>
        <div className={classes.brand}>
          <img src="/favicon.svg" width={32} height={32} alt="" />
          <h1>Shardboard</h1>
        </div>
        <Stack gap="sm">
          {/* The session cookie is `Secure`: browsers drop it here, and signing in would have no effect. */}
          {window.isSecureContext === false && (
            <Alert color="orange" role="alert">
              This connection is not encrypted, so your browser does not keep you signed in. Open
              the console with https://.
            </Alert>
          )}
          <TextInput
            label="User"
            name="username"
            autoComplete="username"
            required
            withAsterisk={false}
            autoFocus
            readOnly={hasMoreFields}
            value={username}
            onChange={(event) => setUsername(event.currentTarget.value)}
          />
          <PasswordInput
            label="Password"
            name="password"
            autoComplete="current-password"
            required
            withAsterisk={false}
            readOnly={hasMoreFields}
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
          {secret !== undefined && (
            <>
              <span>
                Two-factor authentication is required: a code from an authenticator app in addition
                to your password. Scan this QR code with the app:
              </span>
              <AuthenticatorSecret secret={secret} />
            </>
          )}
          {code !== undefined && (
            <CodeField
              label={secret ? 'Code from the app' : 'Code'}
              {...(!secret && { description: 'From your authenticator app, or a recovery code' })}
              autoFocus
              value={code}
              onChange={setCode}
            />
          )}
          {renewal !== undefined && (
            <>
              <span>Your password has expired. Choose a new password.</span>
              <PasswordInput
                label="New password"
                autoComplete="new-password"
                required
                withAsterisk={false}
                autoFocus
                maxLength={256}
                value={renewal}
                onChange={(event) => setRenewal(event.currentTarget.value)}
              />
              <PasswordInput
                label="Repeat password"
                autoComplete="new-password"
                required
                withAsterisk={false}
                maxLength={256}
                value={repeated}
                error={repeated && renewal !== repeated ? 'The passwords do not match' : undefined}
                onChange={(event) => setRepeated(event.currentTarget.value)}
              />
            </>
          )}
          <RequestError failure={entry.failure} />
          {ssoError && !entry.failure && !hasMoreFields && (
            <Alert color="red">{ssoErrorMessage(ssoError)}</Alert>
          )}
          <Button
            type="submit"
            size="sm"
            disabled={!ready || entry.busy}
            leftSection={entry.busy && <Loader size={14} color="gray" />}
          >
            {entry.busy ? 'Signing in…' : 'Sign in'}
          </Button>
          {!hasMoreFields && <SingleSignOn next={next} />}
          {hasMoreFields && (
            <Button
              variant="subtle"
              color="gray"
              onClick={() => {
                restart();
                entry.clear();
              }}
            >
              Sign in as another user
            </Button>
          )}
        </Stack>
        {!hasMoreFields && <SignInHelp />}
      </form>
    </main>
  );
}

/** Where the first password is, and how a lost one is replaced. */
function SignInHelp() {
  return (
    <details className={classes.hint}>
      <summary>Help with signing in</summary>
      <p>
        At its first start, the console prints a user and a password in its terminal, unless{' '}
        <code>SHARDBOARD_ADMIN_USER</code> and <code>SHARDBOARD_ADMIN_PASSWORD</code> are set.
      </p>
      <p>
        If you do not know your password, ask an administrator to set a new one. If there is no
        other administrator, run <code>shardboard reset-admin-password</code> on the console’s
        machine.
      </p>
    </details>
  );
}

/** Shows the recovery codes once, after two-factor authentication was turned on. */
function Codes({ codes, onDone }: { codes: readonly string[]; onDone: () => Promise<void> }) {
  const heading = useRef<HTMLHeadingElement>(null);
  // Focus the heading instead of the button: another Enter would close the codes, which are shown only once.
  useEffect(() => heading.current?.focus(), []);
  return (
    <main className={classes.page}>
      <Stack gap="sm" className={classes.form ?? ''}>
        <h1 className={classes.title} tabIndex={-1} ref={heading}>
          Two-factor authentication is on
        </h1>
        <RecoveryCodeList codes={codes} />
        <Button size="sm" onClick={() => void onDone()}>
          I have saved the codes
        </Button>
      </Stack>
    </main>
  );
}

/** Link to single sign-on, if it is configured. */
function SingleSignOn({ next }: { next: string | undefined }) {
  const name = useQuery(ssoStatusQuery).data?.name;
  if (!name) return null;
  return (
    <>
      <Divider label="or" />
      <Button variant="default" size="sm" component="a" href={ssoStartPath(next)}>
        Sign in with {name}
      </Button>
    </>
  );
}
