/** What the console would make of a draft: where the shards would be, or why it refuses. Nothing is made. */
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { previewCreate } from '@/api/bdbs';
import { messageOf } from '@/api/http';
import type { BlueprintPair, CreateBdb } from '@/api/types';

/** Nobody waits for the answer to each letter. */
const TYPING_MS = 400;

export interface CreatePreview {
  blueprint: readonly BlueprintPair[] | null;
  refused: string | null;
}

/** Null while the form holds what cannot be sent. */
export function useCreatePreview(body: CreateBdb | null): CreatePreview {
  const now = body ? JSON.stringify(body) : '';
  const [asked] = useDebouncedValue(now, TYPING_MS);
  const { data, error } = useQuery({
    queryKey: ['create', asked],
    queryFn: ({ signal }) => previewCreate(JSON.parse(asked) as CreateBdb, signal),
    enabled: asked !== '',
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });
  const current = asked === now && asked !== '';
  return {
    blueprint: (current && data) || null,
    refused: current && error ? messageOf(error) : null,
  };
}
