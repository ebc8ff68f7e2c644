/** Button that opens the create form. It is disabled if the user's role cannot create databases. */
import { Button } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';

interface Props {
  disabled?: boolean;
  /** Secondary style, if another step comes first or the page already has such a button. */
  quiet?: boolean;
}

export function CreateButton({ disabled, quiet }: Props) {
  const may = usePermission('create');
  const variant = quiet ? 'default' : 'filled';
  const icon = <IconPlus size={14} />;
  if (!may || disabled) {
    return (
      <Button
        variant={variant}
        disabled
        leftSection={icon}
        title={may ? 'Add a node first' : ROLE_DENIED_TEXT}
      >
        Create database
      </Button>
    );
  }
  return (
    <Button variant={variant} component={Link} to="/databases/new" leftSection={icon}>
      Create database
    </Button>
  );
}
