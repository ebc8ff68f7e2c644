/** Error message of a refused request. */
import { Alert } from '@mantine/core';
import type { Refusal } from './useSubmit';

interface Props {
  refusal: Refusal | undefined;
  className?: string | undefined;
}

export function Refused({ refusal, className }: Props) {
  if (!refusal) return null;
  return (
    <Alert color="red" role="alert" className={className ?? ''}>
      {refusal.text}
    </Alert>
  );
}
