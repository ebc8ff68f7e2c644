/** Menu with the signed-in user, the time zone, the account dialogs and sign-out. */
import { ActionIcon, Menu } from '@mantine/core';
import {
  IconCheck,
  IconClock,
  IconDevices,
  IconKey,
  IconLogout,
  IconShieldLock,
  IconShieldOff,
  IconUser,
} from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { clearUserData, sessionQuery, signOut } from '@/api/access/session';
import { ApiError, messageOf } from '@/api/http';
import { expiryReminder } from '@/features/users/account/passwordExpiry';
import {
  DisableSecondFactor,
  EnableSecondFactor,
  RecoveryCodes,
} from '@/features/users/account/SecondFactorDialogs';
import { Sessions } from '@/features/users/account/Sessions';
import { OwnPassword } from '@/features/users/UserDialogs';
import { setZone } from '@/lib/time';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { useZone } from '@/ui/useZone';

const ZONES = [
  { value: 'local', label: 'Local time' },
  { value: 'utc', label: 'UTC' },
] as const;

type Dialog = 'password' | 'factorOn' | 'factorOff' | 'sessions';

export function UserMenu() {
  const { data: session } = useQuery(sessionQuery);
  const client = useQueryClient();
  const navigate = useNavigate();
  const zone = useZone();
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const close = () => setDialog(null);
  const [signOutError, setSignOutError] = useState<string | null>(null);

  const leave = async () => {
    await signOut().catch((failure) => {
      // The session has already ended.
      if (!(failure instanceof ApiError && failure.status === 401)) throw failure;
    });
    await navigate({ to: '/login' });
    clearUserData(client);
  };
  const expiry = session?.password_expires_at && expiryReminder(session.password_expires_at);
  const trySignOut = () => leave().catch((failure) => setSignOutError(messageOf(failure)));

  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label="User menu">
            <IconUser size={18} stroke={1.6} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>
            {session?.username} · {session?.role}
          </Menu.Label>
          <Menu.Label>Shardboard {session?.version}</Menu.Label>
          <Menu.Divider />
          {ZONES.map(({ value, label }) => (
            <Menu.Item
              key={value}
              leftSection={<IconClock size={15} />}
              rightSection={zone === value && <IconCheck size={14} />}
              onClick={() => setZone(value)}
            >
              {label}
            </Menu.Item>
          ))}
          <Menu.Divider />
          {expiry && <Menu.Label>{expiry}</Menu.Label>}
          {session?.auth_method === 'regular' && (
            <>
              <Menu.Item leftSection={<IconKey size={15} />} onClick={() => setDialog('password')}>
                Change password…
              </Menu.Item>
              <Menu.Item
                leftSection={<IconShieldLock size={15} />}
                onClick={() => setDialog('factorOn')}
              >
                {session.second_factor ? 'Change authenticator app…' : 'Two-factor authentication…'}
              </Menu.Item>
              {session.second_factor && !session.second_factor_required && (
                <Menu.Item
                  leftSection={<IconShieldOff size={15} />}
                  onClick={() => setDialog('factorOff')}
                >
                  Turn off two-factor authentication…
                </Menu.Item>
              )}
            </>
          )}
          <Menu.Item leftSection={<IconDevices size={15} />} onClick={() => setDialog('sessions')}>
            Your sessions…
          </Menu.Item>
          <Menu.Item leftSection={<IconLogout size={15} />} onClick={trySignOut}>
            Sign out
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {signOutError !== null && (
        <SubmitDialog
          title="You are still signed in"
          action="Try again"
          onConfirm={leave}
          onClose={() => setSignOutError(null)}
        >
          <span>The console could not end the session: {signOutError}</span>
        </SubmitDialog>
      )}
      {dialog === 'password' && session && <OwnPassword session={session} onClose={close} />}
      {dialog === 'factorOn' && (
        <EnableSecondFactor replaces={!!session?.second_factor} onDone={setCodes} onClose={close} />
      )}
      {dialog === 'factorOff' && <DisableSecondFactor onClose={close} />}
      {dialog === 'sessions' && session && (
        <Sessions user={{ uid: session.uid, email: session.username }} own onClose={close} />
      )}
      {codes && <RecoveryCodes codes={codes} onClose={() => setCodes(null)} />}
    </>
  );
}
