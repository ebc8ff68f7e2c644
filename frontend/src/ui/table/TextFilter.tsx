/** Text filter of a list. The address is updated from the field, not vice versa, so that typing is never delayed. */
import { TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useState } from 'react';

interface Props {
  text: string | undefined;
  onText: (text: string | undefined) => void;
  placeholder?: string;
}

export function TextFilter({ text, onText, placeholder = 'Filter by text' }: Props) {
  const [typed, setTyped] = useState(text ?? '');
  return (
    <TextInput
      size="xs"
      type="search"
      aria-label="Filter by text"
      placeholder={placeholder}
      leftSection={<IconSearch size={14} />}
      value={typed}
      maxLength={200}
      onChange={({ currentTarget: { value } }) => {
        setTyped(value);
        onText(value || undefined);
      }}
    />
  );
}
