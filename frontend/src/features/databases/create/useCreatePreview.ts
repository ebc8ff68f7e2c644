/** Preview of a new database: the planned placement, or the reason for a rejection. Creates nothing. */
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { previewCreate } from '@/api/databases/bdbs';
import { messageOf } from '@/api/http';
import type { BlueprintPair, CreateBdb } from '@/api/types';

/** Debounce time, so that not every typed character sends a request. */
const DEBOUNCE_MS = 400;

export interface CreatePreview {
  blueprint: readonly BlueprintPair[] | null;
  rejection: string | null;
}

/** Request a preview. `body` is null while the form is invalid. */
export function useCreatePreview(body: CreateBdb | null): CreatePreview {
  const now = body ? JSON.stringify(body) : '';
  const [debounced] = useDebouncedValue(now, DEBOUNCE_MS);
  const { data, error } = useQuery({
    queryKey: ['create', debounced],
    queryFn: ({ signal }) => previewCreate(JSON.parse(debounced) as CreateBdb, signal),
    enabled: debounced !== '',
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });
  const current = debounced === now && debounced !== '';
  return {
    blueprint: (current && data) || null,
    rejection: current && error ? messageOf(error) : null,
  };
}
