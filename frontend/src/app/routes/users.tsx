/** Users page: users, roles, access lists and service tokens. */
import { Button } from '@mantine/core';
import { useState } from 'react';
import { usePermission } from '@/api/access/session';
import { EditAcl, EditRole } from '@/features/users/access/AccessDialogs';
import { AclTable, RoleTable } from '@/features/users/access/AccessTables';
import { ServiceTokens } from '@/features/users/tokens/ServiceTokens';
import { AddUser } from '@/features/users/UserDialogs';
import { UserTable } from '@/features/users/UserTable';
import { Card } from '@/ui/Card';
import { EmptyState } from '@/ui/EmptyState';
import classes from './pages.module.css';

export function UsersPage() {
  const [adding, setAdding] = useState<'user' | 'role' | 'acl' | null>(null);
  const close = () => setAdding(null);
  if (!usePermission('manageUsers')) {
    return (
      <EmptyState title="You cannot view users">
        <span>
          Only administrators and user managers can view users. To change your password, use the
          menu at the top right.
        </span>
      </EmptyState>
    );
  }
  return (
    <div className={classes.page}>
      <div className={classes.head}>
        <h1>Users</h1>
        <Button onClick={() => setAdding('user')}>Add user</Button>
      </div>
      <Card flush>
        <UserTable />
      </Card>
      <Card
        flush
        title="Roles"
        headerEnd={
          <Button variant="default" onClick={() => setAdding('role')}>
            Add role
          </Button>
        }
      >
        <RoleTable />
      </Card>
      <Card
        flush
        title="Access lists"
        headerEnd={
          <Button variant="default" onClick={() => setAdding('acl')}>
            Add access list
          </Button>
        }
      >
        <AclTable />
      </Card>
      <ServiceTokens />
      {adding === 'user' && <AddUser onClose={close} />}
      {adding === 'role' && <EditRole onClose={close} />}
      {adding === 'acl' && <EditAcl onClose={close} />}
    </div>
  );
}
