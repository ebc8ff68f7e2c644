/** Confirmation of the sign-in of a program on another machine, such as `shardboard login --device`. */
import { Alert, Button, Group, Stack, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { decideDeviceLogin, findDeviceLogin } from '@/api/access/deviceLogins';
import { sessionQuery } from '@/api/access/session';
import type { WaitingDeviceLogin } from '@/api/types';
import { Ago } from '@/ui/Ago';
import { Facts } from '@/ui/Facts';
import { RequestError } from '@/ui/forms/RequestError';
import { useSubmit } from '@/ui/forms/useSubmit';

const DAY = 86_400;

export function ConfirmDevice() {
  const [code, setCode] = useState('');
  const [found, setFound] = useState<WaitingDeviceLogin>();
  const [decision, setDecision] = useState<'confirmed' | 'denied'>();
  const search = useSubmit(async () => setFound(await findDeviceLogin(code)));
  const decide = useSubmit(async (approve: boolean) => {
    await decideDeviceLogin(code, approve);
    setDecision(approve ? 'confirmed' : 'denied');
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (code.trim()) search.submit();
  };

  if (decision) {
    return (
      <Alert color={decision === 'confirmed' ? 'green' : 'gray'} role="status">
        {decision === 'confirmed'
          ? `The program on ${found?.name} is signed in. You can close this page.`
          : 'The sign-in was denied. The program gets no access.'}
      </Alert>
    );
  }
  if (found) {
    return (
      <Stack gap="sm">
        <Request found={found} />
        <RequestError failure={decide.failure} />
        <Group>
          <Button loading={decide.busy} onClick={() => decide.submit(true)}>
            Confirm sign-in
          </Button>
          <Button variant="default" disabled={decide.busy} onClick={() => decide.submit(false)}>
            Deny
          </Button>
        </Group>
      </Stack>
    );
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <TextInput
          label="Code"
          description="The program shows it, for example BCDF-GHJK. Enter only a code of a program that you have started."
          autoComplete="off"
          autoFocus
          maxLength={32}
          value={code}
          onChange={(event) => {
            setCode(event.currentTarget.value);
            search.clear();
          }}
        />
        <RequestError failure={search.failure} />
        <Group>
          <Button type="submit" disabled={!code.trim()} loading={search.busy}>
            Continue
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function Request({ found }: { found: WaitingDeviceLogin }) {
  const { data: session } = useQuery(sessionQuery);
  const databases = found.bdbs ? `, databases ${found.bdbs.join(', ')} only` : '';
  return (
    <>
      <span>
        A program wants to sign in with your account. Confirm it only if you have started it:
      </span>
      <Facts
        items={[
          ['Machine', `${found.name} (as the program states)`],
          ['Address', found.address],
          ['Requested', <Ago key="requested" time={found.created_at} />],
          ['User', session?.username],
          ['Permissions', `${found.role}${databases}`],
          ['Valid for', `${Math.round((found.ttl / DAY) * 10) / 10} days`],
        ]}
      />
    </>
  );
}
