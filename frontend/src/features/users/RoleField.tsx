/** Field for the role of a user or service token: a built-in or a custom role. */
import { Radio, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { isCustom, rolesQuery } from '@/api/access/roles';
import { sessionQuery } from '@/api/access/session';
import { customRolesFor, rolesFor } from './roles';
import classes from './users.module.css';

interface Props {
  value: string;
  onChange: (value: string) => void;
  /** Reason why the role cannot be changed. */
  fixed?: ReactNode;
  /** A management role that is not offered. */
  excludedRole?: string;
}

export function RoleField({ value, onChange, fixed, excludedRole }: Props) {
  const manager = useQuery(sessionQuery).data;
  const customRoles = useQuery(rolesQuery).data?.filter(isCustom) ?? [];
  const options = [
    ...rolesFor(manager).filter((role) => role.value !== excludedRole),
    ...customRolesFor(
      manager,
      customRoles.filter(({ management }) => management !== excludedRole),
    ),
  ];
  return (
    <Radio.Group label="Role" description={fixed} value={value} onChange={onChange}>
      <Stack gap={6} mt={6}>
        {options.map((role) => (
          <Radio
            key={role.value}
            value={role.value}
            disabled={Boolean(fixed)}
            label={
              <>
                {role.label}
                <span className={classes.roleHelp}>{role.description}</span>
              </>
            }
          />
        ))}
      </Stack>
    </Radio.Group>
  );
}
