/** Input for tags, which are pairs of key and value. */
import { ActionIcon, Button, Input, TextInput } from '@mantine/core';
import { IconPlus, IconX } from '@tabler/icons-react';
import type { Tag } from '@/api/types';
import classes from '../databases.module.css';

interface Props {
  tags: readonly Tag[];
  error: string | undefined;
  onChange: (tags: Tag[]) => void;
}

export function TagsInput({ tags, error, onChange }: Props) {
  const set = (at: number, part: Partial<Tag>) =>
    onChange(tags.map((tag, index) => (index === at ? { ...tag, ...part } : tag)));
  return (
    <Input.Wrapper
      label="Tags"
      labelElement="div"
      description="Custom labels, for example env: prod."
      error={error}
      data-invalid={error ? true : undefined}
    >
      <div className={classes.tags}>
        {tags.map((tag, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: keys change while they are typed, so the index identifies a tag
          <div key={index} className={classes.tag}>
            <TextInput
              aria-label={`Key of tag ${index + 1}`}
              placeholder="key"
              value={tag.key}
              onChange={(event) => set(index, { key: event.currentTarget.value })}
            />
            <TextInput
              aria-label={`Value of tag ${index + 1}`}
              placeholder="value"
              value={tag.value}
              onChange={(event) => set(index, { value: event.currentTarget.value })}
            />
            <ActionIcon
              variant="subtle"
              color="gray"
              size="lg"
              aria-label={`Remove tag ${index + 1}`}
              onClick={() => onChange(tags.filter((_, at) => at !== index))}
            >
              <IconX size={16} />
            </ActionIcon>
          </div>
        ))}
        <div>
          <Button
            variant="default"
            size="compact-xs"
            leftSection={<IconPlus size={12} />}
            onClick={() => onChange([...tags, { key: '', value: '' }])}
          >
            Add tag
          </Button>
        </div>
      </div>
    </Input.Wrapper>
  );
}
