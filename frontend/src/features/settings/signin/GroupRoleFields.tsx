/** Fields of the single sign-on dialog: groups at the provider and their roles, and the role of all other users. */
import { ActionIcon, Button, NativeSelect, TextInput } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import type { Role } from '@/api/types';
import { FieldGroup } from '@/ui/forms/FieldGroup';
import type { Form } from '@/ui/forms/useForm';
import classes from '../settings.module.css';
import type { GroupRole, OidcValues } from './oidcForm';

interface Props {
  form: Form<OidcValues>;
  roles: readonly Role[];
}

interface Choice {
  value: string;
  label: string;
}

export function GroupRoleFields({ form, roles }: Props) {
  const choices = roles.map(({ uid, name }) => ({ value: `${uid}`, label: name }));
  const { value: groups, onChange } = form.value('groups');
  const add = () => {
    const key = Math.max(0, ...groups.map((each) => each.key)) + 1;
    onChange([...groups, { key, group: '', role: choices[0]?.value ?? '' }]);
  };
  return (
    <FieldGroup
      legend="Groups and their roles"
      help="At every sign-in, the first group of this list that the user belongs to determines the role. Without groups and a default role, you set the role of each user in Shardboard."
    >
      {groups.map((row) => (
        <GroupRow
          key={row.key}
          row={row}
          choices={choices}
          onChange={(changed) =>
            onChange(groups.map((each) => (each.key === row.key ? changed : each)))
          }
          onRemove={() => onChange(groups.filter((each) => each.key !== row.key))}
        />
      ))}
      <Button variant="subtle" size="compact-sm" onClick={add}>
        Add group
      </Button>
      <NativeSelect
        label={groups.length ? 'Users in none of these groups' : 'All users'}
        data={[
          { value: '', label: groups.length ? 'Rejected' : 'Role set in Shardboard' },
          ...choices,
        ]}
        {...form.text('defaultRole')}
      />
    </FieldGroup>
  );
}

interface RowProps {
  row: GroupRole;
  choices: Choice[];
  onChange: (row: GroupRole) => void;
  onRemove: () => void;
}

function GroupRow({ row, choices, onChange, onRemove }: RowProps) {
  const name = row.group || 'the group';
  return (
    <div className={classes.mapping}>
      <TextInput
        aria-label="Group"
        placeholder="Group"
        maxLength={500}
        value={row.group}
        onChange={(event) => onChange({ ...row, group: event.currentTarget.value })}
      />
      <NativeSelect
        aria-label={`Role of ${name}`}
        data={choices}
        value={row.role}
        onChange={(event) => onChange({ ...row, role: event.currentTarget.value })}
      />
      <ActionIcon variant="subtle" color="gray" aria-label={`Remove ${name}`} onClick={onRemove}>
        <IconTrash size={16} />
      </ActionIcon>
    </div>
  );
}
