/** Leads to the create form, for those who may. */
import { Button } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { ROLE_FORBIDS, useMay } from '@/api/session';

export function CreateButton({ disabled }: { disabled?: boolean }) {
  const may = useMay('edit');
  const icon = <IconPlus size={14} />;
  if (!may || disabled) {
    return (
      <Button disabled leftSection={icon} title={may ? 'Add a node first' : ROLE_FORBIDS}>
        Create database
      </Button>
    );
  }
  return (
    <Button component={Link} to="/databases/new" leftSection={icon}>
      Create database
    </Button>
  );
}
