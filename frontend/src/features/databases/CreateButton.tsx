/** Leads to the create form, for those who may. */
import { Button } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { ROLE_FORBIDS, useMay } from '@/api/session';

interface Props {
  disabled?: boolean;
  /** Does not stand out: something else comes first, or says the same already. */
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
