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
  without?: string;
}

export function RoleField({ value, onChange, fixed, without }: Props) {
  const manager = useQuery(sessionQuery).data;
  const own = useQuery(rolesQuery).data?.filter(isCustom) ?? [];
  const offered = [
    ...rolesFor(manager).filter((role) => role.value !== without),
    ...customRolesFor(
      manager,
      own.filter(({ management }) => management !== without),
    ),
  ];
  return (
    <Radio.Group label="Role" description={fixed} value={value} onChange={onChange}>
      <Stack gap={6} mt={6}>
        {offered.map((role) => (
          <Radio
            key={role.value}
            value={role.value}
            disabled={Boolean(fixed)}
            label={
              <>
                {role.label}
                <span className={classes.what}>{role.what}</span>
              </>
            }
          />
        ))}
      </Stack>
    </Radio.Group>
  );
}
