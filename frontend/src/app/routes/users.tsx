/** Who may sign in, and what they may do. */
import { Button } from '@mantine/core';
import { useState } from 'react';
import { useMay } from '@/api/session';
import { AddUser } from '@/features/users/UserDialogs';
import { UserTable } from '@/features/users/UserTable';
import { Card } from '@/ui/Card';
import { EmptyState } from '@/ui/EmptyState';
import classes from './pages.module.css';

export function UsersPage() {
  const [adding, setAdding] = useState(false);
  if (!useMay('manageUsers')) {
    return (
      <EmptyState title="Users are not shown to you">
        <span>
          Administrators and user managers see them. Your own password is changed in the menu at the
          top right.
        </span>
      </EmptyState>
    );
  }
  return (
    <div className={classes.page}>
      <div className={classes.head}>
        <h1>Users</h1>
        <Button onClick={() => setAdding(true)}>Add user</Button>
      </div>
      <Card flush>
        <UserTable />
      </Card>
      {adding && <AddUser onClose={() => setAdding(false)} />}
    </div>
  );
}
