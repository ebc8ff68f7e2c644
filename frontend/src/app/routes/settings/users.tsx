/** Users, roles, and access lists on the Settings page. */
import { Button } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { EditAcl, EditRole } from '@/features/users/access/AccessDialogs';
import { AclTable, RoleTable } from '@/features/users/access/AccessTables';
import { AddUser } from '@/features/users/UserDialogs';
import { UserTable } from '@/features/users/UserTable';
import { Card } from '@/ui/Card';

interface Props {
  title: string;
  action: string;
  /** Dialog that the button opens. */
  dialog: (onClose: () => void) => ReactNode;
  children: ReactNode;
}

function EditableList({ title, action, dialog, children }: Props) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Card
      flush
      title={title}
      headerEnd={
        <Button variant="default" onClick={() => setOpen(true)}>
          {action}
        </Button>
      }
    >
      {children}
      {isOpen && dialog(() => setOpen(false))}
    </Card>
  );
}

export const Users = () => (
  <EditableList title="Users" action="Add user" dialog={(onClose) => <AddUser onClose={onClose} />}>
    <UserTable />
  </EditableList>
);

export const Roles = () => (
  <EditableList
    title="Roles"
    action="Add role"
    dialog={(onClose) => <EditRole onClose={onClose} />}
  >
    <RoleTable />
  </EditableList>
);

export const AccessLists = () => (
  <EditableList
    title="Access lists"
    action="Add access list"
    dialog={(onClose) => <EditAcl onClose={onClose} />}
  >
    <AclTable />
  </EditableList>
);
