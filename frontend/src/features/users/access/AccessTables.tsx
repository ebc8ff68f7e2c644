/** Tables of built-in and custom roles and access lists. */
import { ActionIcon, Alert, Menu } from '@mantine/core';
import { IconDotsVertical, IconEdit, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { aclsQuery, isCustom, rolesQuery } from '@/api/access/roles';
import { usersQuery } from '@/api/access/users';
import { shownBdbsQuery } from '@/api/databases/bdbs';
import { messageOf } from '@/api/http';
import type { Acl, Role } from '@/api/types';
import { Dash } from '@/ui/Dash';
import { type Column, DataTable } from '@/ui/table/DataTable';
import { databaseUidsOf, roleLabel } from '../roles';
import { EditAcl, EditRole, RemoveAcl, RemoveRole } from './AccessDialogs';

interface OpenDialog<T> {
  dialog: 'change' | 'remove';
  row: T;
}

export function RoleTable() {
  const { data: roles, error } = useQuery(rolesQuery);
  const { data: users } = useQuery(usersQuery);
  const { data: bdbs } = useQuery(shownBdbsQuery);
  const [openDialog, setOpenDialog] = useState<OpenDialog<Role> | null>(null);
  const close = () => setOpenDialog(null);
  if (!roles && error) return <Alert color="red">{messageOf(error)}</Alert>;
  const count = (role: Role) =>
    users?.filter(({ role_uids }) => role_uids[0] === role.uid).length ?? Number.NaN;
  const nameOf = (uid: number) =>
    bdbs?.find((bdb) => bdb.uid === uid)?.name ?? `database ${uid} (deleted)`;
  const columns: Column<Role>[] = [
    { id: 'name', header: 'Role', sort: ({ name }) => name, cell: ({ name }) => name },
    {
      id: 'management',
      header: 'Management role',
      sort: ({ management }) => roleLabel(management),
      cell: ({ management }) => roleLabel(management),
    },
    {
      id: 'databases',
      header: 'Databases',
      cell: (role) => databaseUidsOf(role).map(nameOf).join(', ') || 'All',
    },
    {
      id: 'users',
      header: 'Users',
      align: 'right',
      sort: count,
      cell: (role) => (users ? count(role) : <Dash reason="The users are not loaded" />),
    },
    menuOf((dialog, row) => setOpenDialog({ dialog, row })),
  ];
  return (
    <>
      <DataTable label="Roles" columns={columns} rows={roles} rowKey={({ uid }) => uid} />
      {openDialog?.dialog === 'change' && <EditRole role={openDialog.row} onClose={close} />}
      {openDialog?.dialog === 'remove' && <RemoveRole role={openDialog.row} onClose={close} />}
    </>
  );
}

export function AclTable() {
  const { data: acls, error } = useQuery(aclsQuery);
  const [openDialog, setOpenDialog] = useState<OpenDialog<Acl> | null>(null);
  const close = () => setOpenDialog(null);
  if (!acls && error) return <Alert color="red">{messageOf(error)}</Alert>;
  const columns: Column<Acl>[] = [
    { id: 'name', header: 'Access list', sort: ({ name }) => name, cell: ({ name }) => name },
    { id: 'acl', header: 'Rules', cell: ({ acl }) => <code>{acl}</code> },
    menuOf((dialog, row) => setOpenDialog({ dialog, row })),
  ];
  return (
    <>
      <DataTable label="Access lists" columns={columns} rows={acls} rowKey={({ uid }) => uid} />
      {openDialog?.dialog === 'change' && <EditAcl acl={openDialog.row} onClose={close} />}
      {openDialog?.dialog === 'remove' && <RemoveAcl acl={openDialog.row} onClose={close} />}
    </>
  );
}

function menuOf<T extends Acl | Role>(
  onOpen: (dialog: 'change' | 'remove', row: T) => void,
): Column<T> {
  return {
    id: 'menu',
    header: '',
    align: 'right',
    width: 48,
    cell: (row) => (
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${row.name}`}>
            <IconDotsVertical size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {!isCustom(row) && <Menu.Label>Built in, cannot be changed</Menu.Label>}
          <Menu.Item
            leftSection={<IconEdit size={15} />}
            disabled={!isCustom(row)}
            onClick={() => onOpen('change', row)}
          >
            Edit…
          </Menu.Item>
          <Menu.Item
            color="var(--broken)"
            leftSection={<IconTrash size={15} />}
            disabled={!isCustom(row)}
            onClick={() => onOpen('remove', row)}
          >
            Remove…
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    ),
  };
}
