/** Button that opens the create form. It is disabled if the user's role cannot create databases. */
import { Button } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { ROLE_FORBIDS, useMay } from '@/api/session';

interface Props {
  disabled?: boolean;
  /** Secondary style, if another step comes first or the page already has such a button. */
  quiet?: boolean;
}

export function CreateButton({ disabled, quiet }: Props) {
  const may = useMay('create');
  const variant = quiet ? 'default' : 'filled';
  const icon = <IconPlus size={14} />;
  if (!may || disabled) {
    return (
      <Button
        variant={variant}
        disabled
        leftSection={icon}
        title={may ? 'Add a node first' : ROLE_FORBIDS}
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
