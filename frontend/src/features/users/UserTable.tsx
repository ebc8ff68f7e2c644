/** Table of users with a menu of actions for each user. */
import { ActionIcon, Alert, Menu } from '@mantine/core';
import {
  IconDevices,
  IconDotsVertical,
  IconEdit,
  IconKey,
  IconShieldLock,
  IconTrash,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { rolesQuery } from '@/api/access/roles';
import { sessionQuery } from '@/api/access/session';
import { usersQuery } from '@/api/access/users';
import { messageOf } from '@/api/http';
import type { Role, Session, User } from '@/api/types';
import { Ago } from '@/ui/Ago';
import { Dash } from '@/ui/Dash';
import { Status } from '@/ui/Status';
import { type Column, DataTable } from '@/ui/table/DataTable';
import { DisableSecondFactorOf } from './account/SecondFactorDialogs';
import { Sessions } from './account/Sessions';
import { NewPassword } from './NewPassword';
import {
  changeDeniedReason,
  credentialsDeniedReason,
  removalDeniedReason,
  roleName,
} from './roles';
import { ChangeUser, RemoveUser } from './UserDialogs';

const DIALOGS = {
  change: ChangeUser,
  password: NewPassword,
  sessions: Sessions,
  factor: DisableSecondFactorOf,
  remove: RemoveUser,
} as const;

interface OpenDialog {
  dialog: keyof typeof DIALOGS;
  user: User;
}

export function UserTable() {
  const { data: users, error } = useQuery(usersQuery);
  const { data: session } = useQuery(sessionQuery);
  const [openDialog, setOpenDialog] = useState<OpenDialog | null>(null);
  const { data: roles } = useQuery(rolesQuery);
  const columns = useMemo(
    () => columnsOf(session, users ?? [], roles ?? [], setOpenDialog),
    [session, users, roles],
  );
  const Dialog = openDialog && DIALOGS[openDialog.dialog];
  if (!users && error) return <Alert color="red">{messageOf(error)}</Alert>;
  return (
    <>
      <DataTable
        label="Users"
        columns={columns}
        rows={users}
        rowKey={({ uid }) => uid}
        initialSort={{ id: 'user' }}
      />
      {Dialog && <Dialog user={openDialog.user} onClose={() => setOpenDialog(null)} />}
    </>
  );
}

function columnsOf(
  session: Session | undefined,
  users: readonly User[],
  roles: readonly Role[],
  onOpen: (openDialog: OpenDialog) => void,
): Column<User>[] {
  return [
    {
      id: 'user',
      header: 'User',
      sort: ({ email }) => email,
      cell: ({ uid, email }) => (
        <>
          {email}
          {uid === session?.uid && <span className="dim"> (you)</span>}
        </>
      ),
    },
    {
      id: 'name',
      header: 'Name',
      optional: true,
      sort: ({ name }) => name,
      cell: ({ name }) => name || <Dash reason="No name was entered" />,
    },
    {
      id: 'role',
      header: 'Role',
      sort: (user) => roleName(user, roles),
      cell: (user) => roleName(user, roles),
    },
    {
      id: 'status',
      header: 'Status',
      sort: ({ status }) => status,
      cell: ({ status }) => <UserStatus status={status} />,
    },
    {
      id: 'factor',
      header: 'Two-factor authentication',
      optional: true,
      sort: secondFactorText,
      cell: secondFactorText,
    },
    {
      id: 'seen',
      header: 'Last sign-in',
      optional: true,
      sort: ({ last_login }) => last_login ?? 0,
      cell: ({ last_login }) => (last_login === null ? 'Never' : <Ago time={last_login * 1000} />),
    },
    {
      id: 'menu',
      header: '',
      align: 'right',
      width: 48,
      cell: (user) => <UserActions user={user} session={session} users={users} onOpen={onOpen} />,
    },
  ];
}

/** Labels of external authentication methods. Their users have no password and no two-factor authentication in Shardboard. */
const EXTERNAL: Readonly<Record<string, string>> = { sso: 'Single sign-on', ldap: 'LDAP' };

const secondFactorText = ({ auth_method, second_factor }: User): string =>
  EXTERNAL[auth_method] ?? (second_factor ? 'On' : 'Off');

function UserStatus({ status }: { status: string }) {
  if (status === 'locked') {
    return (
      <Status
        tone="attention"
        title="After failed sign-ins, further attempts from the same address are delayed. A new password ends the delay"
      >
        Sign-in delayed
      </Status>
    );
  }
  if (status === 'password_expired') {
    return (
      <Status tone="attention" title="Signing in requires a new password">
        Password expired
      </Status>
    );
  }
  return <Status tone="ok">Active</Status>;
}

interface ActionsProps {
  user: User;
  session: Session | undefined;
  users: readonly User[];
  onOpen: (openDialog: OpenDialog) => void;
}

function UserActions({ user, session, users, onOpen }: ActionsProps) {
  const changeDenied = changeDeniedReason(user, session);
  const credentialsDenied = credentialsDeniedReason(user, session);
  const removalDenied = removalDeniedReason(user, session, users);
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${user.email}`}>
          <IconDotsVertical size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {changeDenied && <Menu.Label>{changeDenied}</Menu.Label>}
        <Menu.Item
          leftSection={<IconEdit size={15} />}
          disabled={changeDenied !== undefined}
          onClick={() => onOpen({ dialog: 'change', user })}
        >
          Edit…
        </Menu.Item>
        <Menu.Item
          leftSection={<IconKey size={15} />}
          // Users change their own password in the user menu, which keeps the current session.
          disabled={
            credentialsDenied !== undefined ||
            user.uid === session?.uid ||
            user.auth_method in EXTERNAL
          }
          title={
            EXTERNAL[user.auth_method]
              ? 'This user has no password in Shardboard'
              : credentialsDenied
          }
          onClick={() => onOpen({ dialog: 'password', user })}
        >
          Passwords…
        </Menu.Item>
        <Menu.Item
          leftSection={<IconDevices size={15} />}
          disabled={changeDenied !== undefined}
          onClick={() => onOpen({ dialog: 'sessions', user })}
        >
          Sessions…
        </Menu.Item>
        {user.second_factor && user.uid !== session?.uid && (
          <Menu.Item
            leftSection={<IconShieldLock size={15} />}
            disabled={credentialsDenied !== undefined}
            title={credentialsDenied}
            onClick={() => onOpen({ dialog: 'factor', user })}
          >
            Turn off two-factor authentication…
          </Menu.Item>
        )}
        {removalDenied && removalDenied !== changeDenied && (
          <Menu.Label>{removalDenied}</Menu.Label>
        )}
        <Menu.Item
          color="var(--broken)"
          leftSection={<IconTrash size={15} />}
          disabled={removalDenied !== undefined}
          onClick={() => onOpen({ dialog: 'remove', user })}
        >
          Remove…
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
